"""Statements about figures, judged place by place: less, different or alike, bounds, orders, steps, dependences, and the model.
Most are methods of claims.Figures."""

import itertools
import math
from dataclasses import replace

import numpy

from ..measure import statistics, tests_of_runs
from ..measure.quantities import QUANTITIES
from ..scenario.conditions import axis_value, check_axis_name, curves_along
from . import wording
from .prediction import predicted
from .verdicts import (PAIRS_MIN, Comparison, Verdict, Verdicts, aborted_ones, below, compare, could_turn, each_once, gap_between,
                       joined, left_out, named, once, pairs, runs_of, unless_turned, without_consequence)

SIDES = {"below": 1, "above": -1}
RUNS_OF_TESTS = next(runs for runs in range(1, 9)
                     if tests_of_runs.ks_probability(runs, runs, runs * runs) < tests_of_runs.LEVEL)  # that can reject at all
CERTAIN = {True: "", False: "not ", None: "not certainly "}
OF_RUNS = {"every": lambda good, count: good == count, "some": lambda good, count: good > 0}


def tested(a, b, where, quantity):
    """Returns the Verdict that `a` and `b` differ, by the test of Kolmogorov and Smirnov on what each of their runs has."""
    if aborted := aborted_ones(a, b):
        return Verdict(None, where, aborted)
    left, right = runs_of(a, quantity), runs_of(b, quantity)
    if not left or not right:
        return Verdict(None, where, "not measured")
    result = tests_of_runs.ks_test(left, right)
    unit = QUANTITIES[quantity].unit
    medians = " against ".join(wording.figure(float(numpy.median(values))) for values in (left, right))
    shown = (f"{medians} {unit} (medians of the runs), D = {result.statistic:.2f}, p = {result.p:.3g}, {len(left)} and"
             f" {len(right)} runs")
    if not result.can_reject:
        return Verdict(None, where, f"{shown}: so few runs cannot tell")
    if result.rejects:
        return Verdict(True, where, shown, tests=1)
    return Verdict(None, where, f"{shown}: no difference shown, as D of {result.least:.2f} or more would be", tests=1, no_difference=True)


def grouped(combinations, key):
    """Returns {key of a combination: those that have it}."""
    groups = {}
    for one in combinations:
        groups.setdefault(key(one), []).append(one)
    return groups


def place(a, b, dimensions, sign):
    return f"{a.conditions.place}: {named(a, dimensions)} {sign} {named(b, dimensions)}"


def pairs_of(lesser, greater, sign):
    """Returns [(a, b, where)] of the places of two figures."""
    dimensions = list(dict.fromkeys((*lesser.sides, *greater.sides)))
    return [(a, b, place(a, b, dimensions, sign)) for a, b in once(pairs(lesser, lesser.sides, greater.sides))]


def less(lesser, greater, or_alike=False):
    """The first are less; with `or_alike`, or alike."""
    def verdict(a, b, where):
        found = compare(a, b, lesser.quantity, greater.factor, lesser.shared)
        alike = found.alike and not found.holds
        return Verdict(True if alike and or_alike else found.holds, where, found.detail, alike, found.tests)

    lesser.comparable(greater, of_intervals=True, factor=True)
    return Verdicts(itertools.starmap(verdict, pairs_of(lesser, greater, "<")))


def not_carried(figures):
    """The offered load is more than is carried: every run is aborted."""
    def verdict(one):
        aborted = sum(run["aborted"] for run in one.runs)
        holds = True if aborted == len(one.runs) else False if not aborted else None
        return Verdict(holds, f"{one.conditions.place}: {one.conditions.variant}", f"{aborted} of {len(one.runs)} runs aborted")

    return Verdicts(map(verdict, each_once(figures.selected())))


