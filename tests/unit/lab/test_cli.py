"""What the command line accepts, and the complaints that say what would be."""

import contextlib
import io
import re
import tempfile
import unittest
from pathlib import Path

import trial
from simco_lab import cli, errors, scenario
from simco_lab.draw import account, report
from simco_lab.judge import claims
from simco_lab.measure import results
from simco_lab.run import guest

NAME = "kiesel-exp1"


class Only(unittest.TestCase):
    def setUp(self):
        self.points = list(scenario.find(NAME).points("quick"))

    def test_chosen_points(self):
        found = cli.chosen(self.points, ["variant=tcp", "loss_percent=2.5"])
        self.assertEqual({(str(point.variant), point.loss_percent) for point in found}, {("tcp", 2.5)})
        found = cli.chosen(self.points, ["variant=tcp,sctp-16", "loss_percent=0,5"])
        self.assertEqual({(str(point.variant), point.loss_percent) for point in found},
                         {("tcp", 0.0), ("tcp", 5.0), ("sctp-16", 0.0), ("sctp-16", 5.0)})

    def test_complaints_say_what_there_is(self):
        for only, words in ((["variant"], "--only variant: expected KEY=VALUE"),
                            (["colour=red"], "unknown dimension; known are profile, variant"),
                            (["variant=sctp-3"], "variant is one of tcp, sctp-1, sctp-4, sctp-16"),
                            (["variant=tcp,sctp-3"], "--only variant=tcp,sctp-3: 'sctp-3' matches no point"),
                            (["variant=tcp", "loss_percent=7"], "loss_percent is one of 0, 1, 2.5, 5")):
            with self.assertRaises(errors.ScenarioError) as caught:
                cli.chosen(self.points, only)
            self.assertIn(words, str(caught.exception))


class Modules(unittest.TestCase):
    def test_a_scenario_that_needs_what_is_not_there_is_left_out(self):
        points = list(scenario.find(NAME).points("quick"))
        other = trial.made(dict(workload="echo", network="dumbbell", quick=dict(count=100), full=dict(count=100),
                                matrix=dict(variant=["tcp", "tcp@vegas"], queue=["pie"], link_mbit=[2])))
        other.name = "other"
        others = list(other.points("quick"))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(cli.able(points + others, ["sch_pie", "tcp_vegas", "sch_red"]), points)
        self.assertIn("other needs kernel modules that this kernel lacks: sch_pie, tcp_vegas;", said.getvalue())
        self.assertEqual(cli.able(points + others, []), points + others)


class Numbers(unittest.TestCase):
    def test_what_would_run_nothing_is_refused(self):
        for option, value in (("--jobs", "0"), ("--jobs", "-3"), ("--fraction", "0"), ("--fraction", "nan")):
            with self.assertRaisesRegex(errors.ScenarioError, f"{option} must be "):
                cli.run(cli.parser().parse_args(["run", NAME, f"{option}={value}"]))


class New(unittest.TestCase):
    def in_a_folder(self, *words):
        """Returns the exit status of scripts/lab in a folder that the test keeps, and what it has printed."""
        said = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return cli.main(words), said.getvalue()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_what_it_writes_is_a_scenario_with_a_claim_and_a_figure(self):
        self.assertEqual(self.in_a_folder("new", "mine")[0], 0)
        found = scenario.find(str(self.folder / "mine.py"))
        claims.rehearse(found)
        self.assertEqual((found.name, len(found.claims), len(found.plots)), ("mine", 1, 1))
        self.assertLessEqual(len(list(found.points("quick"))), 6)

    def test_every_line_of_it_has_a_comment(self):
        lines = scenario.EXAMPLE.read_text().partition("lab = Scenario(\n")[2].splitlines()
        for line in filter(str.strip, lines):
            if not re.fullmatch(r"[ \]),]+|    plots=\[|lab.claim.*", line):
                self.assertIn("  # ", line)

    def test_a_file_that_exists_stays(self):
        (self.folder / "mine.py").write_text("mine")
        status, said = self.in_a_folder("new", "mine")
        self.assertEqual((status, said), (2, "lab: mine.py is not written: File exists: choose another name or folder\n"))
        self.assertEqual((self.folder / "mine.py").read_text(), "mine")

    def test_names(self):
        for name, words in ((NAME, f"'{NAME}' is one of the laboratory's scenarios: choose another name"),
                            ("a/b", "must be letters, digits, '-', '_' and '.', not 'a/b'"), (".py", "not '.py'")):
            self.assertEqual((self.in_a_folder("new", name)[0], list(self.folder.iterdir())), (2, []))
            self.assertIn(words, self.in_a_folder("new", name)[1])


class Tools(unittest.TestCase):
    def test_what_is_not_installed_is_named_with_what_installs_it(self):
        with self.assertRaisesRegex(errors.LabError, "'no-such-tool' is missing: run scripts/setup --lab"):
            guest.tool("no-such-tool")


class Plot(unittest.TestCase):
    def test_formats(self):
        self.assertEqual(cli.parser().parse_args(["plot", "x", "--formats", "pdf,svg"]).formats, ("pdf", "svg"))
        self.assertEqual(cli.parser().parse_args(["plot", "x"]).formats, cli.FORMATS)


class Report(unittest.TestCase):
    def text(self, source):
        """The report of a run in which nothing was measured."""
        with tempfile.TemporaryDirectory() as folder:
            scene = scenario.find(NAME)
            scene.source, scene.papers, scene.plots = source, [], []
            sample = account.sample_of(results.Results(folder, scene, "quick"), [], "Here.")
            report.write(Path(folder) / "report.md", scene, sample)
            return (Path(folder) / "report.md").read_text()

    def test_what_is_missing_is_counted(self):
        text = self.text("A paper")
        lines = [line for line in text.splitlines() if "not measured" in line]
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r"not measured: 40 points: (\S+, ){3}\.\.\.$")
        self.assertIn("\nSource: A paper.\n\n- Here. Runs: 0, transactions: 0", text)

    def test_without_a_source_none_is_named(self):
        self.assertNotIn("Source", self.text(""))
