"""Statements about several runs, on results made for the purpose; and what a scenario may not say."""

import math
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy

from simco_lab import expectations, report, scenario, statements, statistics
from simco_lab.conditions import Conditions
from simco_lab.errors import ScenarioError
from simco_lab.results import Combination, Selectable
from simco_lab.variant import Variant
from simco_lab.verdicts import Verdict

TCP, SCTP, UNORDERED = (Variant.parse(name) for name in ("tcp", "sctp-1", "sctp-unordered"))


class Results(Selectable):
    def __init__(self, combinations, seeds="shared"):
        self.combinations = combinations
        self.scenario = SimpleNamespace(setup=SimpleNamespace(seeds=seeds), expectations=[])


def combination(variant, levels, record=None, **conditions):
    """Runs whose samples are all the same: one for each of `levels`."""
    times = [numpy.full(100, float(level)) for level in levels]
    run = {"aborted": False, **(record or {})}
    return Combination(Conditions(variant=variant, **conditions), [run] * len(times), times)


def judged(results, kind, **expectation):
    for key in ("less", "than"):
        if key in expectation:
            expectation[key] = {name: [value] for name, value in expectation[key].items()}
    return expectations.CHECKS[kind](results, {"kind": kind, **expectation})


def holds(results, kind, **expectation):
    return [verdict.holds for verdict in judged(results, kind, **expectation)]


SIDES = {"less": {"variant": UNORDERED}, "than": {"variant": SCTP}}


class Tests(unittest.TestCase):
    def two(self, low, high, **more):
        return Results([combination(UNORDERED, low, **more), combination(SCTP, high, **more)])

    def test_differs(self):
        apart = self.two([1, 2, 3, 4], [5, 6, 7, 8])
        self.assertEqual(holds(apart, "differs", **SIDES), [True])
        self.assertEqual(holds(apart, "alike", **SIDES), [False])
        mixed = self.two([1, 3, 5, 7], [2, 4, 6, 8])
        self.assertEqual(holds(mixed, "differs", **SIDES), [False])
        self.assertEqual(holds(mixed, "alike", **SIDES), [True])
        self.assertEqual(holds(self.two([5, 6, 7, 8], [1, 2, 3, 4]), "differs", **SIDES), [False])

    def test_too_few_runs_cannot_tell(self):
        [verdict] = judged(self.two([1, 2, 3], [4, 5, 6]), "alike", **SIDES)
        self.assertIsNone(verdict.holds)
        self.assertIn("so few runs cannot tell", verdict.detail)

    def test_across_values_of_another_dimension(self):
        results = Results([combination(SCTP, [1, 2, 3, 4], loss_percent=1.0), combination(SCTP, [9, 9, 9, 9], loss_percent=2.0),
                           combination(UNORDERED, [5, 6, 7, 8], loss_percent=2.0)])
        sides = {"less": {"variant": SCTP, "loss_percent": 1.0}, "than": {"variant": UNORDERED, "loss_percent": 2.0}}
        [verdict] = judged(results, "differs", **sides)
        self.assertTrue(verdict.holds)
        self.assertIn("sctp-1, loss_percent 1 < sctp-unordered, loss_percent 2", verdict.where)

    def test_most_places(self):
        places = [combination(variant, levels, rate=rate) for rate, variant, levels in (
            (1.0, UNORDERED, [1, 2, 3, 4]), (1.0, SCTP, [5, 6, 7, 8]), (2.0, UNORDERED, [1, 2, 3, 4]),
            (2.0, SCTP, [5, 6, 7, 8]), (3.0, UNORDERED, [1, 3, 5, 7]), (3.0, SCTP, [2, 4, 6, 8]))]
        self.assertEqual(holds(Results(places), "differs", share=0.5, **SIDES), [True])
        self.assertEqual(holds(Results(places), "differs", share=0.7, **SIDES), [False])

    def test_means_by_pairs_of_runs(self):
        # The runs differ by far more than the variants do, by 1 each: pairs tell.
        results = self.two([10, 20, 30, 40], [11, 21, 31, 41])
        self.assertEqual(holds(results, "alike", quantity="mean", **SIDES), [False])
        self.assertEqual(holds(Results(results.combinations, "own"), "alike", quantity="mean", **SIDES), [True])
        # What instructions take is no difference, however certain.
        self.assertEqual(holds(self.two([10, 20, 30, 40], [10.05, 20.05, 30.05, 40.05]), "alike", quantity="mean", **SIDES), [True])

    def test_identical(self):
        self.assertEqual(holds(self.two([1, 2], [1, 2]), "identical", **SIDES), [True])
        self.assertEqual(holds(self.two([1, 2], [1, 3]), "identical", **SIDES), [False])
        dropped = self.two([1, 2], [1, 2], record={"queue": {"dropped": {"request": 1}}})
        self.assertEqual(holds(dropped, "identical", **SIDES), [False])


