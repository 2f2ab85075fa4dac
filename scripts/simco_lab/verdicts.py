"""Verdicts on statements, and the comparison of two combinations that most of them need."""

import math
from dataclasses import dataclass

from . import statistics
from .quantities import QUANTITIES

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
    unit = QUANTITIES[quantity].unit
    shown = f"{left.value:.1f} against {right.value:.1f} {unit} ({gap.value:+.1f} ± {gap.half_width:.1f})"
    if a.aborted or b.aborted:
        if a.aborted != b.aborted:
            return b.aborted, f"{(a if a.aborted else b).conditions.variant} was aborted"
        return None, "both were aborted"
    if not math.isfinite(gap.value):
        return None, shown
    if not abs(gap.value) > gap.half_width:  # also if there is no interval
        return None, shown
    return gap.value < 0, shown


def pairs(results, expectation):
    """Returns [(a, b)]: combinations that fit `less` and `than`, and differ in the dimensions of these only."""
    dimensions = {*expectation["less"], *expectation["than"]}
    chosen = results.select(expectation.get("where", {}))
    lesser = [combination for combination in chosen if combination.fits(expectation["less"])]
    greater = [combination for combination in chosen if combination.fits(expectation["than"])]
    return [(a, b) for a in lesser for b in greater
            if a is not b and a.conditions.without(*dimensions) == b.conditions.without(*dimensions)]


def named(combination, expectation):
    """Returns the values by which a side of a pair is chosen: "sctp-1, 2"."""
    names = dict.fromkeys((*expectation["less"], *expectation["than"]))
    return ", ".join(str(getattr(combination.conditions, name)) for name in names)
