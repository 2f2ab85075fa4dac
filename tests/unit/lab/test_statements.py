"""Statements about several runs, on results made for the purpose; and what a claim may not say."""

import math
import unittest
from dataclasses import replace

import numpy

import trial
from simco_lab.draw import account
from simco_lab.errors import ScenarioError
from simco_lab.judge import statements
from simco_lab.judge.claims import Figures, increasing, rehearse
from simco_lab.judge.verdicts import Verdict
from simco_lab.measure import statistics
from simco_lab.scenario.conditions import values_of
from simco_lab.scenario.variant import Variant
from trial import Results

TCP, SCTP, UNORDERED = (Variant.parse(name) for name in ("tcp", "sctp-1", "sctp-unordered"))


def combination(variant, levels, record=None, **conditions):
    """Runs whose samples are all the same: one for each of `levels`."""
    return trial.combination(variant, *(numpy.full(100, level) for level in levels), record=record, **conditions)


def judged(results, kind, *, less=None, than=None, order=(), quantity="", factor=1.0, share=None, axis="", on=(), falls=False,
           or_alike=False, tolerance_ms=0.0, **more):
    """Returns the verdicts of that kind on what the sides have."""
    def of(sides):
        return Figures(results, {}, quantity or ("mean" if kind in ("less", "equal") else "p95"), values_of(sides or {}))

    one, other = of(less), factor * of(than)
    moves = {(False, False): one.rises_along, (True, False): one.falls_along, (False, True): one.never_falls_along,
             (True, True): one.never_rises_along}[falls, or_alike]
    found = {"less": lambda: one <= other if or_alike else one < other, "equal": lambda: one.equal(within_ms=tolerance_ms),
             "differs": lambda: one.faster_than(other), "alike": lambda: one.like(other),
             "identical": lambda: one.identical_to(other), "order": lambda: increasing(*(of({"variant": variant}) for variant in order)), "monotone": lambda: moves(axis),
             "step": lambda: one.flatter_than(other, axis, more["from"], more["to"], added=more.get("added", False)),
             "regression": lambda: one.independent_of(axis, on=on), "bound": lambda: bound(one, **more)}[kind]()
    return found if share is None else found.at_more_than(share)


def bound(one, runs="", **limits):
    return {"": one.within, "every": one.in_every_run, "some": one.in_some_run}[runs](**limits)


def holds(results, kind, **expectation):
    return [verdict.holds for verdict in judged(results, kind, **expectation)]


SIDES = {"less": {"variant": UNORDERED}, "than": {"variant": SCTP}}
SWAPPED = {"less": SIDES["than"], "than": SIDES["less"]}


class Tests(unittest.TestCase):
    def two(self, low, high, **more):
        return Results([combination(UNORDERED, low, **more), combination(SCTP, high, **more)])

    def test_what_is_not_carried_was_aborted(self):
        for aborted, holds in (((True, True), True), ((False, False), False), ((True, False), None)):
            one = combination(TCP, (20, 20))
            for run, stopped in zip(one.runs, aborted):
                run["aborted"] = stopped
            found = Figures(Results([one]), {}, "mean", {}).not_carried()
            self.assertEqual([verdict.holds for verdict in found], [holds])

    def test_differs(self):
        apart = self.two([1, 2, 3, 4], [5, 6, 7, 8])
        self.assertEqual(holds(apart, "differs", **SIDES), [True])
        self.assertEqual(holds(apart, "alike", **SIDES), [False])
        mixed = self.two([1, 3, 5, 7], [2, 4, 6, 8])
        [verdict] = judged(mixed, "differs", **SIDES)
        self.assertIsNone(verdict.holds)  # they may differ by less than the test shows
        self.assertIn("4 and 4 runs: no difference shown, as D of 1.00 or more would be", verdict.detail)
        self.assertEqual(judged(mixed, "alike", **SIDES)[0].detail, verdict.detail)
        self.assertEqual(holds(mixed, "alike", **SIDES), [None])
        self.assertTrue(judged(mixed, "alike", **SIDES)[0].no_difference)
        self.assertEqual(holds(self.two([5, 6, 7, 8], [1, 2, 3, 4]), "differs", **SIDES), [False])

    def test_what_is_certainly_alike_does_not_differ(self):
        [verdict] = judged(self.two([40, 40.02, 40.04, 40.06], [40.01, 40.03, 40.05, 40.07]), "differs", **SIDES)
        self.assertIs(verdict.holds, False)
        self.assertIn("; 40.0 against 40.0 ms (+0.0 ± 0.1), +0.0 (-0.0 to -0.0) by pairs of blocks, although alike within 0.4 ms: of no"
                      " consequence", verdict.detail)

    def test_other_shapes_with_one_median_are_on_neither_side(self):
        apart = self.two([1] * 9 + [math.inf] * 11, [math.inf] * 20)
        self.assertEqual(holds(apart, "alike", **SIDES), [False])
        self.assertEqual(holds(apart, "differs", **SIDES), [None])

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
        [verdict] = judged(Results(places), "differs", share=0.5, **SIDES)
        self.assertEqual((verdict.holds, verdict.detail, verdict.tests), (True, "2 of 3; 1 cannot be told", 3))
        # The third place could turn it.
        self.assertEqual(holds(Results(places), "differs", share=0.7, **SIDES), [None])
        self.assertEqual(holds(Results(places[4:]), "differs", share=0.5, **SIDES), [None])
        self.assertEqual(holds(Results(places), "alike", share=0.3, **SIDES), [None])
        self.assertEqual(holds(Results(places), "alike", share=0.5, **SIDES), [False])

    def test_means_by_pairs_of_runs(self):
        # The runs differ by far more than the variants do, by 1 each: pairs tell.
        results = self.two([10, 20, 30, 40], [11, 21, 31, 41])
        self.assertEqual(holds(results, "alike", quantity="mean", **SIDES), [False])
        self.assertEqual(holds(Results(results.combinations, "own"), "alike", quantity="mean", **SIDES), [None])
        [verdict] = judged(Results(results.combinations, "own"), "alike", quantity="mean", **SIDES)
        self.assertIn("no difference shown by 4 and 4 runs, as one of 34.58 ms or more would be", verdict.detail)
        # What instructions take is no difference, however certain.
        [verdict] = judged(self.two([1, 2, 3, 4], [1.05, 2.05, 3.05, 4.05]), "alike", quantity="mean", **SIDES)
        self.assertIs(verdict.holds, True)
        self.assertIn("certainly at most 0.1 ms, which counts as alike", verdict.detail)
        wide = self.two([1, 2, 3, 4], [1.02, 2.02, 3.02, 4.2])
        self.assertIn("(-0.21 to +0.08) by pairs: no difference shown by 4 and 4 runs, as one of 0.14 ms",
                      judged(wide, "alike", quantity="mean", **SIDES)[0].detail)
        above = self.two([1, 2, 3, 4], [1.08, 2.08, 3.08, 4.11])
        [verdict] = judged(above, "alike", quantity="mean", **SIDES)
        self.assertEqual((verdict.holds, verdict.detail), (None, "they differ by -0.09 ms (-0.11 to -0.06) by pairs"))

    def test_identical(self):
        self.assertEqual(holds(self.two([1, 2], [1, 2]), "identical", **SIDES), [True])
        self.assertEqual(holds(self.two([1, 2], [1, 3]), "identical", **SIDES), [False])
        dropped = self.two([1, 2], [1, 2], record={"queue": {"dropped": {"request": 1}}})
        self.assertEqual(holds(dropped, "identical", **SIDES), [False])


