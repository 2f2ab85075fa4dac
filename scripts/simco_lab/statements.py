"""Statements about several runs, judged: which figures differ and which do not, bounds, orders, steps, and how a quantity
moves along an axis."""

import math

import numpy

from . import statistics, tests_of_runs, wording
from .conditions import axis_value
from .quantities import QUANTITIES
from .verdicts import (NEGLIGIBLE_MS, Verdict, aborted_ones, below, by_pairs, compare, joined, left_out, named, pairs,
                       unless_more)

QUANTITY = "p95"  # of a run, unless the expectation names another


SIDES = {"below": 1, "above": -1}
OF_RUNS = {"every": lambda good, count: good == count, "some": lambda good, count: good > 0}


def quantity_of(expectation):
    return expectation.get("quantity", QUANTITY)


def runs_of(combination, quantity):
    return [value for value in combination.per_run(quantity) if not math.isnan(value)]


def tested(a, b, quantity):
    """Returns the test of Kolmogorov and Smirnov on what each run of `a` and of `b` has, and its words; or None, and
    why."""
    if aborted := aborted_ones(a, b):
        return None, aborted
    left, right = runs_of(a, quantity), runs_of(b, quantity)
    if not left or not right:
        return None, "not measured"
    result = tests_of_runs.ks_test(left, right)
    unit = QUANTITIES[quantity].unit
    medians = " against ".join(wording.figure(float(numpy.median(values))) for values in (left, right))
    shown = (f"{medians} {unit} (medians of the runs), D = {result.statistic:.2f}, p = {result.p:.3g}, {len(left)} and"
             f" {len(right)} runs")
    if not result.can_reject:
        return None, f"{shown}: so few runs cannot tell"
    return result, shown


def place(a, b, expectation, sign):
    return f"{a.conditions.place}: {named(a, expectation)} {sign} {named(b, expectation)}"


def in_share(verdicts, expectation):
    """Returns one verdict if the statement is about a share of the places: whether more of them hold."""
    if "share" not in expectation or not verdicts:
        return verdicts
    told = [verdict for verdict in verdicts if verdict.holds is not None]
    good = sum(verdict.holds for verdict in told)
    holds = good > expectation["share"] * len(told) if told else None
    return [Verdict(holds, "all places", f"{good} of {len(told)} that can be told; {len(verdicts) - len(told)} cannot")]


def check_differs(results, expectation):
    """The first are faster: the test rejects that both are the same, and the median of their runs is less."""
    verdicts = []
    for a, b in pairs(results, expectation):
        quantity = quantity_of(expectation)
        result, detail = tested(a, b, quantity)
        holds = result and result.rejects and bool(
            numpy.median(runs_of(a, quantity)) < numpy.median(runs_of(b, quantity)))
        verdicts.append(Verdict(holds, place(a, b, expectation, "<"), detail + left_out(a, b, quantity=quantity)))
    return in_share(verdicts, expectation)


def alike(a, b, quantity, shared):
    if quantity != "mean":
        result, detail = tested(a, b, quantity)
        return result and not result.rejects, detail
    if aborted := aborted_ones(a, b):
        return None, aborted
    paired = by_pairs(a, b, quantity) if shared else None
    gap = paired[0] if paired else statistics.difference(a.mean, b.mean)
    detail = f"they differ by {wording.figure(gap.value, 2, '+')} ms ({wording.ends(gap, 2)})" + (" by pairs" if paired else "")
    unknown = math.isnan(gap.low) or a.leaves_out(quantity) or b.leaves_out(quantity)
    same = gap.low <= 0 <= gap.high or abs(gap.value) <= NEGLIGIBLE_MS
    return None if unknown else same, detail + left_out(a, b, quantity=quantity)


def check_alike(results, expectation):
    """The test does not reject that both are the same; for means, 0 is within the interval of the difference."""
    shared = results.scenario.setup.seeds == "shared"
    verdicts = []
    for a, b in pairs(results, expectation):
        holds, detail = alike(a, b, quantity_of(expectation), shared)
        verdicts.append(Verdict(holds, place(a, b, expectation, "="), detail))
    return in_share(verdicts, expectation)


