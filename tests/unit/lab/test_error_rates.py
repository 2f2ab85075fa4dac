"""The decision rules of claims err about as rarely as they say, and a rule that does not is found."""

import unittest

import error_rates
from simco_lab.judge.verdicts import Verdict
from simco_lab.measure import statistics

TRIALS, RUNS = 30, 3


def independent(results, _):
    """`<` by the textbook's interval, for which neighbours are independent."""
    gap = statistics.difference(*(statistics.mean_independent(one.all_times) for one in results.combinations))
    return [Verdict(True if gap.high < 0 else False if gap.low > 0 else None, "", "")]


class ErrorRates(unittest.TestCase):
    def test_the_rules_err_rarely(self):
        rules = {rule: (judge, (RUNS,)) for rule, (judge, runs) in error_rates.RULES.items() if RUNS in runs}
        found = error_rates.rates(TRIALS, rules)
        self.assertEqual({one: share for one, share in found.items() if share > 0.2}, {})
        self.assertLess(0.01, sum(found.values()) / len(found))
        self.assertLess(sum(found.values()) / len(found), 0.09)

    def test_a_rule_that_takes_neighbours_for_independent_is_found(self):
        rules = {"`<`, means": (error_rates.two(independent, "own"), (RUNS,))}
        self.assertGreater(error_rates.rates(TRIALS, rules)["`<`, means", "alike", RUNS], 0.2)


if __name__ == "__main__":
    unittest.main()