class Families(unittest.TestCase):
    def test_what_chance_does_is_said(self):
        rejected, untold, few = Verdict(True, "here", "", tests=1), Verdict(None, "there", "", tests=1), Verdict(None, "there", "")
        self.assertEqual(account.by_chance([rejected] * 15 + [untold] * 5 + [few]),
                         " The verdicts stand on 20 comparisons at 5 %: up to 1.0 are wrong by chance, on average.")
        self.assertEqual(account.by_chance([few]), "")

    def test_places_without_a_difference_are_called_so(self):
        self.assertEqual(account.summary_of([Verdict(None, "here", "", no_difference=True), Verdict(True, "there", "")]),
                         "holds at 1, no difference shown at 1.")


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
                  "parts": {"sender": 3.0, "messages": 100}}
        results = Results([combination(TCP, [3000, 1, 1], record)])
        self.assertEqual(holds(results, "bound", quantity="lost_share", above=5), [True])
        self.assertEqual(holds(results, "bound", quantity="sender", below=4), [True])
        self.assertEqual(holds(results, "bound", quantity="goodput", below=4), [None])

    def test_parts_of_the_delivered_only_tell_nothing(self):
        results = Results([combination(TCP, [1, 1, 1], {"parts": {"sender": 3.0, "messages": 99}})])
        [verdict] = judged(results, "bound", quantity="sender", below=4)
        self.assertEqual((verdict.holds, verdict.detail), (None, "3.0 ± 0.0 ms, not certainly below 4, without 3 undelivered messages"))
        self.assertEqual(holds(results, "bound", quantity="sender", above=2), [None])  # the others may have left at once

    def test_the_last_tenth(self):
        for slow, good in ((91, True), (96, False)):
            results = Results([trial.combination(TCP, numpy.repeat([5000.0, 1.0], [slow, 100 - slow]))])
            self.assertEqual(holds(results, "bound", quantity="end", below=2), [good])

    def test_messages_that_are_not_large(self):
        def of(record):
            return Results([combination(TCP, [7, 7, 7], record)])
        self.assertEqual(holds(of({"point": {"large_size": 16000.0}, "others_p95_ms": 3.0}), "bound", quantity="others", below=5), [True])
        self.assertEqual(holds(of({"point": {"large_size": 16000.0}}), "bound", quantity="others", below=5), [None])
        self.assertEqual(holds(of({"point": {"large_size": 0.0}}), "bound", quantity="others", below=5), [False])

    def test_a_spread_to_what_never_ends_is_infinite(self):
        results = Results([combination(TCP, [1] * 6)])
        for times in results.combinations[0].times:
            times[40:] = math.inf
        self.assertEqual(holds(results, "bound", quantity="spread", below=50), [False])

    def test_amounts_in_words(self):
        for value, width, unit, words in ((2, 0.5, "ms", "2.0 ± 0.5 ms"), (3, math.nan, "", "3.0"),
                                          (math.inf, math.inf, "ms", "∞ ms"), (math.nan, math.nan, "%", "unknown")):
            self.assertEqual(statements.amount(statistics.Estimate(value, width), unit), words)

    def test_an_amount_is_told_from_its_limit(self):
        for level, limit, words in ((0.0996, 0.1, "0.0996 ± 0.0000 ms"), (0.098, 0.1, "0.098 ± 0.000 ms"), (0.08, 0.1, "0.08 ± 0.00 ms"),
                                    (0.1, 0.1, "0.1 ± 0.0 ms")):
            [verdict] = judged(Results([combination(TCP, [level] * 3)]), "bound", below=limit)
            self.assertTrue(verdict.detail.startswith(words), verdict.detail)

    def test_the_interval_of_a_percentile_is_not_symmetric(self):
        def of(*times):
            return Results([trial.combination(TCP, numpy.array(times))])

        results = of(*[80.5] * 955, *[172.0] * 45)
        [verdict] = judged(results, "bound", below=130)
        self.assertEqual((verdict.holds, verdict.detail),
                         (None, "80.5 (80.5 to 172.0) ms, not certainly below 130, would take about 4 times the sample"))
        self.assertEqual(holds(results, "bound", above=80), [True])
        self.assertEqual(holds(results, "bound", below=80), [False])
        [verdict] = judged(of(*[80.5] * 955, *[math.inf] * 45), "bound", below=130)
        self.assertEqual((verdict.holds, verdict.detail), (None, "80.5 (80.5 to ∞) ms, not certainly below 130"))
        self.assertEqual(holds(of(*[math.inf] * 1000), "bound", below=130), [False])

    def test_the_second_of_one_is_not_measured(self):
        alone = combination(TCP, [1])
        alone.times[0] = alone.times[0][:1]
        self.assertEqual(holds(Results([alone]), "bound", quantity="second", below=5), [None])
        self.assertEqual(holds(Results([combination(TCP, [1])]), "bound", quantity="second", below=5), [True])

    def test_further_retransmissions(self):
        results = Results([combination(TCP, [1, 1, 1], {"further_retransmissions": 2})])
        self.assertEqual(holds(results, "bound", quantity="further", below=1), [False])
        self.assertEqual(holds(results, "bound", quantity="further", below=3), [True])
        self.assertEqual(holds(results, "bound", quantity="sent_again", below=3), [None])
        again = Results([combination(TCP, [1, 1, 1], {"retransmissions": 130})])
        self.assertEqual(holds(again, "bound", quantity="sent_again", above=129), [True])

    def test_shares_and_differences_within_a_run(self):
        record = {"goodput": {"octets_s": 99.5, "offered_octets_s": 100.0, "cross_octets_s": 100.5},
                  "parts": {"sender": 3.0, "behind": 5.0, "messages": 100}}
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
        self.assertEqual(holds(results, "order", order=(TCP, SCTP, UNORDERED)), [True, None])

    def test_one_run_has_no_interval(self):
        results = Results([combination(TCP, [1]), combination(SCTP, [5])])
        self.assertEqual(holds(results, "order", order=(TCP, SCTP), quantity="max"), [True])
        self.assertEqual(holds(results, "order", order=(SCTP, TCP), quantity="max"), [False])

    def test_one_run_each_is_alike_within_what_is_of_no_consequence(self):
        for low, high, quantity, margin in ((535.4, 535.4, "max", "5.4 ms"), (535.41, 535.42, "max", "5.4 ms"),
                                            (0.03, 0.1, "max", "0.1 ms"), (100, 100.5, "max", "1 ms")):
            results = Results([combination(TCP, [low]), combination(SCTP, [high])])
            [verdict] = judged(results, "order", order=(TCP, SCTP), quantity=quantity)
            self.assertIs(verdict.holds, False, low)
            self.assertTrue(verdict.detail.endswith(f", one run each, alike within {margin}"), verdict.detail)
        apart = Results([combination(TCP, [100]), combination(SCTP, [102])])
        self.assertEqual(holds(apart, "order", order=(TCP, SCTP), quantity="max"), [True])

    def test_a_step(self):
        results = Results([combination(variant, [level, level, level], loss_percent=loss) for variant, loss, level in
                           ((UNORDERED, 2.0, 40), (UNORDERED, 3.0, 120), (SCTP, 2.0, 150), (SCTP, 3.0, 200))])
        self.assertEqual(holds(results, "step", axis="loss_percent", **{"from": 2, "to": 3}, **SWAPPED), [True])

    def test_one_run_that_may_be_much_longer_is_not_shorter(self):
        results = Results([combination(UNORDERED, [1]), combination(SCTP, [1])], "own")
        rare = numpy.full(3000, 47.0)
        rare[100:240] = 548.0  # less than 5 % of the run, all in two blocks
        results.combinations[0].times[0] = rare
        results.combinations[1].times[0] = numpy.full(3000, 331.0)
        [verdict] = judged(results, "less", quantity="p95", **SIDES)
        self.assertEqual((verdict.holds, verdict.detail), (None, "47.0 against 331.0 ms (-284.0, -284.0 to +217.0), would take about 4 times the sample"))

    def test_a_step_by_more(self):
        # By a factor of 3 against 2, but by 20 ms against 100; the runs vary by more than that.
        corners = [combination(variant, [level + noise for noise in (0, 500, 900)], loss_percent=loss)
                   for variant, loss, level in ((UNORDERED, 2, 10), (UNORDERED, 3, 30), (SCTP, 2, 100), (SCTP, 3, 200))]
        ends = {"axis": "loss_percent", "from": 2, "to": 3, **SIDES}
        [verdict] = judged(Results(corners), "step", added=True, **ends)
        self.assertEqual((verdict.holds, verdict.detail), (True, "from 2 to 3: +20.00 ms against +100.00 ms (-80.00 ± 0.00)"))
        self.assertEqual(holds(Results(corners, "own"), "step", added=True, **ends), [None])
        corners[3].times[1][:] = math.inf
        self.assertEqual(holds(Results(corners), "step", added=True, **ends), [None])

    def test_along_an_axis(self):
        def results(*levels):
            return Results([combination(TCP, [level] * 3, cross=cross)
                            for cross, level in zip(("none", "tcp-2", "tcp-10"), levels)])
        self.assertEqual(holds(results(1, 2, 3), "monotone", axis="cross"), [True])
        self.assertEqual(holds(results(1, 3, 2), "monotone", axis="cross"), [False])
        self.assertEqual(holds(results(3, 2, 1), "monotone", axis="cross", falls=True), [True])
        self.assertEqual(holds(results(3, 3, 3), "monotone", axis="cross"), [False])
        for levels, falls, expected in (((3, 3, 3), False, True), ((3, 3, 3), True, True), ((1, 2, 3), True, False),
                                        ((1, 2, 3), False, True), ((3, 2, 1), False, False)):
            self.assertEqual(holds(results(*levels), "monotone", axis="cross", falls=falls, or_alike=True), [expected])

    def test_a_curve_has_one_kind_of_traffic(self):
        made = [combination(TCP, [level] * 3, cross=cross) for cross, level in
                (("none", 1), ("tcp-1", 50), ("web-1", 2), ("tcp-2", 60), ("web-2", 3), ("tcp-1@reno", 9))]
        verdicts = judged(Results(made), "monotone", axis="cross")
        self.assertEqual([verdict.holds for verdict in verdicts], [True] * 3)
        self.assertEqual([verdict.detail.partition(":")[0] for verdict in verdicts],
                         ["none to tcp-2", "none to web-2", "none to tcp-1@reno"])

    def test_a_curve_has_one_kind_of_queue(self):
        made = [combination(TCP, [level] * 3, queue=queue) for queue, level in
                (("pfifo-10", 50), ("drd-10-20", 1), ("drd-50-60", 2), ("pfifo-20", 60), ("red", 9))]
        self.assertEqual(holds(Results(made), "monotone", axis="queue"), [True, True])
        twice = Results([combination(TCP, [1] * 3, queue=queue) for queue in ("drd-10-20", "drd-10-30", "drd-50-60")])
        [verdict] = judged(twice, "monotone", axis="queue")
        self.assertIsNone(verdict.holds)
        self.assertIn("drd-10-20 and drd-10-30 are one place of the axis 'queue'", verdict.detail)

    def test_numbers_of_a_variant_are_axes(self):
        def results(*names, rate=100.0):
            return Results([combination(Variant.parse(name), [level] * 3, rate=rate) for level, name in enumerate(names, 1)])
        streams = results("sctp-1", "quic-1", "sctp-4", "quic-4", "tcp", "sctp-unordered")
        verdicts = judged(streams, "monotone", axis="streams")
        self.assertEqual([(one.holds, one.detail.partition(":")[0]) for one in verdicts], [(True, "1 to 4")] * 2)
        self.assertEqual([one.where.rpartition(": ")[2] for one in verdicts], ["sctp-1", "quic-1"])
        connections = results("tcp", "tcp@cubic", "tcp-4", "tcp-4@cubic")
        self.assertEqual(holds(connections, "monotone", axis="connections"), [True, True])
        self.assertEqual(holds(connections, "monotone", axis="connections", falls=True), [False, False])
        self.assertEqual(holds(connections, "monotone", axis="rate_per_connection", falls=True), [True, True])

    def test_a_step_of_streams(self):
        levels = {"sctp-1": 100, "sctp-4": 150, "quic-1": 100, "quic-4": 300}
        results = Results([combination(Variant.parse(name), [level] * 3) for name, level in levels.items()])
        sides = {"less": {"variant": Variant.parse("sctp-1")}, "than": {"variant": Variant.parse("quic-1")}}
        self.assertEqual(holds(results, "step", axis="streams", **{"from": 1, "to": 4}, **sides), [True])

    def test_a_step_along_each_kind_of_traffic(self):
        levels = {(TCP, "none"): 10, (TCP, "tcp-2"): 20, (TCP, "web-2"): 90, (SCTP, "none"): 10, (SCTP, "tcp-2"): 40, (SCTP, "web-2"): 30}
        results = Results([combination(variant, [level] * 3, cross=cross) for (variant, cross), level in levels.items()])
        sides = {"less": {"variant": TCP}, "than": {"variant": SCTP}}
        verdicts = judged(results, "step", axis="cross", **{"from": 0, "to": 2}, **sides)
        self.assertEqual([(one.holds, one.detail[:40]) for one in verdicts],
                         [(True, "from 0 to 2: x 2.00 against x 4.00 (-2.0"), (False, "from 0 to 2: x 9.00 against x 3.00 (+6.0")])

    def along(self, *places, **more):
        results = Results([combination(TCP, levels, cross=cross) for cross, levels in zip(("tcp-1", "tcp-2", "tcp-4"), places)], "own")
        [verdict] = judged(results, "monotone", axis="cross", **more)
        return verdict

    def test_a_wide_interval_does_not_show_a_rise(self):
        high, low = [1900, 2019.7, 2500, 1500, 2200, 2000], [1500, 20, 40, 60, 90, 180]
        wide = [10, 4000, 20, 5000, 30, 8000]
        verdict = self.along(wide, low)
        self.assertIsNone(verdict.holds)
        self.assertIn("tcp-1 to tcp-2: 2843.3 against 315.0 ms", verdict.detail)
        self.assertIsNone(self.along(wide, low, falls=True).holds)
        self.assertIsNone(self.along(wide, low, or_alike=True).holds)
        self.assertIs(self.along(high, low[1:]).holds, False)
        # The whole way tells, and the step that does not is said.
        verdict = self.along([1001, 1002, 1003, 1004, 1005, 1006], wide, [90_000 + level for level in low])
        self.assertIs(verdict.holds, True)
        self.assertIn("tcp-1 to tcp-4: 1003.5 against 90315.0 ms", verdict.detail)
        self.assertRegex(verdict.detail, r"tcp-1 to tcp-2: 1003.5 against 2843.3 ms \(-1839.8, .*\), would take about 2 times the sample, cannot be told")
        self.assertNotIn("tcp-2 to tcp-4", verdict.detail)
        self.assertIsNone(self.along([1001, 1002, 1003, 1004, 1005, 1006], wide, [90_000 + level for level in low], or_alike=True).holds)

    def test_a_step_the_other_way_refutes_it(self):
        verdict = self.along([1, 1.1, 0.9], [5, 5.1, 4.9], [3, 3.1, 2.9])
        self.assertIs(verdict.holds, False)
        self.assertIn("tcp-2 to tcp-4: 5.0 against 3.0 ms (+2.0 ± 0.4), the other way", verdict.detail)

    def test_what_was_aborted_is_said_and_leaves_it_open(self):
        def results(*levels, broken):
            made = [combination(TCP, [level] * 3, {"aborted": cross == broken}, cross=cross)
                    for cross, level in zip(("tcp-1", "tcp-2", "tcp-4"), levels)]
            return Results(made)
        for or_alike in (False, True):
            for broken in ("tcp-1", "tcp-2", "tcp-4"):
                [verdict] = judged(results(1, 2, 3, broken=broken), "monotone", axis="cross", or_alike=or_alike)
                self.assertIsNone(verdict.holds)
                self.assertIn(f"{broken}: aborted", verdict.detail)
        self.assertEqual(holds(results(3, 2, 1, broken="tcp-2"), "monotone", axis="cross"), [False])
        two = results(1, 2, broken="tcp-2")
        self.assertEqual([(one.holds, one.detail) for one in judged(two, "monotone", axis="cross")], [(None, "tcp-2: aborted")])

    def test_a_place_without_the_quantity_leaves_it_open(self):
        made = [combination(TCP, [1] * 3, {"parts": {"behind": behind, "messages": 100}} if behind else None, loss_percent=loss)
                for loss, behind in ((0.5, 1.0), (1.0, None), (2.0, 3.0))]
        [verdict] = judged(Results(made), "monotone", axis="loss_percent", quantity="behind")
        self.assertIsNone(verdict.holds)
        self.assertIn("1: not measured", verdict.detail)

    def test_regression(self):
        results = Results([combination(TCP, [10 * loss + error for error in (0.1, -0.1, 0.2, -0.2)], loss_percent=loss,
                                       loss_correlation=correlation)
                           for loss in (1.0, 2.0, 3.0) for correlation in (0.0, 0.5)])
        on = ["loss_percent", "loss_correlation"]
        self.assertEqual(holds(results, "regression", axis="loss_correlation", on=on), [None])
        self.assertEqual(holds(results, "regression", axis="loss_percent", on=on), [False])

    def test_a_regression_without_what_has_one_value(self):
        results = Results([combination(TCP, [10 * loss + error for error in (0.1, -0.1)], loss_percent=loss) for loss in (1.0, 2.0)])
        [verdict] = judged(results, "regression", axis="loss_percent", on=["loss_percent", "delay_ms", "rate"])
        self.assertIs(verdict.holds, False)
        self.assertIn("4 runs; left out, of one value here: delay_ms, rate", verdict.detail)
        [verdict] = judged(results, "regression", axis="rate", on=["loss_percent", "rate"])
        self.assertIsNone(verdict.holds)
        self.assertIn("rate has one value here", verdict.detail)
        off = Results([*results.combinations, *(combination(TCP, [1, 2], queue=queue) for queue in ("red", "codel"))])
        [verdict] = judged(off, "regression", axis="queue", on=["queue", "loss_percent"])
        self.assertEqual((verdict.holds, verdict.detail), (None, "queue has no value here: so few points cannot tell; 4 of 4 places are"
                                                                 " not on each axis of 'on', and left out"))
        on_it = [combination(TCP, [length, length + 1], queue=f"pfifo-{length}") for length in (5, 50)]
        [verdict] = judged(Results([*off.combinations, *on_it]), "regression", axis="queue", on=["queue"])
        self.assertIs(verdict.holds, False)
        self.assertIn("4 runs; 4 of 6 places are not on each axis of 'on', and left out", verdict.detail)
        twice = ["loss_percent", "lose_run"]  # the same in other units
        results = Results([combination(TCP, [loss, loss + 1], loss_percent=loss, lose_run=loss) for loss in (1.0, 2.0)])
        self.assertEqual(holds(results, "regression", axis="loss_percent", on=twice), [None])