class Families(unittest.TestCase):
    def test_what_chance_does_is_said(self):
        verdicts = [Verdict(True, "here", "")] * 20 + [Verdict(None, "there", "")]
        self.assertEqual(report.by_chance({"kind": "differs"}, verdicts), " (Of 20 tests at 5 %, 1.0 reject by chance.)")
        self.assertEqual(report.by_chance({"kind": "less"}, verdicts), "")
        self.assertEqual(report.by_chance({"kind": "alike"}, verdicts[-2:]), "")


class Bounds(unittest.TestCase):
    def test_a_side(self):
        results = Results([combination(TCP, [40, 41, 42])])
        self.assertEqual(holds(results, "bound", below=50), [True])
        self.assertEqual(holds(results, "bound", below=30), [False])
        self.assertEqual(holds(results, "bound", below=41.5), [None])
        self.assertEqual(holds(results, "bound", above=30, below=50), [True])

    def test_from_the_round_trip_time_on(self):
        results = Results([combination(TCP, [42, 42, 42], delay_ms=20.0)])
        self.assertEqual(holds(results, "bound", below=5, rtts=1), [True])
        self.assertEqual(holds(results, "bound", above=0, rtts=2), [False])

    def test_other_quantities(self):
        record = {"queue": {"lost": {"request": 6, "reply": 1}, "entered": {"request": 160, "reply": 40},
                            "messages": {"lost": 6, "entered": 100}},
                  "parts": {"sender": 3.0}}
        results = Results([combination(TCP, [3000, 1, 1], record)])
        self.assertEqual(holds(results, "bound", quantity="lost_share", above=5), [True])
        self.assertEqual(holds(results, "bound", quantity="sender", below=4), [True])
        self.assertEqual(holds(results, "bound", quantity="goodput", below=4), [None])

    def test_amounts_in_words(self):
        for value, width, unit, words in ((2, 0.5, "ms", "2.0 ± 0.5 ms"), (3, math.nan, "", "3.0"),
                                          (math.inf, math.inf, "ms", "∞ ms"), (math.nan, math.nan, "%", "unknown")):
            self.assertEqual(statements.amount(statistics.Estimate(value, width), unit), words)

    def test_further_retransmissions(self):
        results = Results([combination(TCP, [1, 1, 1], {"further_retransmissions": 2})])
        self.assertEqual(holds(results, "bound", quantity="further", below=1), [False])
        self.assertEqual(holds(results, "bound", quantity="further", below=3), [True])
        self.assertEqual(holds(results, "bound", quantity="sent_again", below=3), [None])
        again = Results([combination(TCP, [1, 1, 1], {"retransmissions": 130})])
        self.assertEqual(holds(again, "bound", quantity="sent_again", above=129), [True])

    def test_shares_and_differences_within_a_run(self):
        record = {"goodput": {"octets_s": 99.5, "offered_octets_s": 100.0, "cross_octets_s": 100.5},
                  "parts": {"sender": 3.0, "behind": 5.0}}
        results = Results([combination(TCP, [1, 1, 1], record)])
        self.assertEqual(holds(results, "bound", quantity="total", above=199), [True])
        self.assertEqual(holds(results, "bound", quantity="total", above=201), [False])
        self.assertEqual(holds(results, "bound", quantity="share", below=50), [True])
        self.assertEqual(holds(results, "bound", quantity="carried", above=99), [True])
        self.assertEqual(holds(results, "bound", quantity="sender_over_behind", above=0), [False])


