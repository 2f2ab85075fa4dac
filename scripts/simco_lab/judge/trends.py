"""Statements about how a quantity moves along an axis, judged step by step."""

import math
from dataclasses import dataclass

from ..scenario.conditions import DIMENSIONS, axis_value, curves_along, shown
from .verdicts import Verdict, Verdicts, compare, once


@dataclass(frozen=True)
class Step:
    """From one place of the axis to another: whether the quantity certainly moves as the statement says, or the other way, by
    more than what is of no consequence (neither if that cannot be told); whether it certainly does not move the other way by
    more than that; and whether it does not move at all beyond that."""

    words: str
    right: bool
    wrong: bool
    harmless: bool
    flat: bool

    @property
    def open(self):
        return not (self.right or self.wrong or self.flat)


def label(combination, axis):
    conditions = combination.conditions
    return shown(getattr(conditions, axis) if axis in DIMENSIONS else axis_value(conditions, axis))


def step(before, after, axis, quantity, shared, rises):
    found = compare(before, after, quantity, shared=shared)
    moves = found.holds is not None and not found.alike
    return Step(words=f"{label(before, axis)} to {label(after, axis)}: {found.detail}",
                right=moves and found.holds is rises, wrong=moves and found.holds is not rises,
                harmless=found.not_above if rises else found.not_below, flat=found.alike)


def lacking(combination, quantity):
    """Returns why a place cannot be judged; empty if it can."""
    return "aborted" if combination.aborted else "not measured" if math.isnan(combination.quantity(quantity).value) else ""


def at_one_place(group, axis):
    """Returns the labels of the first two of a curve that are at the same place; empty if there are none."""
    return next(([label(one, axis), label(other, axis)] for one, other in zip(group, group[1:])
                 if axis_value(one.conditions, axis) == axis_value(other.conditions, axis)), [])


def judge(steps, whole, or_alike):
    """Returns whether the statement holds by its steps from place to place and by the `whole` way."""
    every = [*steps, whole]
    if any(one.wrong for one in every):
        return False
    if or_alike:
        return True if all(one.harmless for one in every) else None
    return True if whole.right else False if whole.flat else None


def along(group, axis, quantity, shared, rises, or_alike):
    """Returns the Verdict on the combinations of `group`, in the order of the axis."""
    where = f"{group[0].conditions.place}: {group[0].conditions.variant}"
    if alike := at_one_place(group, axis):
        return Verdict(None, where, f"{' and '.join(alike)} are one place of the axis '{axis}': name one of them in 'where'")
    gaps = [f"{label(one, axis)}: {why}" for one in group if (why := lacking(one, quantity))]
    known = [one for one in group if not lacking(one, quantity)]
    if len(known) < 2:
        return Verdict(None, where, "; ".join(gaps))
    steps = [step(*pair, axis, quantity, shared, rises) for pair in zip(known, known[1:])]
    whole = step(known[0], known[-1], axis, quantity, shared, rises)
    holds = judge(steps, whole, or_alike)
    if holds and gaps:  # there it could be otherwise
        holds = None
    said = [whole.words] + gaps
    if len(steps) > 1:
        said += [f"{one.words}, the other way" for one in steps if one.wrong]
        said += [f"{one.words}, cannot be told" for one in steps
                 if not one.wrong and (not one.harmless if or_alike else one.open)]
    return Verdict(holds, where, "; ".join(said), tests=len(steps) + (len(steps) > 1))


def moves_along(figures, axis, *, rises, or_alike=False):
    """The quantity rises along the axis (or falls): on the whole way certainly, and at no step certainly the other
    way. With `or_alike` it does not fall (rise): at no step, nor on the whole way, by more than what is of no consequence,
    even at the ends of the intervals. What was aborted or lacks the quantity leaves it open; where all were aborted, there is nothing to
    compare."""
    figures.check_axis(axis)
    return Verdicts(along(curve, axis, figures.quantity, figures.shared, rises, or_alike)
                    for curve in once(curves_along(figures.selected(), axis))
                    if len(curve) > 1 and not all(one.aborted for one in curve))
