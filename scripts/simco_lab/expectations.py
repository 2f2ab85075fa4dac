"""Statements of the papers, and ours, checked against what was measured."""

import math
from dataclasses import dataclass

from . import statistics
from .prediction import predicted


NEGLIGIBLE_MS = 0.1  # a difference of instructions, not of waiting


@dataclass
class Verdict:
    holds: bool | None  # None: inconclusive
    where: str
    detail: str


def compare(a, b, quantity, factor=1.0):
    """Returns whether a's quantity is below factor times b's (True, False, or None if the intervals leave it
    open), and the numbers in words."""
    left, right = a.quantity(quantity), b.quantity(quantity)
    right = statistics.Estimate(right.value * factor, right.half_width * factor)
    gap = statistics.difference(left, right)
    shown = f"{left.value:.1f} against {right.value:.1f} ms ({gap.value:+.1f} ± {gap.half_width:.1f})"
    if a.aborted or b.aborted:
        if a.aborted != b.aborted:
            return b.aborted, f"{(a if a.aborted else b).conditions.variant} was aborted"
        return None, "both were aborted"
    if not math.isfinite(gap.value):
        return None, shown
    if not abs(gap.value) > gap.half_width:  # also if there is no interval
        return None, shown
    return gap.value < 0, shown


def check_less(results, expectation):
    verdicts = []
    dimensions = tuple(expectation["less"])
    chosen = results.select(expectation.get("where", {}))
    lesser = [combination for combination in chosen if combination.fits(expectation["less"])]
    greater = [combination for combination in chosen if combination.fits(expectation["than"])]
    for a in lesser:
        for b in greater:
            if a.conditions.without(*dimensions) == b.conditions.without(*dimensions):
                holds, detail = compare(a, b, expectation.get("quantity", "mean"), expectation.get("factor", 1.0))
                names = " < ".join(str(getattr(side.conditions, dimensions[0])) for side in (a, b))
                verdicts.append(Verdict(holds, f"{a.conditions.place}: {names}", detail))
    return verdicts


def check_equal(results, expectation):
    groups = {}
    for combination in results.select(expectation.get("where", {})):
        groups.setdefault(combination.conditions.without("variant"), []).append(combination)
    verdicts = []
    for group in groups.values():
        quantity = expectation.get("quantity", "mean")
        values = [combination.quantity(quantity).value for combination in group if not combination.aborted]
        if len(values) < 2:
            continue
        spread = max(values) - min(values)
        verdicts.append(Verdict(spread <= expectation["tolerance_ms"], group[0].conditions.place,
                                f"they differ by {spread:.2f} ms"))
    return verdicts


def check_model(results, expectation):
    """The mean differs from equation 5, in its valid range, by at most `percent` (with `side = "above"`: is at
    most that far above it) or by no more than its interval."""
    verdicts = []
    for combination in results.select(expectation.get("where", {})):
        prediction = predicted(combination.conditions)
        if prediction is None or not prediction[1] or combination.aborted:
            continue
        mean = combination.mean
        off = mean.value - prediction[0]
        share = 100.0 * off / prediction[0]
        one_sided = expectation.get("side") == "above" and off < 0
        close = one_sided or abs(share) <= expectation["percent"]
        holds = close or (None if math.isfinite(mean.half_width) and abs(off) <= mean.half_width else False)
        verdicts.append(Verdict(holds, f"{combination.conditions.place}: {combination.conditions.variant}",
                                f"{mean.value:.1f} ms, model {prediction[0]:.1f} ms ({share:+.1f} %)"))
    return verdicts


def check_monotone(results, expectation):
    """More streams are never worse by more than the interval."""
    groups = {}
    for combination in results.select(expectation.get("where", {})):
        variant = combination.conditions.variant
        if variant.sweeps_streams and not combination.aborted:
            groups.setdefault(combination.conditions.without("variant"), []).append((variant.streams, combination))
    verdicts = []
    for group in groups.values():
        group.sort(key=lambda pair: pair[0])
        worse = []
        for (_, few), (_, many) in zip(group, group[1:]):
            gap = statistics.difference(many.mean, few.mean)
            if math.isfinite(gap.half_width) and gap.value > max(gap.half_width, NEGLIGIBLE_MS):
                worse.append(f"{many.conditions.variant} is worse than {few.conditions.variant} by"
                             f" {gap.value:.1f} ± {gap.half_width:.1f} ms")
        if len(group) > 1:
            verdicts.append(Verdict(not worse, group[0][1].conditions.place, "; ".join(worse) or "never worse"))
    return verdicts


CHECKS = {"less": check_less, "equal": check_equal, "model": check_model, "monotone": check_monotone}


def check(results):
    """Returns [(expectation, verdicts)] of the scenario."""
    return [(expectation, CHECKS[expectation["kind"]](results, expectation))
            for expectation in results.scenario.expectations]