class Affected(unittest.TestCase):
    def test_messages_later_than_without_losses(self):
        hit, twin = combination(TCP, [50], lose_run=3.0), combination(TCP, [45])
        hit.times[0][:30] = 45.5
        hit.twin = twin
        self.assertEqual(hit.quantity("affected").value, 70.0)


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
        # The sign test decides where the mean of the runs has no interval: one run that never ends does not.
        endless = Results([combination(TCP, [40, 41, 42, 43, 44, self.INF])])
        self.assertEqual(holds(endless, "bound", quantity="max", below=50), [None])
        self.assertEqual(holds(endless, "bound", quantity="max", above=50), [None])
        most = Results([combination(TCP, [*range(5000, 5007), self.INF, 4000])])
        [verdict] = judged(most, "bound", quantity="max", above=4000)
        self.assertIs(verdict.holds, True)  # one run is neither above nor below
        self.assertIn("∞ ms, above 4000; 8 of 9 runs are above 4000, by their signs p = 0.00781", verdict.detail)
        self.assertEqual(holds(most, "bound", quantity="max", below=4000), [False])
        self.assertEqual(holds(most, "bound", quantity="max", above=4000, below=5003), [None])
        few = Results([combination(TCP, [self.INF] * 5)])
        [verdict] = judged(few, "bound", quantity="max", above=50)
        self.assertIsNone(verdict.holds)  # 2 of 32
        self.assertIn("∞ ms, not certainly above 50; 5 of 5 runs are above 50, by their signs p = 0.0625", verdict.detail)
        self.assertEqual(holds(Results([combination(TCP, [self.INF])]), "bound", quantity="max", above=50), [True])

    def test_differs_by_the_medians_of_the_runs(self):
        self.assertEqual(holds(self.two([1, 2, 3, 4], [5, 6, 7, self.INF]), "differs", **SIDES), [True])
        self.assertEqual(holds(self.two([5, 6, 7, self.INF], [1, 2, 3, 4]), "differs", **SIDES), [False])
        # One run of many that failed does not turn the direction.
        self.assertEqual(holds(self.two([*range(9), self.INF], range(20, 30)), "differs", **SIDES), [True])

    def test_less_and_order(self):
        low, high = [1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, self.INF]
        for seeds in ("shared", "own"):
            for runs, expected in (((low, high), [True]), ((high, low), [False])):
                results = Results(self.two(*runs).combinations, seeds)
                self.assertEqual(holds(results, "less", quantity="p95", **SIDES), expected)
                self.assertEqual(holds(results, "order", order=(UNORDERED, SCTP)), expected)
            # One run that never ends turns nothing.
            once = Results(self.two([50] * 5 + [self.INF], range(400, 406)).combinations, seeds)
            self.assertEqual(holds(once, "less", quantity="p95", **SIDES), [None])
            self.assertEqual(holds(once, "order", order=(UNORDERED, SCTP)), [None])
        self.assertEqual(holds(self.two([1, 2, 3], [5, 6, self.INF]), "less", quantity="p95", **SIDES), [None])
        [verdict] = judged(self.two([1, 2], [self.INF] * 2), "less", quantity="p95", **SIDES)
        self.assertIsNone(verdict.holds)
        self.assertIn("so few runs cannot tell", verdict.detail)
        self.assertEqual(holds(self.two([1], [self.INF]), "order", order=(UNORDERED, SCTP), quantity="max"), [True])  # the values themselves
        self.assertEqual(holds(self.two([self.INF], [1]), "order", order=(UNORDERED, SCTP), quantity="max"), [False])
        self.assertEqual(holds(self.two([self.INF] * 3, [self.INF] * 3), "order", order=(UNORDERED, SCTP)), [None])
        self.assertEqual(holds(self.two([self.INF], [self.INF]), "order", order=(UNORDERED, SCTP), quantity="max"), [None])
        self.assertEqual(holds(self.two([1], [2]), "order", order=(UNORDERED, SCTP), quantity="goodput"), [None])

    def test_along_an_axis(self):
        def results(*levels):
            return Results([combination(TCP, [level] * 6, rate=float(rate)) for rate, level in enumerate(levels, 1)])
        self.assertEqual(holds(results(1, self.INF), "monotone", axis="rate"), [True])
        self.assertEqual(holds(results(self.INF, 1), "monotone", axis="rate"), [False])
        once = Results([combination(TCP, levels, rate=rate) for rate, levels in ((1.0, [9] * 6), (2.0, [5] * 5 + [self.INF]))])
        self.assertEqual(holds(once, "monotone", axis="rate"), [None])  # one run of six turns nothing
        self.assertEqual(holds(results(self.INF, self.INF), "monotone", axis="rate"), [None])
        self.assertEqual(holds(results(1, 2), "monotone", axis="rate", quantity="goodput"), [None])

    def test_a_step(self):
        corners = [combination(variant, levels, loss_percent=loss) for variant, loss, levels in
                   ((SCTP, 2.0, [150] * 6), (SCTP, 3.0, [200] * 6), (UNORDERED, 2.0, [40] * 6),
                    (UNORDERED, 3.0, [39] * 5 + [self.INF]))]
        self.assertEqual(holds(Results(corners), "step", axis="loss_percent", **{"from": 2, "to": 3}, **SWAPPED), [None])

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

    def test_what_never_ends_in_one_run_differs_by_no_amount(self):
        [verdict] = judged(self.two([1] * 6, [1] * 5 + [self.INF]), "equal", quantity="p95", tolerance_ms=1)
        self.assertEqual((verdict.holds, verdict.detail), (None, "they differ by ∞ ms"))
        self.assertEqual(holds(self.two([1] * 6, [1.5] * 6), "equal", quantity="p95", tolerance_ms=1), [True])

    def test_a_regression_of_ranks(self):
        for levels, expected in (((1, 2, 3, 4), [False]), ((2, 2, 2, 2), [None])):
            results = Results([combination(TCP, [level] * 5 + [self.INF], loss_percent=float(loss))
                               for loss, level in enumerate(levels)])
            [verdict] = judged(results, "regression", axis="loss_percent", on=["loss_percent"])
            self.assertEqual([verdict.holds], expected, levels)
            self.assertIn(" of the ranks, t = ", verdict.detail)

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
        for kind, quantity in (("less", "p95"), ("less", "mean"), ("differs", "p95"), ("alike", "p95"), ("alike", "mean"),
                               ("identical", "p95")):
            self.assertIsNone(self.holds(kind, quantity=quantity, **SIDES))
            self.assertIsNone(self.holds(kind, quantity=quantity, **SWAPPED))
        self.assertIsNone(self.holds("bound", below=50))
        self.assertIsNone(self.holds("regression", axis="rate", on=["rate"]))

    def test_a_step(self):
        results = Results([combination(variant, [level] * 3, {"aborted": (variant, loss) == (UNORDERED, 3.0)},
                                       loss_percent=loss)
                           for variant, loss, level in ((UNORDERED, 2.0, 40), (UNORDERED, 3.0, 120), (SCTP, 2.0, 150),
                                                        (SCTP, 3.0, 200))])
        self.assertEqual(holds(results, "step", axis="loss_percent", **{"from": 2, "to": 3}, **SWAPPED), [None])


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
        self.assertIn("(-1.0 ± 50.5), -1.0 (-1.2 to -0.9) by pairs of runs", verdict.detail)
        self.assertEqual(holds(less, "order", order=(UNORDERED, SCTP)), [True])
        self.assertEqual(holds(Results(less.combinations, "own"), "less", quantity="p95", **SIDES), [None])
        self.assertEqual(holds(self.two([10, 20, 30], [11, 21.1, 31], [0, 1, 3]), "less", quantity="p95", **SIDES), [None])

    def test_the_interval_within_one_run_counts(self):
        results = Results([combination(UNORDERED, [1]), combination(SCTP, [5])])
        wide = numpy.random.default_rng(1)
        for made, centre in zip(results.combinations, (500, 501)):
            made.times[0] = centre + wide.normal(0, 50, 2000)
        self.assertEqual(holds(results, "order", order=(UNORDERED, SCTP), quantity="p95"), [None])


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
        self.assertEqual(holds(self.two(-1, seeds="own"), "less", quantity="p99", **SIDES), [None])
        [verdict] = judged(self.two(-1, late=0.5), "less", quantity="p99", **SIDES)
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
        self.assertEqual(account.summary_of(verdicts), "holds at 1, does not hold at 1; alike within 1 % at 1 of these.")


