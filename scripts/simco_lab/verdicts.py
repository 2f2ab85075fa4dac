"""Verdicts on statements, and the comparison of two combinations that most of them need."""

import math
from dataclasses import dataclass

from . import statistics, tests_of_runs
from .conditions import NUMBERS
from .quantities import QUANTITIES

NEGLIGIBLE_MS = 0.1  # a difference of instructions, not of waiting


@dataclass
class Verdict:
    holds: bool | None  # None: inconclusive
    where: str
    detail: str


PAIRS_MIN = 3  # runs of an interval


def joined(a, b):
    """Returns [(run of a, run of b)] of the replications that both have."""
    others = {run.replication: run for run in b.each}
    return [(run, others[run.replication]) for run in a.each if run.replication in others]


def by_pairs(a, b, quantity, factor=1.0):
    """Returns the difference of a's quantity and factor times b's over pairs of runs, or None if the two have not the same
    three runs or more."""
    both = joined(a, b)
    if not PAIRS_MIN <= len(both) == len(a.each) == len(b.each):
        return None
    of_run = QUANTITIES[quantity].of_run
    return tests_of_runs.paired([of_run(run) for run, _ in both], [factor * of_run(run) for _, run in both])


def aborted_ones(*combinations):
    """Returns a sentence about those that were aborted, which is empty if there are none."""
    return "; ".join(f"{combination.conditions.variant} was aborted" for combination in combinations if combination.aborted)


def below(left, right, gap):
    """Returns whether an estimate is below another one, whose difference is `gap`; None if that cannot be told."""
    if math.isinf(left.value) or math.isinf(right.value):
        return None if left.value == right.value or math.isnan(left.value + right.value) else left.value < right.value
    if not abs(gap.value) > gap.half_width:  # also if there is no interval
        return None
    return gap.value < 0


def unless_more(holds, a, b, quantity):
    """Returns `holds`, that a's quantity is below b's; or None if what it leaves out could turn it."""
    turned = holds is not None and (a if holds else b).leaves_out(quantity)
    return None if turned else holds


def left_out(*combinations, quantity):
    """Returns words about the messages that the quantity leaves out."""
    count = sum(combination.leaves_out(quantity) for combination in combinations)
    return f", without {count} unanswered messages" if count else ""


def compare(a, b, quantity, factor=1.0, shared=False):
    """Returns whether a's quantity is below factor times b's (True, False, or None if the intervals leave it
    open), and the numbers in words. If the seeds are `shared`, pairs of runs decide if there are enough."""
    left, right = a.quantity(quantity), b.quantity(quantity)
    right = statistics.Estimate(right.value * factor, right.half_width * factor)
    gap = statistics.difference(left, right)
    unit = QUANTITIES[quantity].unit
    shown = f"{left.value:.1f} against {right.value:.1f} {unit} ({gap.value:+.1f} ± {gap.half_width:.1f})"
    if a.aborted or b.aborted:
        if a.aborted != b.aborted:
            return b.aborted, f"{(a if a.aborted else b).conditions.variant} was aborted"
        return None, "both were aborted"
    paired = by_pairs(a, b, quantity, factor) if shared else None
    if paired and not math.isnan(paired.half_width):
        gap = paired
        shown += f", {gap.value:+.1f} ± {gap.half_width:.1f} by pairs of runs"
    return unless_more(below(left, right, gap), a, b, quantity), shown + left_out(a, b, quantity=quantity)


def pairs(results, expectation):
    """Returns [(a, b)]: combinations that fit `less` and `than`, and differ in the dimensions of these only."""
    dimensions = {*expectation["less"], *expectation["than"]}
    chosen = results.select(expectation.get("where", {}))
    lesser = [combination for combination in chosen if combination.fits(expectation["less"])]
    greater = [combination for combination in chosen if combination.fits(expectation["than"])]
    return [(a, b) for a in lesser for b in greater
            if a is not b and a.conditions.without(*dimensions) == b.conditions.without(*dimensions)]


def named(combination, expectation):
    """Returns the values by which a side of a pair is chosen: "sctp-1, rate 2"."""
    names = dict.fromkeys((*expectation["less"], *expectation["than"]))
    values = [(name, getattr(combination.conditions, name)) for name in names]
    return ", ".join(f"{name} {value:g}" if name in NUMBERS else str(value) for name, value in values)
