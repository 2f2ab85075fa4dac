"""Statements about several runs, judged: which figures differ and which do not, bounds, orders, steps, and how a quantity
moves along an axis."""

import math

from . import statistics, tests_of_runs
from .conditions import axis_value
from .quantities import QUANTITIES
from .verdicts import NEGLIGIBLE_MS, Verdict, compare, named, pairs

QUANTITY = "p95"  # of a run, unless the expectation names another


def quantity_of(expectation):
    return expectation.get("quantity", QUANTITY)


def runs_of(combination, quantity):
    return [value for value in combination.per_run(quantity) if not math.isnan(value)]


def tested(a, b, quantity):
    """Returns the test of Kolmogorov and Smirnov on what each run of `a` and of `b` has, and its words; or None, and
    why."""
    left, right = runs_of(a, quantity), runs_of(b, quantity)
    if not left or not right:
        return None, "not measured"
    result = tests_of_runs.ks_test(left, right)
    unit = QUANTITIES[quantity].unit
    shown = (f"{a.quantity(quantity).value:.1f} against {b.quantity(quantity).value:.1f} {unit}, D ="
             f" {result.statistic:.2f}, p = {result.p:.3g}, {len(left)} and {len(right)} runs")
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
    """The first are faster: the test rejects that both are the same, and their mean is less."""
    verdicts = []
    for a, b in pairs(results, expectation):
        quantity = quantity_of(expectation)
        result, detail = tested(a, b, quantity)
        holds = result and result.rejects and a.quantity(quantity).value < b.quantity(quantity).value
        verdicts.append(Verdict(holds, place(a, b, expectation, "<"), detail))
    return in_share(verdicts, expectation)


def alike(a, b, quantity, shared):
    if quantity != "mean":
        result, detail = tested(a, b, quantity)
        return result and not result.rejects, detail
    left, right = a.per_run(quantity), b.per_run(quantity)
    by_pairs = shared and len(left) == len(right) >= 3
    gap = tests_of_runs.paired(left, right) if by_pairs else statistics.difference(a.mean, b.mean)
    detail = f"they differ by {gap.value:+.2f} ± {gap.half_width:.2f} ms" + (" by pairs of runs" if by_pairs else "")
    return (None if math.isnan(gap.half_width) else abs(gap.value) <= gap.half_width), detail


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
        same = sum((x.times == y.times).all() for x, y in zip(a.each, b.each) if len(x.times) == len(y.times))
        dropped = sum(sum(run.record.get("queue", {}).get("dropped", {}).values()) for run in (*a.each, *b.each))
        count = max(len(a.each), len(b.each))
        verdicts.append(Verdict(same == count and not dropped, place(a, b, expectation, "="),
                                f"{same} of {count} runs have the same samples; the queues dropped {dropped} packets"))
    return verdicts


def check_bound(results, expectation):
    """The quantity, with its interval, is below or above a number; with `rtts`, of so many round-trip times more."""
    quantity = quantity_of(expectation)
    verdicts = []
    for combination in results.select(expectation.get("where", {})):
        found = combination.quantity(quantity)
        unit = QUANTITIES[quantity].unit
        more = expectation.get("rtts", 0) * 2 * combination.conditions.delay_ms
        width = 0.0 if math.isnan(found.half_width) else found.half_width
        holds, words = True, []
        for side, sign in (("below", 1), ("above", -1)):
            if side in expectation:
                limit = expectation[side] + more
                off = sign * (found.value - limit)
                here = None if math.isnan(off) else True if off + width < 0 else False if off - width > 0 else None
                holds = False if False in (holds, here) else None if None in (holds, here) else True
                words.append(f"{side} {limit:g}")
        verdicts.append(Verdict(holds, f"{combination.conditions.place}: {combination.conditions.variant}",
                                f"{found.value:.1f} ± {width:.1f} {unit}".rstrip() + f", not {' and '.join(words)}"))
    return in_share(verdicts, expectation)


def check_order(results, expectation):
    """Each group of `order`, {dimension: values}, is below the next, beyond the intervals; of one run each, which has none,
    simply below it."""
    verdicts = []
    for lesser, greater in zip(expectation["order"], expectation["order"][1:]):
        step = {**expectation, "less": lesser, "than": greater}
        for a, b in pairs(results, step):
            holds, detail = compare(a, b, quantity_of(expectation))
            if len(a.each) == len(b.each) == 1 and not (a.aborted or b.aborted):  # no intervals: the values themselves
                holds = a.quantity(quantity_of(expectation)).value < b.quantity(quantity_of(expectation)).value
                detail += ", one run each"
            verdicts.append(Verdict(holds, place(a, b, step, "<"), detail))
    return verdicts


def rise(combinations, a, axis, ends, quantity):
    """Returns by which factor a quantity rises from one end to the other of an axis, beside `a`; None if an end was not
    measured."""
    found = {axis_value(other.conditions, axis): other for other in combinations
             if other.conditions.without(axis) == a.conditions.without(axis)}
    first, last = (found.get(float(end)) for end in ends)
    return first and last and tests_of_runs.ratio(last.quantity(quantity), first.quantity(quantity))


def check_step(results, expectation):
    """From one value of an axis to another, the curve of `than` rises by a greater factor than that of `less`."""
    axis, ends = expectation["axis"], (expectation["from"], expectation["to"])
    chosen = results.select(expectation.get("where", {}))
    verdicts = []
    for a, b in pairs(results, expectation):
        if axis_value(a.conditions, axis) != float(ends[0]) or axis_value(b.conditions, axis) != float(ends[0]):
            continue
        flat, steep = (rise(chosen, side, axis, ends, quantity_of(expectation)) for side in (a, b))
        if not flat or not steep:
            continue
        gap = statistics.difference(flat, steep)
        holds = None if not abs(gap.value) > gap.half_width else gap.value < 0
        verdicts.append(Verdict(holds, place(a, b, expectation, "flatter than"),
                                f"from {ends[0]} to {ends[1]}: x {flat.value:.2f} against x {steep.value:.2f}"
                                f" ({gap.value:+.2f} ± {gap.half_width:.2f})"))
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
        wrong = []
        for before, after in zip(group, group[1:]):
            gap = statistics.difference(after.quantity(quantity), before.quantity(quantity))
            width = 0.0 if math.isnan(gap.half_width) else gap.half_width
            if sign * gap.value < -max(width, NEGLIGIBLE_MS):
                wrong.append(f"{getattr(before.conditions, axis)} to {getattr(after.conditions, axis)}: {gap.value:+.1f}"
                             f" ± {width:.1f} {QUANTITIES[quantity].unit}")
        if len(group) > 1:
            where = f"{group[0].conditions.place}: {group[0].conditions.variant}"
            verdicts.append(Verdict(not wrong, where, "; ".join(wrong) or "never otherwise"))
    return verdicts


def check_regression(results, expectation):
    """By least squares on `on`, the quantity of a run does not depend on `axis`: its coefficient may be 0."""
    columns = {name: [] for name in expectation["on"]}
    y = []
    for combination in results.select(expectation.get("where", {})):
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