def equal(figures, *, within_ms):
    """All variants at a place certainly differ by no more than that: the whole interval of each pair's difference, or the difference of
    one run each that has none."""
    quantity, verdicts = figures.quantity, Verdicts()
    for group in once(grouped(figures.selected(), lambda one: one.conditions.without("variant")).values()):
        if len(group) < 2:
            continue
        if aborted := aborted_ones(*group):
            verdicts.append(Verdict(None, group[0].conditions.place, aborted))
            continue
        gaps = [gap_between(a, b, quantity, figures.shared)[0] for a, b in itertools.combinations(group, 2)]
        alone = all(len(one.each) == 1 for one in group) and not QUANTITIES[quantity].within_run
        near = [sizes(gap, alone) for gap in gaps]
        holds = False if any(least > within_ms for least, _ in near) else all(most <= within_ms for _, most in near) or None
        if any(combination.leaves_out(quantity) for combination in group):
            holds = None
        widest = max(gaps, key=lambda gap: sizes(gap, alone)[1])
        words = f" ({wording.ends(widest, 2)})" if math.isfinite(widest.half_width) else ""
        verdicts.append(Verdict(holds, group[0].conditions.place, f"they differ by {wording.figure(abs(widest.value), 2)} ms{words}"
                                f"{left_out(*group, quantity=quantity)}", tests=sum(math.isfinite(gap.half_width) for gap in gaps)))
    return verdicts


def sizes(gap, alone):
    """Returns how large a difference is at least and at most, by its interval; a difference without one is what it is if it is of one
    run each, and the quantity is of whole runs (`alone`), and else unknown."""
    if math.isnan(gap.low):
        return (abs(gap.value),) * 2 if alone and math.isfinite(gap.value) else (0.0, math.inf)
    return max(gap.low, -gap.high, 0.0), max(-gap.low, gap.high)


def check_means(figures):
    if figures.quantity != "mean":
        raise ValueError("this is a statement about means: write r.mean()")


def near_model(figures, *, percent, above_only=False):
    """The whole interval of the mean is within `percent` of equation 5, in its valid range, or is at most that far above it. It does not
    hold if the whole interval is outside."""
    check_means(figures)
    verdicts = Verdicts()
    for combination in each_once(figures.selected()):
        prediction = predicted(combination.conditions)
        if prediction is None or not prediction[1]:
            continue
        where = f"{combination.conditions.place}: {combination.conditions.variant}"
        if aborted := aborted_ones(combination):
            verdicts.append(Verdict(None, where, aborted))
            continue
        mean, model = combination.mean, prediction[0]
        limits = {"below": (1 + percent / 100) * model} | ({} if above_only else {"above": (1 - percent / 100) * model})
        sides = [on_side(mean, SIDES[side], limit) for side, limit in limits.items()]
        holds = False if False in sides else None if None in sides else True
        if math.isnan(mean.low) or combination.leaves_out("mean") and sides[0] is not False:  # with the others it is higher
            holds = None
        verdicts.append(Verdict(holds, where,
                                f"{amount(mean, 'ms')}, model {model:.1f} ms ({100 * (mean.value / model - 1):+.1f} %)"
                                + (sample_for(mean, limits) if holds is None else ""), tests=1))
    return verdicts


def sample_for(estimate, limits):
    """Returns how much larger a sample would tell on which sides of the limits an estimate is; empty if it is known."""
    gaps = [statistics.difference(estimate, statistics.Estimate(limit, 0.0)) for limit in limits.values()]
    nearest_first = sorted(gaps, key=lambda gap: abs(gap.value))  # which takes the largest sample
    return next(filter(None, map(wording.sample_to_tell, nearest_first)), "")


def faster(a, b, where, quantity, shared):
    """Returns the Verdict that the test tells `a` from `b`, and a's median is less. If it does not tell them apart, that does not show
    that they are alike; an interval can."""
    found = tested(a, b, where, quantity)
    holds, detail = None, found.detail + left_out(a, b, quantity=quantity)
    if found.holds:
        left, right = (float(numpy.median(runs_of(side, quantity))) for side in (a, b))
        holds = None if left == right else left < right
    elif found.no_difference and (gap := compare(a, b, quantity, shared=shared)).alike:
        holds, detail = False, f"{detail}; {gap.detail}: of no consequence"
    return Verdict(holds, where, detail, tests=found.tests)


def faster_than(lesser, greater):
    """The first are faster: the test rejects that both are the same, and the median of their runs is less."""
    lesser.comparable(greater, of_runs=RUNS_OF_TESTS)
    return Verdicts(faster(*pair, lesser.quantity, lesser.shared) for pair in pairs_of(lesser, greater, "<"))


