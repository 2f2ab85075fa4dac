"""Verdicts on statements, and the comparison of two combinations that most of them need."""

import math
from dataclasses import dataclass, replace

import numpy

from ..measure import schedule, statistics, tests_of_runs
from ..measure.quantities import PERCENTILES, QUANTITIES
from ..scenario.conditions import NUMBERS
from . import wording

NEGLIGIBLE_MS = 0.1  # a difference of instructions, not of waiting
ALIKE_SHARE = 0.01  # of the greater: a difference within this share of it is of no consequence


@dataclass
class Verdict:
    holds: bool | None  # None: inconclusive
    where: str
    detail: str
    alike: bool = False  # the two differ by no more than the margin of no consequence
    tests: int = 0  # at 5 % that it stands on, of which some reject by chance
    no_difference: bool = False  # inconclusive, as a test shows no difference; but not that there is none


class Verdicts(list):
    """The verdicts on a claim, one for each place."""

    def __bool__(self):
        raise TypeError("verdicts are neither true nor false: write within(above=..., below=...) instead of two comparisons")

    def at_more_than(self, share):
        """Returns one verdict: whether the claim holds at more than that share of all places."""
        if not len(self):
            return self
        needed = share * len(self)
        good, unknown = (sum(verdict.holds is holds for verdict in self) for holds in (True, None))
        holds = True if good > needed else False if good + unknown <= needed else None
        return Verdicts([Verdict(holds, "all places", f"{good} of {len(self)}; {unknown} cannot be told",
                                 tests=sum(verdict.tests for verdict in self))])


PAIRS_MIN = statistics.RUNS_MIN
SCHEDULE_MS = 0.001  # by which the times of the same schedule may differ


def runs_of(combination, quantity):
    """Returns the values of a quantity in all runs that have it."""
    return [value for value in combination.per_run(quantity) if not math.isnan(value)]


def joined(a, b):
    """Returns [(run of a, run of b)] of the replications that both have."""
    others = {run.replication: run for run in b.each}
    return [(run, others[run.replication]) for run in a.each if run.replication in others]


def same_schedule(a, b):
    if len(a.times) != len(b.times):
        return False
    return a.scheduled is None or b.scheduled is None or bool(
        numpy.abs(numpy.subtract(a.scheduled, b.scheduled)).max(initial=0.0) < SCHEDULE_MS)


def by_blocks(both, quantity, factor):
    """Returns the difference over pairs of blocks, or None if the runs met another schedule or are too short."""
    if quantity not in ("mean", *PERCENTILES) or not all(same_schedule(*pair) for pair in both):
        return None
    times = [(a.times, b.times) for a, b in both]
    if min(len(a) for a, _ in times) < 2 * statistics.BATCHES:
        return None
    if quantity == "mean":
        return schedule.mean_difference(times, factor)
    return schedule.percentile_difference(times, PERCENTILES[quantity], factor)


def by_pairs(a, b, quantity, factor=1.0):
    """Returns the difference of a's quantity and factor times b's over pairs of blocks within runs, or of runs, and its words;
    or None if the two have not the same runs."""
    both = joined(a, b)
    if not 0 < len(both) == len(a.each) == len(b.each):
        return None
    found = by_blocks(both, quantity, factor)
    if len(both) >= PAIRS_MIN and (found is None or math.isnan(found.low)):
        of_run = QUANTITIES[quantity].of_run
        found = tests_of_runs.paired([of_run(run) for run, _ in both], [factor * of_run(run) for _, run in both])
        return found, f"{wording.gap(found)} by pairs of runs"
    if found is None:
        return None
    few = f"too few beyond it: fewer than {schedule.TAIL_MIN}"
    ends = few if math.isnan(found.low) else wording.ends(found)
    which = "runs" if found.of_runs else "blocks"
    return found, f"{wording.figure(found.value, sign='+')} ({ends}) by pairs of {which}"


def gap_between(a, b, quantity, shared):
    """Returns the difference of a's quantity and b's, by pairs if the seeds are `shared` and both have the same runs; and words if so."""
    paired = by_pairs(a, b, quantity) if shared else None
    return (paired[0], " by pairs") if paired else (statistics.difference(a.quantity(quantity), b.quantity(quantity)), "")


def by_ranks(a, b, quantity, factor, shared):
    """Returns whether a's runs are below factor times b's if a mean of the runs is not finite, so that it has no interval, and
    words; None if the ranks leave it open."""
    of_run, both = QUANTITIES[quantity].of_run, joined(a, b)
    if min(len(a.each), len(b.each)) < PAIRS_MIN:
        return None, ": so few runs cannot tell"
    if shared and len(both) == len(a.each) == len(b.each):
        known = [pair for pair in ((of_run(x), factor * of_run(y)) for x, y in both) if not any(map(math.isnan, pair))]
        gaps = [float(schedule.gap(x, y)) for x, y in known]
        p, lower = tests_of_runs.signed_rank(gaps), tests_of_runs.ranks_are_lower(gaps)
    else:
        left, right = runs_of(a, quantity), [factor * value for value in runs_of(b, quantity)]
        p = tests_of_runs.rank_sum(left, right)
        lower = sum(x < y for x in left for y in right) > sum(x > y for x in left for y in right)
    return (lower if p < tests_of_runs.LEVEL else None), f", by ranks of the runs p = {p:.3g}"