class Orders(unittest.TestCase):
    def test_each_below_the_next(self):
        results = Results([combination(variant, levels) for variant, levels in
                           ((TCP, [1, 1.1, 0.9]), (SCTP, [5, 5.1, 4.9]), (UNORDERED, [4, 5, 6]))])
        groups = [{"variant": [TCP]}, {"variant": [SCTP]}, {"variant": [UNORDERED]}]
        self.assertEqual(holds(results, "order", order=groups), [True, None])

    def test_one_run_has_no_interval(self):
        groups = [{"variant": [TCP]}, {"variant": [SCTP]}]
        results = Results([combination(TCP, [1]), combination(SCTP, [5])])
        self.assertEqual(holds(results, "order", order=groups, quantity="max"), [True])
        self.assertEqual(holds(results, "order", order=groups[::-1], quantity="max"), [False])

    def test_a_step(self):
        results = Results([combination(variant, [level, level, level], loss_percent=loss) for variant, loss, level in
                           ((UNORDERED, 2.0, 40), (UNORDERED, 3.0, 120), (SCTP, 2.0, 150), (SCTP, 3.0, 200))])
        sides = {"less": {"variant": SCTP}, "than": {"variant": UNORDERED}}
        self.assertEqual(holds(results, "step", axis="loss_percent", **{"from": 2, "to": 3}, **sides), [True])

    def test_along_an_axis(self):
        def results(*levels):
            return Results([combination(TCP, [level] * 3, cross=cross)
                            for cross, level in zip(("none", "tcp-2", "tcp-10"), levels)])
        self.assertEqual(holds(results(1, 2, 3), "monotone", axis="cross"), [True])
        self.assertEqual(holds(results(1, 3, 2), "monotone", axis="cross"), [False])
        self.assertEqual(holds(results(3, 2, 1), "monotone", axis="cross", falls=True), [True])

    def test_regression(self):
        results = Results([combination(TCP, [10 * loss + error for error in (0.1, -0.1, 0.2, -0.2)], loss_percent=loss,
                                       loss_correlation=correlation)
                           for loss in (1.0, 2.0, 3.0) for correlation in (0.0, 0.5)])
        on = ["loss_percent", "loss_correlation"]
        self.assertEqual(holds(results, "regression", axis="loss_correlation", on=on), [True])
        self.assertEqual(holds(results, "regression", axis="loss_percent", on=on), [False])


class Affected(unittest.TestCase):
    def test_messages_later_than_without_losses(self):
        hit, twin = combination(TCP, [50], lose_run=3.0), combination(TCP, [45])
        hit.times[0][:30] = 45.5
        hit.twin = twin
        self.assertEqual(hit.quantity("affected"), statistics.Estimate(70.0, hit.quantity("affected").half_width))