def alike_means(a, b, where, shared):
    """Returns the Verdict that means are alike: their difference is of no consequence; that 0 is within its interval does not show
    it."""
    if aborted := aborted_ones(a, b):
        return Verdict(None, where, aborted)
    gap, how = gap_between(a, b, "mean", shared)
    detail = f"they differ by {wording.figure(gap.value, 2, '+')} ms ({wording.ends(gap, 2)}){how}"
    detail += left_out(a, b, quantity="mean")
    if math.isnan(gap.low) or a.leaves_out("mean") or b.leaves_out("mean"):
        return Verdict(None, where, detail)
    margin = without_consequence(a.mean, b.mean, "ms")
    if max(abs(gap.low), abs(gap.high)) <= margin:
        return Verdict(True, where, f"{detail}: certainly at most {margin:.2g} ms, which counts as alike", tests=1)
    if gap.low <= 0 <= gap.high:
        detail += (f": no difference shown by {len(a.each)} and {len(b.each)} runs, as one of {(gap.high - gap.low) / 2:.2f} ms or more"
                   " would be")
        return Verdict(None, where, detail, tests=1, no_difference=True)
    return Verdict(False if min(abs(gap.low), abs(gap.high)) > margin else None, where, detail, tests=1)


def alike(a, b, where, quantity, shared):
    """Returns the Verdict that both are alike: the test does not tell them apart, and an interval shows that this is so."""
    if quantity == "mean":
        return alike_means(a, b, where, shared)
    found = tested(a, b, where, quantity)
    if found.holds:
        return replace(found, holds=False)
    if found.no_difference and (gap := compare(a, b, quantity, shared=shared)).alike:
        return replace(found, holds=True, detail=f"{found.detail}; {gap.detail}", no_difference=False)
    return found


def like(one, other):
    """Both are alike but for what is of no consequence. That a test does not tell them apart does not show it."""
    one.comparable(other, of_runs=0 if one.quantity == "mean" else RUNS_OF_TESTS)
    return Verdicts(alike(*pair, one.quantity, one.shared) for pair in pairs_of(one, other, "="))


def identical_to(one, other):
    """Every run has the very samples of the other one, and no queue dropped anything."""
    one.comparable(other)
    verdicts = Verdicts()
    for a, b, where in pairs_of(one, other, "="):
        if aborted := aborted_ones(a, b):
            verdicts.append(Verdict(None, where, aborted))
            continue
        both = joined(a, b)
        same = sum(numpy.array_equal(x.times, y.times) for x, y in both)
        dropped = sum(sum(run.record.get("queue", {}).get("dropped", {}).values()) for run in (*a.each, *b.each))
        alone = len(a.each) + len(b.each) - 2 * len(both)  # runs whose counterpart was not measured
        holds = False if same < len(both) or dropped else None if alone else True
        verdicts.append(Verdict(holds, where,
                                f"{same} of {len(both)} runs have the same samples; the queues dropped {dropped} packets"
                                + (f"; {alone} runs have no counterpart" if alone else "")))
    return verdicts


def on_side(found, sign, limit):
    """Returns whether an estimate, with its interval, is below (sign 1) or above (-1) a limit; None if that cannot be told."""
    if math.isnan(found.value):
        return None
    ends = (found.value,) if math.isnan(found.low) or math.isnan(found.high) else (found.low, found.high)
    off = [sign * (end - limit) for end in ends]
    return True if max(off) < 0 else False if min(off) > 0 else None


def by_signs(values, side, limit):
    """Returns whether the runs are on a side of a limit, and words; None if the sign test leaves it open. It takes the place
    of an interval, which a mean that is not finite has not."""
    gaps = [SIDES[side] * (limit - value) for value in values]
    p, good = tests_of_runs.sign_test(gaps), sum(gap > 0 for gap in gaps)
    holds = 2 * good > sum(gap != 0 for gap in gaps) if p < tests_of_runs.LEVEL else None
    return holds, f"; {good} of {len(values)} runs are {side} {limit:g}, by their signs p = {p:.3g}"


def amount(found, unit, limits=()):
    """Returns an estimate in words, with its interval if it has one, and with digits that tell it from the limits."""
    if math.isnan(found.value):
        return wording.figure(found.value)
    return f"{wording.with_interval(found, wording.digits(found.value, limits))} {unit}".rstrip()


