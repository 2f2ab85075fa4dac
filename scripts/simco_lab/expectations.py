"""Statements of the papers, and ours, checked against what was measured."""

import math

from . import statements, statistics, trends, wording
from .prediction import predicted
from .quantities import quantity_of
from .verdicts import NEGLIGIBLE_MS, Verdict, compare, left_out, named, pairs


def check_less(results, expectation):
    verdicts = []
    shared = results.scenario.setup.seeds == "shared"
    for a, b in pairs(results, expectation):
        found = compare(a, b, quantity_of(expectation), expectation.get("factor", 1.0), shared)
        names = " < ".join(named(side, expectation) for side in (a, b))
        alike = found.alike and not found.holds
        holds = True if alike and expectation.get("or_alike") else found.holds
        verdicts.append(Verdict(holds, f"{a.conditions.place}: {names}", found.detail, alike))
    return verdicts


def check_equal(results, expectation):
    groups = {}
    for combination in results.select(expectation.get("where", {})):
        groups.setdefault(combination.conditions.without("variant"), []).append(combination)
    verdicts = []
    for group in groups.values():
        quantity = quantity_of(expectation)
        whole = [combination for combination in group if not combination.aborted]
        values = [combination.quantity(quantity).value for combination in whole]
        if len(values) < 2:
            continue
        spread = max(values) - min(values)
        unknown = not all(map(math.isfinite, values)) or any(combination.leaves_out(quantity) for combination in whole)
        verdicts.append(Verdict(None if unknown else spread <= expectation["tolerance_ms"], group[0].conditions.place,
                                f"they differ by {wording.figure(spread, 2)} ms{left_out(*whole, quantity=quantity)}"))
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
        if math.isnan(mean.value) or (combination.leaves_out("mean") and (holds or off < 0)):
            holds = None
        verdicts.append(Verdict(holds, f"{combination.conditions.place}: {combination.conditions.variant}",
                                f"{mean.value:.1f} ms, model {prediction[0]:.1f} ms ({share:+.1f} %)"))
    return verdicts


def check_monotone(results, expectation):
    """More streams of a transport are never worse by more than the interval; or what trends.py makes of another axis."""
    if "axis" in expectation:
        return trends.check_monotone(results, expectation)
    groups = {}
    for combination in results.select(expectation.get("where", {})):
        variant = combination.conditions.variant
        if variant.sweeps_streams:
            key = variant.transport.name, combination.conditions.without("variant")
            groups.setdefault(key, []).append((variant.streams, combination))
    verdicts = []
    for group in groups.values():
        group.sort(key=lambda pair: pair[0])
        worse, unknown = [], [f"{one.conditions.variant} was aborted" for _, one in group if one.aborted]
        whole = [one for _, one in group if not one.aborted]
        for few, many in zip(whole, whole[1:]):
            gap = statistics.difference(many.mean, few.mean)
            if math.isnan(gap.value) or few.leaves_out("mean") or many.leaves_out("mean"):
                unknown.append(f"{few.conditions.variant} to {many.conditions.variant}: cannot be told"
                               + left_out(few, many, quantity="mean"))
                continue
            if math.isfinite(gap.half_width) and gap.value > max(gap.half_width, NEGLIGIBLE_MS):
                worse.append(f"{many.conditions.variant} is worse than {few.conditions.variant} by"
                             f" {gap.value:.1f} ± {gap.half_width:.1f} ms")
        if len(group) > 1:
            conditions = group[0][1].conditions
            verdicts.append(Verdict(False if worse else None if unknown else True,
                                    f"{conditions.place}: {conditions.variant.transport.label}",
                                    "; ".join(worse + unknown) or "never worse"))
    return verdicts


CHECKS = {"less": check_less, "equal": check_equal, "model": check_model, "monotone": check_monotone,
          **statements.CHECKS}


def check(results):
    """Returns [(expectation, verdicts)] of the scenario."""
    return [(expectation, CHECKS[expectation["kind"]](results, expectation))
            for expectation in results.scenario.expectations]
