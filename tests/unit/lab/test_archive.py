"""An archive of results: always the same octets, verifiable, and enough to write the report and draw the
figures again."""

import contextlib
import csv
import gzip
import io
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from simco_lab import archive, cli, scenario
from simco_lab.measure import run_record

PUBLISHED = Path(__file__).resolve().parents[3] / "doc" / "results"
TRANSACTIONS = 120
SCENARIO = f"""
from simco_lab.scenario import Scenario, plot

lab = Scenario("Trial", workload="echo", matrix=dict(variant=["tcp", "sctp-4"], loss_percent=[1, 2]), quick=dict(count={TRANSACTIONS}),
               full=dict(count={TRANSACTIONS}),
               plots=[plot("mean", "Mean", "mean", model=True), plot("ccdf", "CCDF", "ccdf", where=dict(loss_percent=1))])
lab.claim("X", "SCTP is faster", lambda r: r.mean("sctp-4") < r.mean("tcp"))
"""
WRITTEN = ("report.md", "full-report.md", "results.csv", "plots/mean-modern.svg", "plots/ccdf-modern.svg",
           "ccdf/modern_tcp_loss1.csv")  # by a report, from the samples


def samples(point):
    """What simco-loadgen would have written: response times of 20 to 40 ms."""
    rng = random.Random(point.name)
    lines = ["index,tid,stream,scheduled_ns,sent_ns,received_ns,outcome"]
    for index in range(TRANSACTIONS):
        due = index * 10_000_000
        lines.append(f"{index},{index},1,{due},{due},{due + rng.randrange(20_000_000, 40_000_000)},completed")
    return "\n".join(lines) + "\n"