def within(figures, *, below=None, above=None, rtts=0, runs=""):
    """The quantity, with its interval, is below or above a number; with `rtts`, of so many round-trip times more. With `runs`, that
    of "every" run is, or of "some"."""
    if below is None and above is None or None not in (below, above) and above >= below:
        raise ValueError("give 'below' or 'above', or both with 'above' less than 'below'")
    quantity, verdicts = figures.quantity, Verdicts()
    for combination in each_once(figures.selected()):
        where = f"{combination.conditions.place}: {combination.conditions.variant}"
        if aborted := aborted_ones(combination):
            verdicts.append(Verdict(None, where, aborted))
            continue
        more = rtts * 2 * combination.conditions.delay_ms
        limits = {side: limit + more for side, limit in (("below", below), ("above", above)) if limit is not None}
        words = " and ".join(f"{side} {limit:g}" for side, limit in limits.items())
        judge = bound_of_runs if runs else bound_of_estimate
        holds, detail = judge(combination, quantity, limits, words, runs)
        verdicts.append(Verdict(holds, where, detail + left_out(combination, quantity=quantity), tests=int(not runs)))
    return verdicts


def bound_of_estimate(combination, quantity, limits, words, _):
    found, values, holds, more = combination.quantity(quantity), runs_of(combination, quantity), True, ""
    for side, limit in limits.items():
        if math.isinf(found.value) and len(values) > 1:  # one of them may be the only one that never ends
            here, said = by_signs(values, side, limit)
            more += said
        else:
            here = on_side(found, SIDES[side], limit)
        if could_turn(combination, quantity, is_below=here is (side == "below")):
            here = None
        holds = False if False in (holds, here) else None if None in (holds, here) else True
    if holds is None:
        more += sample_for(found, limits)
    return holds, f"{amount(found, QUANTITIES[quantity].unit, limits.values())}, {CERTAIN[holds]}{words}{more}"


def bound_of_runs(combination, quantity, limits, words, which):
    """Counts the runs on that side: a statement about every run, or about some, needs no interval."""
    values = runs_of(combination, quantity)
    if not values:
        return None, "not measured"
    if combination.leaves_out(quantity):
        return None, "cannot be told"
    good = sum(all(SIDES[side] * (limit - value) > 0 for side, limit in limits.items()) for value in values)
    holds = OF_RUNS[which](good, len(values))
    return holds, f"{good} of {len(values)} runs are {words} {QUANTITIES[quantity].unit}".rstrip()


def increasing(*groups):
    """Each is below the next, beyond the intervals; of one run each that has none, simply below it."""
    steps = list(zip(groups, groups[1:]))
    for lesser, greater in steps:
        lesser.comparable(greater)
    return Verdicts(below_next(*pair, lesser.quantity, lesser.shared) for lesser, greater in steps
                    for pair in pairs_of(lesser, greater, "<"))


def below_next(a, b, where, quantity, shared):
    found = by_value(a, b, quantity) or compare(a, b, quantity, shared=shared)
    return Verdict(found.holds, where, found.detail, tests=found.tests)


def by_value(a, b, quantity):
    """Returns the Comparison of one run each without an interval, or None if there are more or they have one."""
    left, right = a.quantity(quantity), b.quantity(quantity)
    no_interval = math.isnan(left.half_width) or math.isnan(right.half_width)
    if len(a.each) > 1 or len(b.each) > 1 or not no_interval or aborted_ones(a, b):
        return None
    unit, known = QUANTITIES[quantity].unit, left.value != right.value and not math.isnan(left.value + right.value)
    shown = (f"{wording.figure(left.value)} against {wording.figure(right.value)} {unit}".rstrip() + left_out(a, b, quantity=quantity)
             + ", one run each")
    if math.isfinite(left.value) and math.isfinite(right.value) and not (a.leaves_out(quantity) or b.leaves_out(quantity)):
        margin = without_consequence(left, right, unit)
        if abs(left.value - right.value) <= margin:
            return Comparison(False, f"{shown}, alike within {margin:.2g} {unit}".rstrip(), not_above=True, not_below=True, tests=0)
    return Comparison(unless_turned(left.value < right.value if known else None, a, b, quantity), shown, tests=0)


def steps_of(curves, a, b, axis, end, dimensions):
    """Returns [(a, a's end, b, b's end)]: the combinations at the `end` of the curves that `a` and `b` are on, if these differ in
    the `dimensions` only."""
    ends = [[one for curve in curves if any(start is one for one in curve) for one in curve
             if axis_value(one.conditions, axis) == end] for start in (a, b)]
    return [(a, left, b, right) for left, right in itertools.product(*ends)
            if left.conditions.without(*dimensions) == right.conditions.without(*dimensions)]


