"""Tests of runs against brute force, values computed by hand, and published tables."""

import itertools
import math
import random
import unittest
from fractions import Fraction

from simco_lab.measure import tests_of_runs as tests


def brute_force(n, m, distance):
    """The share of all ways to mix n and m values whose distance is that or more."""
    hits = total = 0
    for chosen in itertools.combinations(range(n + m), n):
        total += 1
        hits += tests.ks_distance(chosen, [x for x in range(n + m) if x not in chosen]) >= distance
    return hits / total


class KolmogorovSmirnov(unittest.TestCase):
    def test_distance_by_hand(self):
        # After 2: 2/3 of a, 0 of b; after 3: all of a, 1/2 of b.
        self.assertEqual(Fraction(tests.ks_distance([1, 2, 3], [3, 4]), 6), Fraction(2, 3))
        self.assertEqual(tests.ks_distance([5, 5], [5, 5]), 0)

    def test_probabilities_are_those_of_all_orders(self):
        for n, m in ((1, 1), (2, 3), (3, 3), (4, 5), (5, 5), (6, 4)):
            for distance in range(1, n * m + 1):
                self.assertAlmostEqual(tests.ks_probability(n, m, distance), brute_force(n, m, distance), places=12)

    def test_critical_values(self):
        for n, statistic, p in ((10, 0.7, 0.0123), (10, 0.6, 0.0524), (8, 0.75, 0.0186), (6, 5 / 6, 0.026),
                                (5, 1.0, 0.0079), (4, 1.0, 0.0286), (3, 1.0, 0.1)):
            self.assertAlmostEqual(tests.ks_probability(n, n, round(statistic * n * n)), p, delta=0.0002)

    def test_the_least_difference_that_is_told(self):
        for n, m, least in ((10, 10, 0.7), (8, 8, 0.75), (6, 6, 5 / 6), (5, 5, 1.0), (4, 4, 1.0), (3, 3, math.inf), (4, 5, 1.0)):
            self.assertAlmostEqual(tests.ks_least(n, m), least)

    def test_three_runs_cannot_reject(self):
        few = tests.ks_test([1, 2, 3], [4, 5, 6])
        self.assertFalse(few.rejects)
        self.assertFalse(few.can_reject)
        self.assertTrue(tests.ks_test([1, 2, 3, 4], [5, 6, 7, 8]).rejects)

    def test_one_distribution_is_rejected_as_rarely_as_promised(self):
        rng = random.Random(5)
        rejected = sum(tests.ks_test([rng.random() for _ in range(8)], [rng.random() for _ in range(8)]).rejects
                       for _ in range(1000))
        self.assertLess(rejected, 40)


class Ranks(unittest.TestCase):
    def test_of_two_groups(self):
        # One of the 20 ways to choose 3 of 6 has the lowest sum, one of 70 to choose 4 of 8; both ends count.
        self.assertAlmostEqual(tests.rank_sum([1, 2, 3], [4, 5, 6]), 2 / 20)
        self.assertAlmostEqual(tests.rank_sum([1, 2, 3, 4], [math.inf] * 4), 2 / 70)
        # Ranks 1 and three times 3: of the six ways to choose two, three have the sum 4 and three 6.
        self.assertEqual(tests.rank_sum([1, math.inf], [math.inf, math.inf]), 1.0)

    def test_of_two_groups_against_all_ways(self):
        a, b = [3, 1, 1, math.inf], [1, 4, 5, math.inf, 2]
        ranks = tests.ranks_twice(a + b)
        sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(a))]
        low = sum(total <= sum(ranks[:4]) for total in sums)
        high = sum(total >= sum(ranks[:4]) for total in sums)
        self.assertAlmostEqual(tests.rank_sum(a, b), 2 * min(low, high) / len(sums))

    def test_of_pairs(self):
        # All of 6 on one side: one of the 64 ways to give signs, at either end.
        self.assertAlmostEqual(tests.signed_rank([-1, -2, -3, -4, -5, -math.inf]), 2 / 64)
        # Ranks 1.5, 1.5, 3 to 6; that of the positive one, or less: by no sign, or by either of the first two.
        self.assertAlmostEqual(tests.signed_rank([1, -1, -2, -3, -4, -5]), 2 * 3 / 64)
        self.assertAlmostEqual(tests.signed_rank([0, 1, 0, -1]), 1.0)
        self.assertEqual(tests.signed_rank([0, 0]), 1.0)

    def test_the_side_of_ranks(self):
        self.assertTrue(tests.ranks_are_lower([-3, -4, 1, 2, 0]))
        self.assertFalse(tests.ranks_are_lower([-1, -2, -3, 40, math.inf]))  # 6 against 9, though three are below

    def test_of_signs(self):
        # All six above: one of 64; one of six below: seven; both ends count. One that is 0 does not.
        self.assertAlmostEqual(tests.sign_test([1, 2, 3, 4, 5, math.inf, 0]), 2 / 64)
        self.assertAlmostEqual(tests.sign_test([1, 2, 3, 4, 5, -1]), 2 * 7 / 64)
        self.assertAlmostEqual(tests.sign_test([-1] * 9 + [math.inf]), 2 * 11 / 1024)
        self.assertEqual(tests.sign_test([0, 0]), 1.0)

    def test_how_often_so_many_happen(self):
        for count, n, p, expected in ((0, 5, 0.1, 1), (1, 2, 0.5, 0.75), (3, 3, 0.5, 0.125), (2, 4, 0.025, 0.003626)):
            self.assertAlmostEqual(tests.at_least(count, n, p), expected, places=6)