def leave_run(folder, point):
    """The folder of a point's finished run."""
    folder.mkdir(parents=True)
    with open(folder / "samples.csv.gz", "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(samples(point).encode())
    (folder / "load.log").write_text("connected\n")
    packets = {direction: {"seen": 200, "lost": 2} for direction in ("request", "reply")}
    run_record.write_run(folder, {"fingerprint": "f", "point": run_record.identity(point), "aborted": False,
                               "abort_reason": "", "valid": True, "generator_lag_p99_ms": 0.0, "packets": packets,
                               "counters": {}})


def leave_results(folder):
    """The results of a scenario, as `scripts/lab run` leaves them."""
    folder.mkdir(parents=True)
    (folder / "scenario.py").write_text(SCENARIO)
    (folder / "run.json").write_text(json.dumps({"scenario": "trial", "scale": "quick", "fraction": 1.0,
                                                 "about": "Made by hand."}))
    for point in scenario.read(folder / "scenario.py").points("quick"):
        leave_run(folder / "points" / point.name, point)


def lab(*words):
    """(exit code, standard output, standard error) of scripts/lab with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


class Archives(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "trial"
        leave_results(cls.made)
        cls.reported = lab("plot", cls.made)

    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(self.made, self.work / "runs" / "trial")

    def unpack(self, file):
        subprocess.run(["tar", "-C", self.work, "-xf", file], check=True)
        return self.work / archive.TOP

    def refused(self, *words):
        code, _, complaint = lab("archive", *words)
        self.assertEqual(code, 2)
        return complaint

    def test_two_archives_are_octet_equal(self):
        self.assertEqual(self.reported[0], 0)
        other = self.work / "elsewhere" / "trial"
        # Another folder, written in another order, at another time, by another umask.
        for path in sorted((path for path in self.made.rglob("*") if path.is_file()), reverse=True):
            copy = other / path.relative_to(self.made)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
            copy.chmod(0o600)
            os.utime(copy, (1, 1))
        for suffix in archive.COMPRESSIONS:
            for folder, name in ((self.work / "runs", "a"), (other, "b")):
                self.assertEqual(lab("archive", folder, "-o", self.work / f"{name}{suffix}")[0], 0)
            self.assertEqual((self.work / f"a{suffix}").read_bytes(), (self.work / f"b{suffix}").read_bytes(), suffix)

    def test_what_was_unpacked_can_be_verified(self):
        lab("archive", self.work / "runs", "-o", self.work / "a.tar.xz")
        top = self.unpack(self.work / "a.tar.xz")
        verify = ["sha256sum", "--quiet", "--strict", "-c", archive.SUMS]
        self.assertEqual(subprocess.run(verify, cwd=top, check=False).returncode, 0)
        listed = {line.split("  ")[1] for line in (top / archive.SUMS).read_text().splitlines()}
        there = {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()}
        self.assertEqual(listed, there - {archive.SUMS})
        self.assertIn("- trial: Made by hand.", (top / "README.md").read_text())
        with open(top / "trial" / "results.csv", "a") as table:
            table.write("x")
        self.assertNotEqual(subprocess.run(verify, cwd=top, check=False, capture_output=True).returncode, 0)

    def test_report_and_figures_come_out_of_an_archive(self):
        lab("archive", self.work / "runs", "-o", self.work / "a.tar.zst")
        top = self.unpack(self.work / "a.tar.zst")
        for name in ("ccdf", "plots"):
            shutil.rmtree(top / "trial" / name)
        for name in ("report.md", "full-report.md", "results.csv"):
            (top / "trial" / name).unlink()
        code, said, _ = lab("plot", top)
        self.assertEqual((code, said), (0, f"{top}/trial/report.md\n"))
        for name in WRITTEN:
            self.assertEqual((top / "trial" / name).read_bytes(), (self.made / name).read_bytes(), name)

    def test_an_archive_has_the_full_report_with_its_figures(self):
        lab("archive", self.work / "runs", "-o", self.work / "a.tar.xz")
        folder = self.unpack(self.work / "a.tar.xz") / "trial"
        shown = re.findall(r"!\[.*?\]\((.*?)\)", (folder / "full-report.md").read_text())
        self.assertEqual(shown, ["plots/mean-modern.svg", "plots/ccdf-modern.svg"])
        for name in shown:
            self.assertTrue((folder / name).exists(), name)

    def test_figures_of_means_come_out_of_the_table_alone(self):
        folder = self.work / "doc" / "jitter"
        folder.mkdir(parents=True)
        shutil.copy(PUBLISHED / "jitter" / "results.csv", folder)
        code, said, _ = lab("plot", folder.parent, "--formats", "svg")
        with open(folder / "results.csv", newline="") as file:
            profiles = {row["profile"] for row in csv.DictReader(file)}  # a figure for each
        self.assertEqual((code, said), (0, f"{folder}/plots: {len(profiles)} figures\n"))

    def test_no_results(self):
        (self.work / "empty").mkdir()
        for folder in ("empty", "nowhere", "runs/trial/points"):
            self.assertIn(f"{self.work / folder} has no results", self.refused(self.work / folder, "-o", "x.tar.xz"))
        self.assertIn("has no results", lab("plot", self.work / "empty")[2])

    def test_an_archive_is_not_overwritten(self):
        output = self.work / "a.tar.xz"
        output.write_text("precious")
        self.assertIn("exists already", self.refused(self.work / "runs", "-o", output))
        self.assertEqual(output.read_text(), "precious")

    def test_names(self):
        self.assertIn("ends in .tar.xz or .tar.zst", self.refused(self.work / "runs", "-o", self.work / "a.zip"))
        shutil.copytree(self.made, self.work / "again" / "trial")
        self.assertIn("two results are named trial",
                      self.refused(self.work / "runs", self.work / "again", "-o", self.work / "a.tar.xz"))

    def test_a_failure_leaves_no_file(self):
        self.assertIn("No such file", self.refused(self.work / "runs", "-o", self.work / "nowhere" / "a.tar.xz"))
        (self.work / "runs" / "trial" / "run.json").write_text("{")
        for suffix in archive.COMPRESSIONS:
            self.assertIn("run.json", self.refused(self.work / "runs", "-o", self.work / f"a{suffix}"))
        self.assertEqual([path.name for path in self.work.iterdir()], ["runs"])