def gap_of_rises(corners, quantity):
    """Returns how much more the quantity rises from the first corner to the second than from the third to the fourth, by pairs of
    runs with the same seeds; None if there are not enough."""
    runs = [dict(zip(corner.numbers, corner.per_run(quantity))) for corner in corners]
    if len(runs[0]) < PAIRS_MIN or any(one.keys() != runs[0].keys() or not all(map(math.isfinite, one.values())) for one in runs):
        return None
    return tests_of_runs.paired(*([after[number] - before[number] for number in before]
                                  for before, after in (runs[:2], runs[2:])))


def flatter_than(lesser, greater, axis, start, end, *, added=False):
    """From one value of an axis to another, the second curve rises by a greater factor than the first; with `added`, by more."""
    lesser.comparable(greater, of_intervals=True)
    lesser.check_axis(axis, start, end)
    quantity, curves = lesser.quantity, curves_along(lesser.select({}), axis)
    of, unit = statistics.difference if added else statistics.ratio, QUANTITIES[quantity].unit
    begin = [(a, b) for a, b in pairs(lesser, lesser.sides, greater.sides)
             if all(axis_value(one.conditions, axis) == float(start) for one in (a, b))]
    dimensions = list(dict.fromkeys((*lesser.sides, *greater.sides)))
    verdicts = Verdicts()
    for corners in once(itertools.chain.from_iterable(steps_of(curves, a, b, axis, float(end), dimensions) for a, b in begin)):
        where = place(corners[0], corners[2], dimensions, "flatter than")
        if aborted := aborted_ones(*corners):
            verdicts.append(Verdict(None, where, aborted))
            continue
        at = [corner.quantity(quantity) for corner in corners]
        flat, steep = (of(at[1], at[0]), of(at[3], at[2]))
        gap = (added and lesser.shared and gap_of_rises(corners, quantity)) or statistics.difference(flat, steep)
        unknown = any(corner.leaves_out(quantity) for corner in corners)
        words = " against ".join(f"{wording.figure(rise.value, 2, '+')} {unit}".rstrip() if added else
                                 f"x {wording.figure(rise.value, 2)}" for rise in (flat, steep))
        verdicts.append(Verdict(None if unknown else below(gap), where, f"from {start} to {end}: {words}"
                                f" ({wording.gap(gap, 2)}){left_out(*corners, quantity=quantity) or wording.sample_to_tell(gap)}", tests=1))
    return verdicts


def independent_of(figures, axis, *, on):
    """By least squares on the axes `on`, the quantity of a run does not depend on `axis`: its coefficient may be 0. What has the same
    value everywhere is left out, as the constant term already stands for it; so are places that are not on one of the axes."""
    if axis not in on:
        raise ValueError(f"'{axis}' must be one of 'on'")
    for name in on:
        check_axis_name(name)
    chosen = each_once(figures.selected())
    placed = [combination for combination in chosen
              if not any(math.isnan(axis_value(combination.conditions, name)) for name in on)]
    if aborted := aborted_ones(*placed):
        return Verdicts([Verdict(None, axis, aborted)])
    runs = [(combination, value) for combination in placed for value in runs_of(combination, figures.quantity)]
    columns, y = {name: [axis_value(one.conditions, name) for one, _ in runs] for name in on}, [value for _, value in runs]
    missing = len(chosen) - len(placed)
    off = f"; {missing} of {len(chosen)} places are not on each axis of 'on', and left out" if missing else ""
    same = [name for name, values in columns.items() if len(set(values)) < 2]
    if axis in same:
        return Verdicts([Verdict(None, axis, f"{axis} has {'one' if placed else 'no'} value here: so few points cannot tell{off}")])
    ranks = "" if all(map(math.isfinite, y)) else " of the ranks"
    left = f"; left out, of one value here: {', '.join(same)}" if same else ""
    try:
        found = tests_of_runs.regression({name: columns[name] for name in columns if name not in same}, y)[axis]
    except ValueError as error:
        return Verdicts([Verdict(None, axis, f"{error}{left}{off}")])
    independent = found.p >= tests_of_runs.LEVEL
    return Verdicts([Verdict(None if independent else False, axis, tests=1, no_difference=independent, detail=
                             f"coefficient {found.value:.3g}{ranks}, t = {found.t:.2f}, p = {found.p:.3g}, {len(y)} runs{left}{off}")])