class Student(unittest.TestCase):
    def test_tail(self):
        for t, degrees, p in ((2.262, 9, 0.05), (12.706, 1, 0.05), (0.0, 5, 1.0)):
            self.assertAlmostEqual(tests.student_p(t, degrees), p, delta=0.0001)


class Regression(unittest.TestCase):
    def test_by_hand(self):
        # y = 1 + 2 x with errors +1 -1 -1 +1 at x = 0 1 2 3: slope 2, residual variance 2, sum of squares of x 5.
        found = tests.regression({"x": [0, 1, 2, 3]}, [2, 2, 4, 8])["x"]
        self.assertAlmostEqual(found.value, 2.0)
        self.assertAlmostEqual(found.t, 2.0 / (2 / 5) ** 0.5)
        self.assertAlmostEqual(found.p, tests.student_p(found.t, 2))

    def test_what_matters_is_told_from_what_does_not(self):
        rng = random.Random(1)
        x, z = [rng.random() for _ in range(200)], [rng.random() for _ in range(200)]
        found = tests.regression({"x": x, "z": z}, [3 * value + rng.gauss(0, 0.1) for value in x])
        self.assertLess(found["x"].p, 1e-6)
        self.assertGreater(found["z"].p, 0.05)

    def test_rounding_has_no_influence(self):
        places = [(x, z) for x in (0.1, 0.2, 0.3, 0.7) for z in (1000.3, 2000.7, 3000.1)]
        x, z = ([place[number] for place in places] for number in (0, 1))
        found = tests.regression({"x": x, "z": z}, [0.3 + 0.1 * value for value in x])
        self.assertAlmostEqual(found["x"].value, 0.1)
        self.assertLess(found["x"].p, 1e-9)
        self.assertEqual((found["z"].value, found["z"].p), (0.0, 1.0))
        self.assertEqual({one.p for one in tests.regression({"x": x, "z": z}, [3.3] * len(x)).values()}, {1.0})

    def test_columns_that_determine_nothing(self):
        with self.assertRaises(ValueError):
            tests.regression({"x": [1, 1, 1]}, [1, 2, 3])
        with self.assertRaisesRegex(ValueError, "the regression has no solution"):
            tests.regression({"x": [1, 2, math.nan, 4]}, [1, 2, 4, 3])


class Endless(unittest.TestCase):
    def test_ranks_take_the_place_of_values_without_an_end(self):
        # Ranks 1 2 4 3 at x = 1 2 3 4: slope 0.8, residual variance 0.9, sum of squares of x 5.
        found = tests.regression({"x": [1, 2, 3, 4]}, [1.0, 2.0, math.inf, 4.0])["x"]
        self.assertAlmostEqual(found.value, 0.8)
        self.assertAlmostEqual(found.t, 0.8 / (0.9 / 5) ** 0.5)
