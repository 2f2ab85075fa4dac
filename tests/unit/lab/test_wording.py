"""Numbers in words: what never ends, and what has no interval, is said and not printed as inf or nan."""

import math
import unittest

import numpy

import trial
from simco_lab.judge import statements, verdicts, wording
from simco_lab.measure.statistics import Estimate


def combination(variant, levels):
    return trial.combination(variant, *(numpy.full(100, level) for level in levels))


class Numbers(unittest.TestCase):
    def test_figures(self):
        self.assertEqual([wording.figure(value) for value in (1.25, -1.25, math.inf, -math.inf, math.nan)],
                         ["1.2", "-1.2", "∞", "-∞", "unknown"])
        self.assertEqual([wording.figure(value, 2, "+") for value in (1.25, math.inf)], ["+1.25", "+∞"])
        self.assertEqual([wording.figure(-0.004, 2), wording.figure(-0.0), wording.figure(-0.04, sign="+")], ["0.00", "0.0", "+0.0"])

    def test_gaps(self):
        self.assertEqual(wording.gap(Estimate(-3.64, 0.52)), "-3.6 ± 0.5")
        self.assertEqual(wording.gap(Estimate(-3.64)), "-3.6, without an interval")
        self.assertEqual(wording.gap(Estimate(math.inf, math.inf)), "no finite difference")

    def test_the_sample_to_tell(self):
        def words(*estimate, margin=0.0):
            return wording.sample_to_tell(Estimate(*estimate), margin).removeprefix(", would take ")

        self.assertEqual(words(-0.5, 1.0), "about 4 times the sample")
        self.assertEqual(words(0.5, 2.0), "about 16 times the sample")
        self.assertEqual(words(0.5, 2.0, (-0.6, 8.0)), "about 5 times the sample", "the end at 0 is the one that counts")
        self.assertEqual(words(0.1, 1.0, margin=0.6), "about 4 times the sample", "it is shown sooner that they are alike")
        self.assertEqual(words(0.0, 1.0), "more than 1,000 times the sample")
        for decided in ((2.0, 1.0), (2.0,), (2.0, math.inf)):
            self.assertEqual(words(*decided), "")

    def test_ends(self):
        self.assertEqual(wording.ends(Estimate(2.0, 1.5), 2), "+0.50 to +3.50")
        self.assertEqual(wording.ends(Estimate(2.0)), "without an interval")
        self.assertEqual(wording.ends(Estimate.between(-1.0, -math.inf, -0.004), 2), "-∞ to -0.00")
        self.assertEqual(wording.ends(Estimate.between(0.0, -0.0, 0.0)), "+0.0 to +0.0")


class Sentences(unittest.TestCase):
    def test_what_never_ends(self):
        never, some = combination("tcp", [math.inf] * 3), combination("sctp-1", [1, 2, math.inf])
        for found in (verdicts.compare(never, some, "p95", shared=True).detail, verdicts.compare(some, never, "p95").detail,
                      statements.tested(never, some, "", "p95").detail, statements.alike(never, some, "", "mean", True).detail):
            self.assertNotRegex(found, r"\b(inf|nan)\b")
        self.assertTrue(verdicts.compare(never, some, "p95").detail.startswith("∞ against ∞ ms (no finite difference)"))

    def test_one_run_has_no_interval(self):
        found = verdicts.compare(combination("tcp", [1]), combination("sctp-1", [3]), "max", shared=True)
        self.assertEqual(found.detail, "1.0 against 3.0 ms (-2.0, without an interval)")