def check_identical(results, expectation):
    """Every run has the very samples of the other one, and no queue dropped anything."""
    verdicts = []
    for a, b in pairs(results, expectation):
        if aborted := aborted_ones(a, b):
            verdicts.append(Verdict(None, place(a, b, expectation, "="), aborted))
            continue
        both = joined(a, b)
        same = sum(numpy.array_equal(x.times, y.times) for x, y in both)
        dropped = sum(sum(run.record.get("queue", {}).get("dropped", {}).values()) for run in (*a.each, *b.each))
        alone = len(a.each) + len(b.each) - 2 * len(both)  # runs whose counterpart was not measured
        holds = False if same < len(both) or dropped else None if alone else True
        verdicts.append(Verdict(holds, place(a, b, expectation, "="),
                                f"{same} of {len(both)} runs have the same samples; the queues dropped {dropped} packets"
                                + (f"; {alone} runs have no counterpart" if alone else "")))
    return verdicts


def within(found, sign, limit):
    """Returns whether an estimate, with its interval, is below (sign 1) or above (-1) a limit; None if that cannot be told."""
    off = sign * (found.value - limit)
    width = 0.0 if math.isnan(found.half_width) or math.isinf(off) else found.half_width
    return None if math.isnan(off) else True if off + width < 0 else False if off - width > 0 else None


def amount(found, unit):
    """Returns an estimate in words, with its interval if it has one."""
    if math.isnan(found.value):
        return wording.figure(found.value)
    width = f" ± {found.half_width:.1f}" if math.isfinite(found.half_width) else ""
    return f"{wording.figure(found.value)}{width} {unit}".rstrip()


def check_bound(results, expectation):
    """The quantity, with its interval, is below or above a number; with `rtts`, of so many round-trip times more."""
    quantity = quantity_of(expectation)
    verdicts = []
    for combination in results.select(expectation.get("where", {})):
        where = f"{combination.conditions.place}: {combination.conditions.variant}"
        if aborted := aborted_ones(combination):
            verdicts.append(Verdict(None, where, aborted))
            continue
        more = expectation.get("rtts", 0) * 2 * combination.conditions.delay_ms
        limits = {side: expectation[side] + more for side in SIDES if side in expectation}
        words = " and ".join(f"{side} {limit:g}" for side, limit in limits.items())
        judge = bound_of_runs if "runs" in expectation else bound_of_estimate
        holds, detail = judge(combination, quantity, limits, words, expectation.get("runs"))
        verdicts.append(Verdict(holds, where, detail + left_out(combination, quantity=quantity)))
    return in_share(verdicts, expectation)


def bound_of_estimate(combination, quantity, limits, words, _):
    found, holds = combination.quantity(quantity), True
    for side, limit in limits.items():
        here = within(found, SIDES[side], limit)
        if combination.leaves_out(quantity) and here is (side == "below"):  # with them it could be on the other side
            here = None
        holds = False if False in (holds, here) else None if None in (holds, here) else True
    return holds, f"{amount(found, QUANTITIES[quantity].unit)}, {'' if holds else 'not '}{words}"


def bound_of_runs(combination, quantity, limits, words, which):
    """Counts the runs on that side: a statement about every run, or about some, needs no interval."""
    values = runs_of(combination, quantity)
    if not values or combination.leaves_out(quantity):
        return None, "not measured"
    good = sum(all(SIDES[side] * (limit - value) > 0 for side, limit in limits.items()) for value in values)
    holds = OF_RUNS[which](good, len(values))
    return holds, f"{good} of {len(values)} runs are {words} {QUANTITIES[quantity].unit}".rstrip()


def check_order(results, expectation):
    """Each group of `order`, {dimension: values}, is below the next, beyond the intervals; of one run each that has none,
    simply below it."""
    shared, quantity = results.scenario.setup.seeds == "shared", quantity_of(expectation)
    verdicts = []
    for lesser, greater in zip(expectation["order"], expectation["order"][1:]):
        step = {**expectation, "less": lesser, "than": greater}
        for a, b in pairs(results, step):
            found = compare(a, b, quantity, shared=shared)
            holds, detail = found.holds, found.detail
            left, right = a.quantity(quantity), b.quantity(quantity)
            no_interval = math.isnan(left.half_width) or math.isnan(right.half_width)
            if len(a.each) == len(b.each) == 1 and no_interval and not aborted_ones(a, b):  # the values themselves
                gap = statistics.Estimate(left.value - right.value, 0.0)
                holds = unless_more(below(left, right, gap), a, b, quantity)
                detail += ", one run each"
            verdicts.append(Verdict(holds, place(a, b, step, "<"), detail))
    return verdicts