class Shared(unittest.TestCase):
    """Runs of a transport that a profile does not concern are those of another profile."""

    def setUp(self):
        runs = {(variant, loss): combination(variant, [level + loss] * 3, loss_percent=loss)
                for variant, level in ((UNORDERED, 20), (SCTP, 40)) for loss in (1, 2)}
        self.modern, self.tuned = list(runs.values()), [self.under("tuned", one) for one in runs.values()]

    def under(self, profile, one):
        return replace(one, conditions=replace(one.conditions, profile=profile))

    def places(self, results, kind, **expectation):
        return [verdict.where for verdict in judged(Results(results), kind, **expectation)]

    def test_a_place_without_runs_of_its_own_is_not_judged(self):
        for kind, expectation, count in (("less", SIDES, 2), ("bound", {"below": 30}, 4), ("monotone", {"axis": "loss_percent"}, 2),
                                         ("equal", {"tolerance_ms": 1}, 2), ("identical", SIDES, 2),
                                         ("step", {**SIDES, "axis": "loss_percent", "from": 1, "to": 2}, 1)):
            with self.subTest(kind):
                alone = self.places(self.modern, kind, **expectation)
                self.assertEqual(len(alone), count)
                self.assertEqual(self.places(self.modern + self.tuned, kind, **expectation), alone)

    def test_nor_is_it_a_point_of_its_own(self):
        for judge in (Figures.not_carried, lambda figures: figures.near_model(percent=5),
                      lambda figures: figures.independent_of("loss_percent", on=["loss_percent"])):
            alone, both = ([(one.where, one.detail) for one in judge(Figures(Results(results), {}, "mean", {}))]
                           for results in (self.modern, self.modern + self.tuned))
            self.assertTrue(alone)
            self.assertEqual(both, alone)

    def test_a_profile_is_not_compared_with_itself(self):
        self.assertEqual(self.places(self.modern + self.tuned, "less", less={"profile": "tuned"}, than={"profile": "modern"}), [])

    def test_a_place_with_one_variant_of_its_own_is(self):
        own = [combination(SCTP, [50] * 3, profile="tuned", loss_percent=loss) for loss in (1, 2)]
        for kind, expectation in (("less", SIDES), ("equal", {"tolerance_ms": 1})):
            self.assertEqual(len(self.places(self.modern + self.tuned[:2] + own, kind, **expectation)), 4)


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
        [verdict] = judged(results, "bound", quantity="goodput", below=1, runs="every")
        self.assertEqual((verdict.holds, verdict.detail), (None, "not measured"))

    def test_what_leaves_messages_out_cannot_be_told(self):
        results = Results([combination(TCP, [1, 2, 3])])
        results.combinations[0].times[0][:5] = math.inf
        [verdict] = judged(results, "bound", quantity="mean", below=1, runs="every")
        self.assertEqual((verdict.holds, verdict.detail), (None, "cannot be told, without 5 unanswered messages"))