class Undelivered(unittest.TestCase):
    """A message that never arrived takes infinitely long."""

    INF = float("inf")

    def two(self, low, high):
        return Results([combination(UNORDERED, low), combination(SCTP, high)])

    def with_loss(self, variant, levels, lost):
        made = combination(variant, levels)
        for times in made.times:
            times[:lost] = self.INF
        return made

    def test_bounds(self):
        endless = Results([combination(TCP, [40, self.INF, 42])])
        self.assertEqual(holds(endless, "bound", quantity="max", below=50), [False])
        self.assertEqual(holds(endless, "bound", quantity="max", above=50), [True])

    def test_differs_by_the_medians_of_the_runs(self):
        self.assertEqual(holds(self.two([1, 2, 3, 4], [5, 6, 7, self.INF]), "differs", **SIDES), [True])
        self.assertEqual(holds(self.two([5, 6, 7, self.INF], [1, 2, 3, 4]), "differs", **SIDES), [False])
        # One run of many that failed does not turn the direction.
        self.assertEqual(holds(self.two([*range(9), self.INF], range(20, 30)), "differs", **SIDES), [True])

    def test_less_and_order(self):
        results = self.two([1, 2, 3], [5, 6, self.INF])
        self.assertEqual(holds(results, "less", quantity="p95", **SIDES), [True])
        self.assertEqual(holds(self.two([5, 6, self.INF], [1, 2, 3]), "less", quantity="p95", **SIDES), [False])
        groups = [{"variant": [UNORDERED]}, {"variant": [SCTP]}]
        self.assertEqual(holds(self.two([self.INF] * 3, [self.INF] * 3), "order", order=groups), [None])
        self.assertEqual(holds(self.two([self.INF], [self.INF]), "order", order=groups, quantity="max"), [None])
        self.assertEqual(holds(self.two([1], [2]), "order", order=groups, quantity="goodput"), [None])

    def test_along_an_axis(self):
        def results(*levels):
            return Results([combination(TCP, [level] * 3, rate=float(rate)) for rate, level in enumerate(levels, 1)])
        self.assertEqual(holds(results(1, self.INF), "monotone", axis="rate"), [True])
        self.assertEqual(holds(results(self.INF, 1), "monotone", axis="rate"), [False])
        self.assertEqual(holds(results(self.INF, self.INF), "monotone", axis="rate"), [None])
        self.assertEqual(holds(results(1, 2), "monotone", axis="rate", quantity="goodput"), [None])

    def test_a_mean_without_them_is_a_lower_bound(self):
        results = Results([self.with_loss(TCP, [40, 41, 42], 5)])
        self.assertEqual(holds(results, "bound", quantity="mean", below=50), [None])
        self.assertEqual(holds(results, "bound", quantity="mean", above=50), [None])
        self.assertEqual(holds(results, "bound", quantity="mean", below=20), [False])
        self.assertEqual(holds(results, "bound", quantity="mean", above=20), [True])
        lossy = self.with_loss(UNORDERED, [1, 2, 3], 5)
        both = Results([lossy, combination(SCTP, [5, 6, 7])])
        self.assertEqual(holds(both, "less", **SIDES), [None])
        self.assertEqual(holds(both, "alike", quantity="mean", **SIDES), [None])
        self.assertEqual(holds(both, "less", less={"variant": SCTP}, than={"variant": UNORDERED}), [None])
        slower = Results([self.with_loss(UNORDERED, [10, 11, 12], 5), combination(SCTP, [5, 6, 7])])
        self.assertEqual(holds(slower, "less", **SIDES), [False])
        self.assertIn("without 15 unanswered messages", judged(both, "less", **SIDES)[0].detail)

    def test_a_regression_of_ranks(self):
        for levels, expected in (((1, 2, 3, 4), [False]), ((2, 2, 2, 2), [True])):
            results = Results([combination(TCP, [level] * 5 + [self.INF], loss_percent=float(loss))
                               for loss, level in enumerate(levels)])
            self.assertEqual(holds(results, "regression", axis="loss_percent", on=["loss_percent"]), expected, levels)

    def test_ranks_decide_where_no_mean_ends(self):
        low, high = [1, 2, 3, 4, 5, self.INF], [7, 8, 9, 10, self.INF, self.INF]
        both = self.two(low, high)
        [verdict] = judged(both, "less", quantity="p95", **SIDES)
        self.assertIsNone(verdict.holds)  # five pairs and a tie: 2 of 32
        self.assertIn("by ranks of the runs p = 0.0625", verdict.detail)
        self.assertEqual(holds(self.two([*low, 6], [*high, 11]), "less", quantity="p95", **SIDES), [True])
        self.assertEqual(holds(self.two([*high, 11], [*low, 6]), "less", quantity="p95", **SIDES), [False])
        apart = Results([combination(UNORDERED, low), combination(SCTP, [self.INF] * 6)], "own")
        self.assertEqual(holds(apart, "less", quantity="p95", **SIDES), [True])
        self.assertEqual(holds(Results(both.combinations, "own"), "less", quantity="p95", **SIDES), [True])


class Aborted(unittest.TestCase):
    """Of a run that was aborted there is a part only."""

    def holds(self, kind, **more):
        broken = combination(UNORDERED, [1, 2, 3, 4], {"aborted": True})
        results = Results([broken, combination(SCTP, [5, 6, 7, 8])])
        verdicts = judged(results, kind, **more)
        self.assertIn("sctp-unordered was aborted", verdicts[0].detail)
        return verdicts[0].holds

    def test_nothing_can_be_told(self):
        for kind, quantity in (("differs", "p95"), ("alike", "p95"), ("alike", "mean"), ("identical", "p95")):
            self.assertIsNone(self.holds(kind, quantity=quantity, **SIDES))
        self.assertIsNone(self.holds("bound", below=50))
        self.assertIsNone(self.holds("regression", axis="rate", on=["rate"]))

    def test_a_step(self):
        results = Results([combination(variant, [level] * 3, {"aborted": (variant, loss) == (UNORDERED, 3.0)},
                                       loss_percent=loss)
                           for variant, loss, level in ((UNORDERED, 2.0, 40), (UNORDERED, 3.0, 120), (SCTP, 2.0, 150),
                                                        (SCTP, 3.0, 200))])
        sides = {"less": {"variant": SCTP}, "than": {"variant": UNORDERED}}
        self.assertEqual(holds(results, "step", axis="loss_percent", **{"from": 2, "to": 3}, **sides), [None])


