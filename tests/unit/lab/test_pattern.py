"""Loss patterns: drawn from their seed, with the requested share, and checkable."""

import math
import unittest
from statistics import NormalDist

from simco_lab.scenario import pattern


def both_lost(loss, correlation):
    """Returns the share of two correlated normal numbers that are both among the least, whose share is `loss`, by the midpoint rule."""
    normal, step = NormalDist(), 0.001
    limit, rest = normal.inv_cdf(loss), math.sqrt(1 - correlation ** 2)
    places = (limit - (number + 0.5) * step for number in range(8000))
    return step * sum(normal.pdf(one) * normal.cdf((limit - correlation * one) / rest) for one in places)


def mean_burst(lost):
    return len(lost) / (1 + sum(b != a + 1 for a, b in zip(lost, lost[1:])))


class Drawing(unittest.TestCase):
    def test_repeatable(self):
        self.assertEqual(pattern.draw(0.01, 10000, 7), pattern.draw(0.01, 10000, 7))
        self.assertNotEqual(pattern.draw(0.01, 10000, 7), pattern.draw(0.01, 10000, 8))

    def test_exact_share(self):
        self.assertEqual(len(pattern.draw(0.025, 10000, 1)), 250)
        self.assertEqual(pattern.draw(0.0, 10000, 1), [])

    def test_correlation(self):
        packets = 200000
        lost = pattern.draw(0.02, packets, 1, correlation=0.8)
        share = len(lost) / packets
        self.assertAlmostEqual(share, 0.02, delta=0.002)
        after = sum(1 for a, b in zip(lost, lost[1:]) if b == a + 1) / len(lost)
        # P(bad after bad) = 1 - (1 - c)(1 - p)
        self.assertAlmostEqual(after, 0.804, delta=0.02)

    def test_correlated_numbers(self):
        packets = 400000
        for loss in (0.01, 0.02, 0.04):
            lost = pattern.draw(loss, packets, 1, 0.8, "numbers")
            self.assertAlmostEqual(len(lost) / packets, loss, delta=0.1 * loss)
            # A burst ends where the next packet is not lost.
            self.assertAlmostEqual(mean_burst(lost), 1 / (1 - both_lost(loss, 0.8) / loss), delta=0.05)
        self.assertAlmostEqual(mean_burst(pattern.draw(0.02, packets, 1, 0.8)), 1 / (1 - 0.804), delta=0.3)

    def test_what_is_correlated_matters_only_with_a_correlation(self):
        for loss, correlation, same in ((0.02, 0.0, True), (0.0, 0.8, True), (0.02, 0.8, False)):
            losses, numbers = (pattern.draw(loss, 10000, 1, correlation, correlated) for correlated in pattern.CORRELATED)
            self.assertEqual(losses == numbers, same)

    def test_invalid_shares_are_rejected(self):
        with self.assertRaises(ValueError):
            pattern.draw(1.0, 100, 1)

    def test_length_is_bounded(self):
        self.assertEqual(pattern.length(0.01, 50000), 50000)
        self.assertEqual(pattern.length(0.1, 500000), 20000)
        self.assertEqual(pattern.length(0.0, 10), pattern.PACKETS_MIN)


class Checking(unittest.TestCase):
    def test_expected(self):
        lost = [0, 5, 9]
        self.assertEqual(pattern.expected_losses(5, 10, lost), 1)
        self.assertEqual(pattern.expected_losses(10, 10, lost), 3)
        self.assertEqual(pattern.expected_losses(26, 10, lost), 8)

    def test_ruleset_names_every_packet(self):
        text = pattern.ruleset({"request": (10, [1, 3]), "reply": (10, [])})
        self.assertIn("numgen inc mod 10 vmap { 1 : goto lost-request, 3 : goto lost-request }", text)
        self.assertEqual(text.count("numgen"), 1)
