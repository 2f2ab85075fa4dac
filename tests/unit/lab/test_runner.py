"""Which jobs the runner runs, shares and skips. The jobs themselves are not run here."""

import itertools
import json
import struct
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from simco_lab import errors
from simco_lab.measure import run_record
from simco_lab.run import runner
from trial import points

TRIAL = dict(workload="echo", quick=dict(count=100), full=dict(count=200),
             matrix=dict(variant=["tcp", "sctp-1"], profile=["modern", "2006", "tuned"], loss_percent=[1], rate=[100, 1000]))


class Sharing(unittest.TestCase):
    def setUp(self):
        self.out = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.points = points(TRIAL)
        self.ran = []
        self.fail = set()
        self.abort = set()
        self.faults = {}  # name of a point: the exception that its files cause in finish()

        def finish(folder, job, fingerprint):
            point = job.point
            if point.name in self.faults:
                raise self.faults[point.name]
            if point.name in self.fail:
                raise errors.BadRun("refused")
            self.ran.append((point.profile, str(point.variant), point.rate))
            (folder / "samples").write_text(point.name)
            run = {"fingerprint": fingerprint, "point": run_record.identity(point),
                   "aborted": point.name in self.abort}
            run_record.write_run(folder, run)
            return run

        self.enterContext(mock.patch.object(run_record, "finish", finish))

    def run_all(self, identity="programs"):
        self.ran = []
        with mock.patch("sys.stderr"):
            work = runner.Runner(lambda *_: None, identity, self.out, jobs=1)
            return work, work.run(self.points)

    def test_two_runs_do_not_share_a_folder(self):
        with runner.locked(self.out / "trial"):
            with self.assertRaisesRegex(errors.LabError, "trial: another run writes there"):
                self.run_all()
            self.assertEqual(self.ran, [])
        self.assertTrue(self.run_all()[1])

    def test_the_same_job_is_run_once(self):
        work, good = self.run_all()
        self.assertTrue(good)
        # TCP as it is today and tuned, and SCTP today and in 2006, are the same.
        kinds = {(profile, variant) for profile, variant, _ in self.ran}
        self.assertEqual(kinds, {("modern", "tcp"), ("2006", "tcp"), ("modern", "sctp-1"),
                                 ("tuned", "sctp-1")})
        self.assertEqual(len(self.ran), 8)
        for point in self.points:
            run = json.loads((work.folder(point) / "run.json").read_text())
            self.assertEqual(run["point"], run_record.identity(point))
            self.assertTrue((work.folder(point) / "samples").exists())
            if (point.profile, str(point.variant)) not in kinds:
                self.assertEqual(run["processor_s"], 0.0)

    def test_a_run_knows_what_it_took(self):
        with mock.patch.object(runner, "children_s", side_effect=itertools.count(100.0, 1.5)):
            work, _ = self.run_all()
        taken = [json.loads((work.folder(point) / "run.json").read_text())["processor_s"] for point in self.points]
        self.assertEqual(sorted(set(taken)), [0.0, 1.5])
        self.assertEqual(sum(taken), 8 * 1.5)

    def test_whatever_a_point_fails_by_is_told(self):
        broken = self.points[:3]
        faults = (struct.error("unpack requires a buffer of 16 bytes"), IndexError("list index out of range"), KeyError("sent"))
        self.faults = {point.name: fault for point, fault in zip(broken, faults)}
        work, good = self.run_all()
        self.assertFalse(good)
        self.assertEqual({(point.name, reason) for point, reason in work.failures},
                         {(broken[0].name, "struct.error: unpack requires a buffer of 16 bytes"),
                          (broken[1].name, "IndexError: list index out of range"), (broken[2].name, "KeyError: 'sent'")})
        self.assertEqual(len(self.ran), 8 - len(broken))

    def test_a_job_that_cannot_be_made_is_told(self):
        with mock.patch.object(runner, "Job", side_effect=ArithmeticError("no pattern")):
            work = runner.Runner(lambda *_: None, "programs", self.out, jobs=1)
            work._run_point(self.points[0], 0)
        self.assertEqual([reason for _, reason in work.failures], ["ArithmeticError: no pattern"])

    def test_a_run_names_the_programs(self):
        def names(work):
            return {json.loads((work.folder(point) / "run.json").read_text())["programs"] for point in self.points}
        [first] = names(self.run_all()[0])
        [second] = names(self.run_all("other programs")[0])
        self.assertNotEqual(first, second)

    def test_resumes(self):
        victim = next(point for point in self.points if str(point.variant) == "tcp" and point.profile == "2006")
        self.fail = {victim.name}
        work, good = self.run_all()
        self.assertFalse(good)
        self.assertIsNone(work.done(victim))
        self.fail = set()
        _, good = self.run_all()
        self.assertTrue(good)
        self.assertEqual(self.ran, [("2006", "tcp", victim.rate)])
        _, good = self.run_all()
        self.assertEqual(self.ran, [])
        self.run_all("other programs")
        self.assertEqual(len(self.ran), 8)

    def test_a_file_without_a_run_is_written_again(self):
        work, _ = self.run_all()
        run_twice = next(point for point in self.points if (str(point.variant), point.profile, point.rate) == ("sctp-1", "tuned", 100))
        for text in ("{}", "[]", "null", '"run"', "1", "{"):
            (work.folder(run_twice) / "run.json").write_text(text)
            _, good = self.run_all()
            self.assertTrue(good)
            self.assertEqual(self.ran, [("tuned", "sctp-1", 100)], text)

    def test_a_curve_ends_for_all_who_share_it(self):
        slow = next(point for point in self.points
                    if (str(point.variant), point.profile, point.rate) == ("sctp-1", "modern", 100))
        self.abort = {slow.name}
        work, good = self.run_all()
        self.assertTrue(good)
        self.assertNotIn(("modern", "sctp-1", 1000), self.ran)
        missing = {(point.profile, str(point.variant), point.rate) for point in self.points
                   if work.done(point) is None}
        self.assertEqual(missing, {("modern", "sctp-1", 1000), ("2006", "sctp-1", 1000)})