def ends_of(combinations, a, axis, ends):
    """Returns the combinations at both ends of an axis, beside `a`; None for one that was not measured."""
    found = {axis_value(other.conditions, axis): other for other in combinations
             if other.conditions.without(axis) == a.conditions.without(axis)}
    return [found.get(float(end)) for end in ends]


def check_step(results, expectation):
    """From one value of an axis to another, the curve of `than` rises by a greater factor than that of `less`."""
    axis, ends, quantity = expectation["axis"], (expectation["from"], expectation["to"]), quantity_of(expectation)
    chosen = results.select(expectation.get("where", {}))
    verdicts = []
    for a, b in pairs(results, expectation):
        if axis_value(a.conditions, axis) != float(ends[0]) or axis_value(b.conditions, axis) != float(ends[0]):
            continue
        corners = [*ends_of(chosen, a, axis, ends), *ends_of(chosen, b, axis, ends)]
        if None in corners:
            continue
        if aborted := aborted_ones(*corners):
            verdicts.append(Verdict(None, place(a, b, expectation, "flatter than"), aborted))
            continue
        at = [corner.quantity(quantity) for corner in corners]
        flat, steep = tests_of_runs.ratio(at[1], at[0]), tests_of_runs.ratio(at[3], at[2])
        gap = statistics.difference(flat, steep)
        unknown = any(corner.leaves_out(quantity) for corner in corners)
        holds = None if unknown else below(flat, steep, gap)
        verdicts.append(Verdict(holds, place(a, b, expectation, "flatter than"),
                                f"from {ends[0]} to {ends[1]}: x {wording.figure(flat.value, 2)} against x"
                                f" {wording.figure(steep.value, 2)} ({wording.gap(gap, 2)})"))
    return verdicts


def check_monotone(results, expectation):
    """The quantity never falls along the axis (with `falls`: never rises), beyond the intervals."""
    axis, quantity = expectation["axis"], quantity_of(expectation)
    sign = -1 if expectation.get("falls") else 1
    groups = {}
    for combination in results.select(expectation.get("where", {})):
        if not combination.aborted:
            groups.setdefault(combination.conditions.without(axis), []).append(combination)
    verdicts = []
    for group in groups.values():
        group.sort(key=lambda combination: axis_value(combination.conditions, axis))
        wrong, unknown = [], []
        for before, after in zip(group, group[1:]):
            step = f"{getattr(before.conditions, axis)} to {getattr(after.conditions, axis)}"
            gap = statistics.difference(after.quantity(quantity), before.quantity(quantity))
            width = 0.0 if math.isnan(gap.half_width) or math.isinf(gap.value) else gap.half_width
            if math.isnan(gap.value) or before.leaves_out(quantity) or after.leaves_out(quantity):
                unknown.append(f"{step}: cannot be told{left_out(before, after, quantity=quantity)}")
            elif sign * gap.value < -max(width, NEGLIGIBLE_MS):
                wrong.append(f"{step}: {wording.gap(gap)} {QUANTITIES[quantity].unit}")
        if len(group) > 1:
            where = f"{group[0].conditions.place}: {group[0].conditions.variant}"
            verdicts.append(Verdict(False if wrong else None if unknown else True, where,
                                    "; ".join(wrong + unknown) or "never otherwise"))
    return verdicts


def check_regression(results, expectation):
    """By least squares on `on`, the quantity of a run does not depend on `axis`: its coefficient may be 0."""
    columns = {name: [] for name in expectation["on"]}
    y = []
    chosen = results.select(expectation.get("where", {}))
    if aborted := aborted_ones(*chosen):
        return [Verdict(None, expectation["axis"], aborted)]
    for combination in chosen:
        for value in runs_of(combination, quantity_of(expectation)):
            y.append(value)
            for name in columns:
                columns[name].append(axis_value(combination.conditions, name))
    try:
        found = tests_of_runs.regression(columns, y)[expectation["axis"]]
    except ValueError as error:
        return [Verdict(None, expectation["axis"], str(error))]
    return [Verdict(found.p >= tests_of_runs.LEVEL, expectation["axis"],
                    f"coefficient {found.value:.3g}, t = {found.t:.2f}, p = {found.p:.3g}, {len(y)} runs")]


CHECKS = {"differs": check_differs, "alike": check_alike, "identical": check_identical, "bound": check_bound,
          "order": check_order, "step": check_step, "regression": check_regression}
