"""Differences over pairs of blocks of one schedule, against hand-made samples and the level they claim."""

import math
import unittest

import numpy

from simco_lab.measure import schedule


class Means(unittest.TestCase):
    def test_by_hand(self):
        # 30 blocks of two, whose differences are 1 and 3 in turn: standard deviation sqrt(30 / 29), t(29) = 2.045.
        b = numpy.arange(60.0)
        a = b + numpy.tile([1.0, 1.0, 3.0, 3.0], 15)
        found = schedule.mean_difference([(a, b)])
        self.assertAlmostEqual(found.value, 2.0)
        self.assertAlmostEqual(found.high - 2.0, 2.045 * math.sqrt(30 / 29) / math.sqrt(30), places=3)
        self.assertAlmostEqual(2.0 - found.low, found.high - 2.0)

    def test_a_factor(self):
        b = numpy.full(60, 10.0)
        self.assertEqual(schedule.mean_difference([(b, b)], 0.5).value, 5.0)

    def test_two_runs(self):
        b = numpy.zeros(60)
        noise = numpy.tile([0.0, 0.0, 1.0, 1.0], 15)  # of 30 blocks, in turn: variance 0.25 * 30 / 29
        found = schedule.mean_difference([(b + noise + 1, b), (b - noise + 2, b)])
        self.assertAlmostEqual(found.value, 1.5)
        # The runs are alike, so that their 60 blocks count: t(58) = 2.002.
        self.assertAlmostEqual(found.high - 1.5, 2.002 * math.sqrt(0.25 * 30 / 29 / 60), places=3)
        # No block explains this difference, so that the runs count: t(1) = 12.706.
        self.assertAlmostEqual(schedule.mean_difference([(b + 1, b), (b + 3, b)]).high - 2.0, 12.706, places=3)


class Percentiles(unittest.TestCase):
    def test_of_resamples_by_hand(self):
        parts = [numpy.array([1.0, 2.0]), numpy.array([4.0, 3.0])]
        weights = numpy.array([[2, 0], [0, 2], [1, 1]])
        self.assertEqual(list(schedule.resampled_percentiles(parts, weights, 50.0)), [1.0, 3.0, 2.0])
        self.assertEqual(list(schedule.resampled_percentiles(parts, weights, 75.0)), [2.0, 4.0, 3.0])

    def test_of_resamples_against_repeated_blocks(self):
        rng = numpy.random.default_rng(1)
        parts = numpy.array_split(rng.exponential(10, 301), 30)
        weights = rng.multinomial(30, [1 / 30] * 30, size=120)
        for q in (50.0, 95.0, 99.0):
            brute = [schedule.statistics.percentile(numpy.concatenate(
                [part for part, times in zip(parts, row) for _ in range(times)]), q) for row in weights]
            self.assertEqual(list(schedule.resampled_percentiles(parts, weights, q)), brute)

    def test_what_both_share_does_not_count(self):
        b = numpy.random.default_rng(1).normal(0, 50, 3000)
        found = schedule.percentile_difference([(b - 1, b)], 99.0)
        for end in (found.value, found.low, found.high):
            self.assertAlmostEqual(end, -1.0)

    def test_without_an_end_in_both_they_are_alike(self):
        b = numpy.full(600, math.inf)
        self.assertEqual(schedule.percentile_difference([(b, b)], 99.0), schedule.Estimate(0.0, 0.0, (0.0, 0.0)))
        self.assertEqual(schedule.percentile_difference([(numpy.full(600, 5.0), b)], 99.0).high, -math.inf)

    def test_a_tail_of_four_tells_nothing(self):
        b = numpy.arange(500.0)
        self.assertTrue(math.isnan(schedule.percentile_difference([(b[:400], b[:400])], 99.0).low))
        self.assertFalse(math.isnan(schedule.percentile_difference([(b, b)], 99.0).low))

    def test_the_interval_of_one_needs_samples(self):
        self.assertTrue(math.isnan(schedule.percentile_over([numpy.arange(400.0)], 99.0).low))
        self.assertTrue(math.isnan(schedule.percentile_over([numpy.arange(3000.0), numpy.arange(59.0)], 99.0).low))
        low, high = schedule.percentile_over([numpy.random.default_rng(4).permutation(numpy.arange(10000.0))], 99.0).ends
        self.assertTrue(9860 < low < 9900 < high < 9940, (low, high))

    def test_the_interval_of_one_covers_what_neighbours_share(self):
        # Each 40 neighbours have the same time: if they counted as independent, the interval would be a sixth as wide.
        rng, covered = numpy.random.default_rng(5), 0
        for _ in range(200):
            low, high = schedule.percentile_over([numpy.repeat(rng.exponential(1.0, 300), 40)], 90.0).ends
            covered += low <= math.log(10.0) <= high
        self.assertTrue(170 <= covered <= 200, covered)

    def test_two_that_are_alike_differ_as_rarely_as_promised(self):
        rng, rejected = numpy.random.default_rng(3), 0

        def bursts():  # a loss holds up the next few
            times = numpy.full(1000, 20.0)
            for hit in numpy.flatnonzero(rng.random(1000) < 0.02):
                times[hit:hit + rng.integers(1, 6)] += rng.exponential(20)
            return times

        for _ in range(200):
            found = schedule.percentile_difference([(bursts(), bursts())], 99.0)
            rejected += found.low > 0 or found.high < 0
        self.assertTrue(3 <= rejected <= 20, rejected)