def aborted_ones(*combinations):
    """Returns a sentence about those that were aborted, which is empty if there are none."""
    return "; ".join(f"{combination.conditions.variant} was aborted" for combination in combinations if combination.aborted)


def below(gap):
    """Returns whether an estimate is below another one, whose difference is `gap`; None if that cannot be told."""
    return True if gap.high < 0 else False if gap.low > 0 else None  # None, too, if there is no interval


def without_consequence(left, right, unit):
    """Returns by how much two estimates may differ without consequence."""
    margin = ALIKE_SHARE * max(abs(left.value), abs(right.value))
    return max(margin, NEGLIGIBLE_MS) if unit == "ms" else margin


def could_turn(combination, quantity, is_below):
    """Returns whether the messages that a quantity leaves out could turn that it is below, or else above, something. Unanswered ones
    could only raise it."""
    return bool(combination.leaves_out(quantity)) and (is_below or QUANTITIES[quantity].captured)


def unless_turned(holds, a, b, quantity):
    """Returns `holds`, that a's quantity is below b's; or None if what they leave out could turn it."""
    turned = holds is not None and (could_turn(a, quantity, holds) or could_turn(b, quantity, not holds))
    return None if turned else holds


def left_out(*combinations, quantity):
    """Returns words about the messages that the quantity leaves out."""
    count = sum(combination.leaves_out(quantity) for combination in combinations)
    return f", without {count} {QUANTITIES[quantity].omitted} messages" if count else ""


@dataclass(frozen=True)
class Comparison:
    """Whether one quantity is below another one (None if that cannot be told), the numbers in words, and whether it is
    certainly not above, or not below, the other one by more than the margin of no consequence."""

    holds: bool | None
    detail: str
    not_above: bool = False
    not_below: bool = False
    tests: int = 1  # 0 if none was made

    @property
    def alike(self):
        return self.not_above and self.not_below


def compare(a, b, quantity, factor=1.0, shared=False):
    """Returns the Comparison of a's quantity with factor times b's. If the seeds are `shared`, pairs of runs, or of blocks of
    few runs, decide. If a's is not certainly below b's, but the two are certainly alike, it is not below."""
    if aborted := aborted_ones(a, b):  # an aborted run lacks its longest delays
        return Comparison(None, aborted, tests=0)
    left, right = a.quantity(quantity), b.quantity(quantity).times(factor)
    gap = statistics.difference(left, right)
    unit = QUANTITIES[quantity].unit
    shown = f"{wording.figure(left.value)} against {wording.figure(right.value)} {unit} ({wording.gap(gap)})"
    if math.isinf(left.value) or math.isinf(right.value):
        holds, words = by_ranks(a, b, quantity, factor, shared)
        return Comparison(holds, shown + words, not_above=holds is True, not_below=holds is False)
    paired = by_pairs(a, b, quantity, factor) if shared else None
    if paired and not (math.isnan(paired[0].low) and len(a.each) >= PAIRS_MIN):  # blocks without an interval tell nothing
        gap = paired[0]
        shown += f", {paired[1]}"
    shown += left_out(a, b, quantity=quantity)
    holds = unless_turned(below(gap), a, b, quantity)
    if a.leaves_out(quantity) or b.leaves_out(quantity):
        return Comparison(holds, shown, not_above=holds is True, not_below=holds is False)
    margin = without_consequence(left, right, unit)
    found = Comparison(holds, shown, not_above=gap.high <= margin, not_below=gap.low >= -margin)
    if not found.alike:
        return replace(found, detail=shown + wording.sample_to_tell(gap, margin))
    if holds:
        return replace(found, detail=f"{shown}, although alike within {margin:.2g} {unit}".rstrip())
    return replace(found, holds=False, detail=f"{shown}, alike within {margin:.2g} {unit}".rstrip())


def pairs(results, less, than, where=None):
    """Returns [(a, b)]: combinations that fit `less` and `than`, and differ in the dimensions of these only. Where both were aborted,
    both curves have ended, and there is nothing to compare."""
    dimensions, chosen = {*less, *than}, results.select(where or {})
    lesser, greater = ([combination for combination in chosen if combination.conditions.fits(side)] for side in (less, than))
    return [(a, b) for a in lesser for b in greater
            if a.jobs != b.jobs and not (a.aborted and b.aborted)
            and a.conditions.without(*dimensions) == b.conditions.without(*dimensions)]


def once(places):
    """Returns the places, groups of combinations, but for those with the same runs as an earlier one: where a profile does not concern a
    transport, its runs are those of another profile, and tell nothing new."""
    first = {}
    for group in places:
        first.setdefault(tuple(one.jobs for one in group), group)
    return list(first.values())


def each_once(combinations):
    return [one for one, in once((one,) for one in combinations)]


def named(combination, dimensions):
    """Returns the values by which a side of a pair is chosen: "sctp-1, rate 2"."""
    values = [(name, getattr(combination.conditions, name)) for name in dimensions]
    return ", ".join(f"{name} {value:g}" if name in NUMBERS else str(value) for name, value in values)
