"""The statistics against tables, against hand-made samples, and against the coverage they claim."""

import math
import unittest

import numpy
from simco_lab.measure import statistics


class Student(unittest.TestCase):
    def test_table(self):
        for degrees, value in ((1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (1000, 1.962)):
            self.assertAlmostEqual(statistics.student_t(degrees), value, places=3)


class Means(unittest.TestCase):
    def test_by_hand(self):
        mean = statistics.mean_independent(numpy.array([1.0, 2.0, 3.0]))
        self.assertAlmostEqual(mean.value, 2.0)
        self.assertAlmostEqual(mean.half_width, 4.303 / math.sqrt(3), places=3)

    def test_the_mean_leaves_out_the_unanswered(self):
        self.assertEqual(statistics.mean_independent(numpy.array([1.0, math.inf, 3.0])).value, 2.0)

    def test_batches_see_that_neighbours_are_alike(self):
        blocks = numpy.repeat(numpy.random.default_rng(1).normal(20, 5, 300), 100)
        independent = statistics.mean_independent(blocks).half_width
        self.assertGreater(statistics.mean_over([blocks]).half_width, 5 * independent)

    def test_intervals_cover(self):
        rng, covered = numpy.random.default_rng(2), 0
        for _ in range(300):
            estimate = statistics.mean_over([rng.exponential(10, 3000)])
            covered += abs(estimate.value - 10) <= estimate.half_width
        self.assertTrue(270 <= covered <= 298, covered)

    def test_replications(self):
        estimate = statistics.over_replications([10.0, 12.0, 14.0])
        self.assertEqual(estimate.value, 12.0)
        self.assertAlmostEqual(estimate.half_width, 4.303 * 2 / math.sqrt(3), places=3)

    def test_a_replication_without_an_end_makes_the_mean_endless(self):
        self.assertEqual(statistics.over_replications([10.0, math.inf, 14.0]), statistics.Estimate(math.inf, math.inf))
        self.assertEqual(statistics.over_replications([10.0, math.nan, 14.0]).value, 12.0)
        self.assertTrue(math.isnan(statistics.over_replications([math.inf, -math.inf]).value))

    def test_difference(self):
        gap = statistics.difference(statistics.Estimate(10, 3), statistics.Estimate(4, 4))
        self.assertEqual((gap.value, gap.half_width), (6, 5))

    def test_a_difference_reaches_as_far_as_either_side_does(self):
        # 47 may be 547, 331 may be 328 or 335: the difference is between -288 and 216.
        low, high = statistics.Estimate(47, 250.5, (47, 547)), statistics.Estimate(331, 4, (328, 335))
        gap = statistics.difference(low, high)
        self.assertEqual((gap.value, gap.low, round(gap.high, 3)), (-284, -288, 216.009))
        self.assertEqual(statistics.difference(high, low).low, -gap.high)
        self.assertEqual(low.times(2), statistics.Estimate(94, 501, (94, 1094)))

    def test_relative_intervals_of_a_ratio_add_up(self):
        found = statistics.ratio(statistics.Estimate(30.0, 3.0), statistics.Estimate(10.0, 0.0))
        self.assertAlmostEqual(found.value, 3.0)
        self.assertAlmostEqual(found.half_width, 0.3)
        self.assertTrue(math.isnan(statistics.ratio(statistics.Estimate(1.0), statistics.Estimate(0.0)).value))


class Orders(unittest.TestCase):
    def test_nearest_rank(self):
        times = numpy.arange(1.0, 101.0)
        self.assertEqual(statistics.percentile(times, 50), 50)
        self.assertEqual(statistics.percentile(times, 99), 99)
        self.assertEqual(statistics.percentile(times, 99.9), 100)

    def test_ccdf_counts_ties_and_the_unanswered(self):
        x, y = statistics.ccdf(numpy.array([1.0, 1.0, 2.0, math.inf]))
        self.assertEqual(list(x), [1.0, 2.0])
        self.assertEqual(list(y), [0.5, 0.25])

    def test_thinned_curve_keeps_its_ends_and_its_tail(self):
        x, y = statistics.ccdf(numpy.random.default_rng(3).exponential(10, 50000))
        a, b = statistics.thinned(x, y)
        self.assertLessEqual(len(a), statistics.CCDF_POINTS + 1)
        self.assertEqual((a[0], a[-1]), (x[0], x[-1]))
        self.assertGreater(numpy.sum(b < 1e-3), 40)


class Course(unittest.TestCase):
    def test_growth(self):
        noise = numpy.random.default_rng(4).normal(0, 1, 3000)
        self.assertFalse(statistics.grows(20 + noise))
        self.assertTrue(statistics.grows(20 + noise + numpy.arange(3000) / 300))