class Rehearsals(unittest.TestCase):
    """What a claim says of things that are not measured is found before a run."""

    def trial(self, claim, *, replications=4, **matrix):
        made = trial.made(dict(workload="echo", matrix=dict(variant=["sctp-1", "sctp-unordered", "tcp"], **matrix),
                               quick=dict(count=100, replications=replications), full=dict(count=100, replications=4)))
        made.claim("X", "x", claim)
        rehearse(made)

    def wrong(self, words, claim, **more):
        with self.assertRaisesRegex(ScenarioError, words):
            self.trial(claim, **more)

    def test_what_is_measured_is_good(self):
        self.trial(lambda r: r.p95("sctp-unordered").faster_than(r.p95("sctp-1")))

    def test_unknown_things(self):
        self.wrong("unknown quantity 'p96'; known are mean", lambda r: r.p96() < 1)
        self.wrong("unknown dimension 'colour'", lambda r: r.p95(colour=1) < 1)
        self.wrong("unknown variant 'dccp'", lambda r: r.p95("dccp") < 1)
        self.wrong("unknown axis 'colour'", lambda r: r.p95().rises_along("colour"))
        self.wrong("no point has variant sctp-4; they have sctp-1, sctp-unordered, tcp", lambda r: r.p95("sctp-4") < 1)
        self.wrong("'carried' is of the sip workload", lambda r: r.carried() > 1)
        self.wrong("'axis|rate' must be one of 'on'", lambda r: r.p95().independent_of("rate", on=["loss_percent"]))

    def test_sides_and_places(self):
        self.wrong("the two sides are the same", lambda r: r.p95("tcp") < r.p95("tcp"))
        self.wrong("no curve along loss_percent has two places", lambda r: r.p95().rises_along("loss_percent"))
        self.wrong("no curve along loss_percent has 1 and 9; they have 1, 2",
                   lambda r: r.p95("tcp").flatter_than(r.p95("sctp-1"), "loss_percent", 1, 9), loss_percent=[1, 2])
        self.wrong("verdicts are neither true nor false", lambda r: 1 < r.p95() < 2)

    def test_what_is_not_compared(self):
        self.wrong("figures are compared with those of the same quantity", lambda r: r.p95("tcp") < r.mean("sctp-1"))
        self.wrong("or by < and > with numbers", lambda r: r.p95("tcp") <= 5)
        self.wrong("only the greater side can have a factor", lambda r: 2 * r.p95("tcp") < r.p95("sctp-1"))
        self.wrong("only the greater side can have a factor", lambda r: r.p95("tcp").like(2 * r.p95("sctp-1")))
        self.wrong("only figures that are compared with others have a factor", lambda r: 2 * r.p95("tcp") < 5)
        for claim in (lambda r: r.p95().within(), lambda r: r.p95().within(below=1, above=2)):
            self.wrong("give 'below' or 'above', or both with", claim)
        self.wrong("this is a statement about means", lambda r: r.p95().near_model(percent=5))
        self.wrong("claim X returns False; it must return a comparison", lambda r: r.p95("tcp") == r.p95("sctp-1"))
        self.trial(lambda r: r.p95("tcp") < 2 * r.p95("sctp-1"))

    def test_few_runs(self):
        self.wrong("p95 cannot be told with 3 runs: give 'replications' of 4", lambda r: r.p95("tcp").like(r.p95("sctp-1")), replications=3)
        self.wrong("p95 cannot be told with 3 runs", lambda r: r.p95("tcp").faster_than(r.p95("sctp-1")), replications=3)
        self.wrong("max cannot be told with 2 runs: give 'replications' of 3", lambda r: r.max("tcp") < r.max("sctp-1"), replications=2)
        self.trial(lambda r: r.mean("tcp").like(r.mean("sctp-1")), replications=3)