class Replications(unittest.TestCase):
    """Runs belong together by their number, of which some may lack."""

    def two(self, low, high, numbers=()):
        results = Results([combination(UNORDERED, low), combination(SCTP, high)])
        results.combinations[1].replications = list(numbers)
        return results

    def test_the_same_runs(self):
        self.assertEqual(holds(self.two([1, 2, 3], [1, 3], [0, 2]), "identical", **SIDES), [None])
        self.assertEqual(holds(self.two([1, 2, 3], [1, 2], [0, 2]), "identical", **SIDES), [False])

    def test_the_twin_of_a_run(self):
        hit, twin = combination(TCP, [45, 60], lose_run=3.0), combination(TCP, [60])
        hit.twin, twin.replications = twin, [1]
        self.assertIsNone(hit.each[0].twin)
        self.assertEqual(hit.each[1].twin[0], 60)

    def test_pairs_decide_between_runs_with_the_same_seeds(self):
        # The runs differ by far more than the variants do.
        less = self.two([10, 20, 30], [11, 21.1, 31])
        [verdict] = judged(less, "less", quantity="p95", **SIDES)
        self.assertTrue(verdict.holds)
        self.assertIn("(-1.0 ± 35.1), -1.0 ± 0.1 by pairs of runs", verdict.detail)
        groups = [{"variant": [UNORDERED]}, {"variant": [SCTP]}]
        self.assertEqual(holds(less, "order", order=groups), [True])
        self.assertEqual(holds(Results(less.combinations, "own"), "less", quantity="p95", **SIDES), [None])
        self.assertEqual(holds(self.two([10, 20, 30], [11, 21.1, 31], [0, 1, 3]), "less", quantity="p95", **SIDES), [None])

    def test_the_interval_within_one_run_counts(self):
        results = Results([combination(UNORDERED, [1]), combination(SCTP, [5])])
        wide = numpy.random.default_rng(1)
        for made, centre in zip(results.combinations, (500, 501)):
            made.times[0] = centre + wide.normal(0, 50, 2000)
        groups = [{"variant": [UNORDERED]}, {"variant": [SCTP]}]
        self.assertEqual(holds(results, "order", order=groups, quantity="p95"), [None])


class Blocks(unittest.TestCase):
    """One run of each: pairs of blocks of the schedule that both met decide."""

    def two(self, shift, seeds="shared", late=0.0):
        results = Results([combination(UNORDERED, [1]), combination(SCTP, [1])], seeds)
        noise = numpy.random.default_rng(1).normal(500, 50, 3000)
        for made, more in zip(results.combinations, (shift, 0.0)):
            made.times[0] = noise + more
            made.scheduled = [numpy.arange(3000.0) + (late if more else 0.0)]
        return results

    def test_they_tell_what_the_runs_have_in_common(self):
        for quantity in ("mean", "p95", "p99"):
            [verdict] = judged(self.two(-10), "less", quantity=quantity, **SIDES)
            self.assertTrue(verdict.holds, quantity)
            self.assertIn("-10.0 (-10.0 to -10.0) by pairs of blocks", verdict.detail)
            self.assertEqual(holds(self.two(10), "less", quantity=quantity, **SIDES), [False])

    def test_seeds_of_their_own_or_another_schedule_have_nothing_in_common(self):
        self.assertEqual(holds(self.two(-1, seeds="own"), "less", quantity="p95", **SIDES), [None])
        [verdict] = judged(self.two(-1, late=0.5), "less", quantity="p95", **SIDES)
        self.assertIsNone(verdict.holds)
        self.assertNotIn("by pairs", verdict.detail)

    def test_the_percentile_of_a_few(self):
        results = self.two(-10)
        for made in results.combinations:
            made.times[0] = numpy.append(made.times[0], made.times[0][:1100])
            made.scheduled = [numpy.arange(4100.0)]
        [verdict] = judged(results, "less", quantity="p999", **SIDES)
        self.assertIsNone(verdict.holds)  # four are beyond
        self.assertIn("-10.0 (too few beyond it: fewer than 5) by pairs of blocks", verdict.detail)


