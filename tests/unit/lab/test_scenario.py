"""Scenario files: the points of a correct file, and the line at which an incorrect file is wrong."""

import dataclasses
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from simco_lab import catalogue, job, keys, prediction, scenario, variant

GOOD = """\
title = "A trial"
workload = "echo"

[matrix]
variant = ["tcp-4", "sctp-16", "sctp-unordered"]
loss_percent = [0, 1]
rate = [1, 100]

[quick]
count = 100
variant = ["sctp-16"]

[full]
count = { "0.1" = 50, "10" = 4000 }
replications = 3

[[plot]]
name = "p"
title = "P"
kind = "mean"
where = { rate = 100 }
"""


def parse(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.toml"
        path.write_text(text)
        return scenario.read(path)


class Reading(unittest.TestCase):
    def test_points(self):
        trial = parse(GOOD)
        self.assertEqual(len(list(trial.points("quick"))), 1 * 2 * 2)
        full = list(trial.points("full"))
        self.assertEqual(len(full), 3 * 2 * 2 * 3)
        self.assertEqual({point.count for point in full if point.rate == 1}, {50})
        self.assertEqual({point.count for point in full if point.rate == 100}, {4000})
        self.assertEqual(len({point.name for point in full}), len(full))

    def test_variants(self):
        for name, (transport, streams, connections, unordered), label in (
                ("tcp", ("tcp", 1, 1, False), "TCP"), ("tcp-4", ("tcp", 1, 4, False), "TCP-4"),
                ("sctp-1", ("sctp", 1, 1, False), "SCTP-1"), ("sctp-16", ("sctp", 16, 1, False), "SCTP-16"),
                ("sctp-unordered", ("sctp", 1, 1, True), "SCTP unordered"), ("quic-16", ("quic", 16, 1, False), "QUIC-16")):
            parsed = variant.Variant.parse(name)
            self.assertEqual(parsed, variant.Variant(catalogue.TRANSPORTS[transport], streams, connections, unordered))
            self.assertEqual((str(parsed), parsed.label), (name, label))
        for name in ("tcp-0", "tcp-10000", "tcp-01", "tcp-", "tcp-unordered", "sctp", "sctp-0", "sctp-100000",
                     "udp-2", "dccp", "dccp-2", "quic", "quic-1025", "quic-unordered", "sctp-16-unordered", "", 4):
            with self.assertRaises(ValueError):
                variant.Variant.parse(name)

    def test_a_further_transport_is_a_row(self):
        row = dataclasses.replace(catalogue.TRANSPORTS["tcp"], name="dccp", label="DCCP", number="connections", number_max=2,
                                  minimum_rto_ms=None, rto_over_rtt_ms=None)
        with mock.patch.dict(catalogue.TRANSPORTS, dccp=row):
            points = list(parse(GOOD.replace('"tcp-4"', '"dccp-2"').replace('"sctp-unordered"', '"dccp"')).points("full"))
            with self.assertRaises(ValueError):
                variant.Variant.parse("dccp-3")
        self.assertEqual({str(point.variant) for point in points}, {"dccp-2", "sctp-16", "dccp"})
        lossy = next(point for point in points if str(point.variant) == "dccp-2" and point.loss_percent)
        self.assertEqual(lossy.variant.label, "DCCP-2")
        self.assertIn("--transport dccp ", job.Job(lossy).files["settings"])
        self.assertIsNone(prediction.predicted(lossy))
        self.assertEqual(prediction.marks(lossy, "rate"), [])

    def test_each_kind_of_expectation_is_of_a_scenario(self):
        used = {expectation["kind"] for path in scenario.available() for expectation in scenario.read(path).expectations}
        self.assertEqual(set(keys.EXPECT_KINDS) - used, set())

    def test_every_shipped_scenario(self):
        self.assertTrue(scenario.available())
        for path in scenario.available():
            shipped = scenario.read(path)
            for scale in scenario.SCALES:
                self.assertTrue(list(shipped.points(scale)), path)

    def wrong(self, text, line, words):
        with self.assertRaises(scenario.ScenarioError) as caught:
            parse(text)
        self.assertIn(f"trial.toml:{line}: ", str(caught.exception))
        self.assertIn(words, str(caught.exception))

    def test_unknown_keys_are_named_with_their_line(self):
        self.wrong(GOOD.replace("workload", "workbench"), 2, "unknown key 'workbench'")
        self.wrong(GOOD.replace("rate = [1, 100]", "rat = [1]"), 7, "unknown key 'rat' in [matrix]")
        self.wrong(GOOD + 'colour = "red"\n', 22, "unknown key 'colour' in [plot]")
        self.wrong('tables = ["colour"]\n' + GOOD, 1, "'tables' must be a list with some of ")
        self.wrong(GOOD.replace("{ rate = 100 }", "{ rats = 1 }"), 21, "unknown dimension 'rats'")

    def test_second_table_of_a_name(self):
        self.wrong(GOOD + '[[plot]]\nname = "q"\ntitle = "Q"\nkind = "mean"\ncolour = 1\n', 26, "'colour'")

    def test_bad_values(self):
        self.wrong(GOOD.replace('"tcp-4"', '"dccp"'), 5, "unknown variant 'dccp'")
        self.wrong(GOOD.replace("[0, 1]", '[0, "much"]'), 6, "must be a number")
        self.wrong(GOOD.replace("[0, 1]", "[0, 101]"), 6, "'loss_percent' must be a number from 0 to below 100, not 101")
        self.wrong(GOOD.replace("rate = [1, 100]", "rate = [0]"), 7, "'rate' must be a number from 0.000001 to 10,000,000, not 0")
        self.wrong(GOOD.replace("count = 100", "count = 0"), 10, "'count' must be transactions, from 1")
        self.wrong(GOOD.replace('kind = "mean"', 'kind = "pie"'), 20, "'kind' must be one of")
        self.wrong(GOOD.replace('kind = "mean"', 'kind = "mean"\nx = "losses"'), 21, "'x' must be one of")
        self.wrong(GOOD.replace('kind = "mean"', 'kind = "mean"\ncurves = "colour"'), 21, "'curves' must be one of")
        self.wrong(GOOD.replace("replications = 3", "replications = 0"), 15, "'replications' must be a whole number from 1")

    def test_several_matrices(self):
        matrix = GOOD[GOOD.index("[matrix]"):GOOD.index("[quick]")].replace("[matrix]", "[[matrix]]")
        other = '[[matrix]]\nvariant = ["tcp"]\nloss_percent = [1, 5]\n'
        text = GOOD.replace(matrix.replace("[[matrix]]", "[matrix]"), matrix + other + matrix)
        quick, full = (list(parse(text).points(scale)) for scale in scenario.SCALES)
        # A scale narrows each: the second has no SCTP. A point that two of them have is there once.
        self.assertEqual({(str(p.variant), p.rate) for p in quick}, {("sctp-16", 1.0), ("sctp-16", 100.0)})
        self.assertEqual(len(full), 3 * (3 * 2 * 2 + 2))
        # One that is of a scale only has no points at the other.
        for scale, counts in (("quick", [len(quick) + 2, len(full)]), ("full", [len(quick), len(full) + 6])):
            further = f'[[matrix]]\nscale = "{scale}"\nvariant = ["sctp-16"]\nloss_percent = [5, 7]\nrate = [100]\n'
            scenario_of = parse(text.replace("[quick]", further + "[quick]"))
            self.assertEqual([len(list(scenario_of.points(name))) for name in scenario.SCALES], counts)
        self.wrong(text.replace("[quick]", '[[matrix]]\nvariant = ["tcp"]\nscale = "some"\n[quick]'), 19, "'scale' must be quick or full")
        self.wrong(text.replace('"tcp"]', '"dccp"]'), 10, "unknown variant 'dccp'")
        self.wrong(text.replace('[quick]', '[quick]\nrate = [7]'), 17, "[quick] leaves no point of any matrix")

    def test_what_does_not_go_with_the_workload(self):
        self.wrong(GOOD.replace('"tcp-4"', '"udp"'), 5, "variant 'udp': the echo workload needs a reliable transport")
        self.wrong(GOOD.replace('[matrix]', 'invite_size = 500\n[matrix]'), 4, "'invite_size' is of the sip workload")
        self.wrong(GOOD.replace('rate = [1, 100]', 'rate = [1]\nprofile = ["ns2"]').replace('"echo"', '"per"').replace(
            '"sctp-unordered"', '"sctp-4"'), 8, "profile 'ns2' needs messages of one size; those of per vary")

    def test_losses_of_messages_need_messages_that_are_told_from_acknowledgements(self):
        for given in ('lose = ["messages"]', "lose_run = [0, 3]"):
            text = GOOD.replace('"echo"', '"echo"\nnetwork = "dumbbell"').replace("rate = [1, 100]", given + "\nrate = [1]")
            self.wrong(text, 8, "losses of messages only are of the sip workload")

    def test_quantities_that_runs_do_not_have(self):
        for quantity, why in (("lost_share", "'lost_share' is of the sip workload"), ("sender", "'sender' needs 'capture'")):
            self.wrong(GOOD.replace('kind = "mean"', f'kind = "over"\nquantity = "{quantity}"'), 21, why)
            bound = f'[[expect]]\nid = "X"\nclaim = "x"\nkind = "bound"\nbelow = 1\nquantity = "{quantity}"\n'
            self.wrong(GOOD + bound, 27, why)

    def test_sip(self):
        text = GOOD.replace('"echo"', '"sip"').replace('[matrix]', 'response = "RINGING"\n[matrix]')
        self.wrong(text, 4, "'response' must be 180, 100 or none")
        self.wrong(text.replace('"RINGING"', '"none"\ncapture = 1'), 5, "'capture' must be true or false")

    def test_expectations_say_what_they_compare(self):
        self.wrong(GOOD + '[[expect]]\nid = "X"\nclaim = "x"\nkind = "less"\n', 25, "needs 'less'")
        self.wrong(GOOD.replace('workload = "echo"', 'seed = "one"'), 2, "'seed' must be a whole number")

    def test_numbers_of_a_paper(self):
        def text(lines):
            return GOOD + f'[[paper]]\nwhat = "mean"\n{lines}\nwhere = {{ rate = 100 }}\n'

        several = parse(text('values = { sctp-16 = 4.5, "tcp-4" = 7 }')).paper
        self.assertEqual([(number["value"], list(map(str, number["where"]["variant"])), number["where"]["rate"])
                          for number in several], [(4.5, ["sctp-16"], [100.0]), (7, ["tcp-4"], [100.0])])
        for lines, line, words in (("", 22, "needs one of 'value' and 'values'"),
                                   ("value = 1\nvalues = { sctp-16 = 1 }", 22, "needs one of 'value' and 'values'"),
                                   ("value = 1\nless = { rate = 1 }", 22, "needs both of 'less' and 'than'"),
                                   ("values = { dccp-2 = 1 }", 24, "unknown variant 'dccp-2'")):
            self.wrong(text(lines), line, words)

    def test_notes(self):
        self.assertEqual(parse('notes = ["A.", "B."]\n' + GOOD).notes, ["A.", "B."])
        self.assertEqual(parse(GOOD).notes, [])
        for wrong in ('"A."', "[1]", '[""]'):
            self.wrong(f"notes = {wrong}\n" + GOOD, 1, "'notes' must be a list of sentences")

    def test_broken_syntax(self):
        self.wrong(GOOD.replace("[0, 1]", "[0, 1"), 7, "")

    def test_unordered_is_for_echo(self):
        self.wrong(GOOD.replace('"echo"', '"per"'), 5, "unordered variants are for the echo or sip workload")


class Jobs(unittest.TestCase):
    def setUp(self):
        self.points = {(str(p.variant), p.loss_percent, p.rate, p.replication): p for p in parse(GOOD).points("full")}

    def test_every_variant_meets_the_same_losses_and_arrivals(self):
        tcp, sctp = self.points["tcp-4", 1, 100, 0], self.points["sctp-16", 1, 100, 0]
        self.assertEqual(job.patterns(tcp), job.patterns(sctp))
        self.assertEqual(tcp.seed("arrivals"), sctp.seed("arrivals"))

    def test_replications_differ(self):
        first, second = self.points["tcp-4", 1, 100, 0], self.points["tcp-4", 1, 100, 1]
        self.assertNotEqual(job.patterns(first), job.patterns(second))
        self.assertNotEqual(job.Job(first).files["settings"], job.Job(second).files["settings"])

    def test_a_job_is_always_the_same(self):
        point = self.points["sctp-unordered", 1, 100, 2]
        self.assertEqual(job.archive(job.Job(point).files), job.archive(job.Job(point).files))
        self.assertIn("--unordered", job.Job(point).files["settings"])


if __name__ == "__main__":
    unittest.main()