class Alike(unittest.TestCase):
    def two(self, gap):
        rng = numpy.random.default_rng(1)
        results = Results([combination(UNORDERED, [1]), combination(SCTP, [1])])
        for made, more in zip(results.combinations, (gap, 0.0)):
            made.times[0] = 100 + more + rng.normal(0, 5, 3000)
        return results

    def test_a_difference_without_consequence(self):
        [verdict] = judged(self.two(0.0), "less", quantity="mean", **SIDES)
        self.assertIs(verdict.holds, False)
        self.assertTrue(verdict.alike)
        self.assertIn("alike within 1 ms", verdict.detail)
        self.assertEqual(holds(self.two(0.0), "less", quantity="mean", or_alike=True, **SIDES), [True])

    def test_what_differs_is_not_alike(self):
        self.assertEqual(holds(self.two(1.5), "less", quantity="mean", or_alike=True, **SIDES), [False])
        self.assertEqual(holds(self.two(0.5), "less", quantity="mean", or_alike=True, **SIDES), [True])  # worse, by little
        self.assertEqual(holds(self.two(-0.5), "less", quantity="mean", **SIDES), [True])

    def test_a_wide_interval_is_not_alike(self):
        results = self.two(0.0)
        results.combinations[0].times[0] *= numpy.tile([0.5, 1.5], 1500)
        results.combinations[0].times[0][:1500] += 20
        results.combinations[0].times[0][1500:] -= 20
        [verdict] = judged(results, "less", quantity="mean", or_alike=True, **SIDES)
        self.assertIsNone(verdict.holds)
        self.assertFalse(verdict.alike)

    def test_the_report_counts_them(self):
        verdicts = [Verdict(False, "here", "", alike=True), Verdict(True, "there", "")]
        lines = report.expectation_lines([({"id": "X", "claim": "x", "kind": "less"}, verdicts)])
        self.assertEqual(lines[0], "**X** x: holds at 1, does not hold at 1; alike within 1 % at 1 of these.")


class EveryRun(unittest.TestCase):
    def test_one_run_refutes_it(self):
        results = Results([combination(TCP, [1, 2, 30])])
        self.assertEqual(holds(results, "bound", below=20, runs="every"), [False])
        self.assertEqual(holds(results, "bound", below=31, runs="every"), [True])
        self.assertEqual(holds(results, "bound", above=20, runs="some"), [True])
        self.assertEqual(holds(results, "bound", above=30, runs="some"), [False])
        self.assertEqual(holds(results, "bound", above=1.5, below=2.5, runs="some"), [True])
        self.assertIn("2 of 3 runs are below 20 ms", judged(results, "bound", below=20, runs="every")[0].detail)

    def test_what_was_not_measured(self):
        results = Results([combination(TCP, [1, 2, 3])])
        self.assertEqual(holds(results, "bound", quantity="goodput", below=1, runs="every"), [None])


GOOD = """\
title = "Trial"
workload = "echo"
[matrix]
variant = ["sctp-1", "sctp-unordered"]
[quick]
count = 100
replications = 4
[full]
count = 100
replications = 4
[[expect]]
id = "X"
claim = "x"
kind = "differs"
less = { variant = "sctp-unordered" }
than = { variant = "sctp-1" }
"""


class Wrong(unittest.TestCase):
    def wrong(self, text, line, words):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trial.toml"
            path.write_text(text)
            with self.assertRaises(ScenarioError) as caught:
                scenario.read(path)
        self.assertIn(f"trial.toml:{line}: ", str(caught.exception))
        self.assertIn(words, str(caught.exception))

    def test_few_runs_of_a_quantity_without_an_interval_within_a_run(self):
        text = GOOD.replace("replications = 4", "replications = 2", 1).replace('"differs"', '"less"')
        self.wrong(text + 'quantity = "goodput"\n', 14, "'less' of goodput, which has no interval within a run, cannot be told")

    def test_few_runs(self):
        self.wrong(GOOD.replace("replications = 4", "replications = 3", 1), 14, "'differs' cannot be told with 3 runs")

    def test_unknown_things(self):
        self.wrong(GOOD + 'quantity = "p96"\n', 17, "'quantity' must be one of")
        self.wrong(GOOD.replace('"differs"', '"differ"'), 14, "'kind' must be one of")
        self.wrong(GOOD.replace('"differs"', '"bound"'), 14, "needs 'below' or 'above'")
        self.wrong(GOOD.replace('"differs"', '"order"'), 14, "needs 'order'")
        self.wrong(GOOD + 'runs = "every"\n', 17, "'runs' is of the kind 'bound'")
        self.wrong(GOOD.replace('"differs"', '"less"') + "or_alike = 1.5\n", 17, "'or_alike' must be true or false")
        self.wrong(GOOD.replace('"differs"', '"monotone"') + 'axis = "colour"\n', 17, "'axis' must be one of")
        self.wrong(GOOD.replace('"differs"', '"regression"') + 'axis = "rate"\non = ["loss_percent"]\n', 17,
                   "'axis' must be one of 'on'")


if __name__ == "__main__":
    unittest.main()
