"""Statements of the papers, and ours, checked against what was measured."""

import math
from dataclasses import dataclass

from . import statistics
from .plots import predicted
from .scenario import variant_parts


NEGLIGIBLE_MS = 0.1  # a difference of instructions, not of waiting


@dataclass
class Verdict:
    holds: bool | None  # None: not to be told from what was measured
    where: str
    detail: str


def key_without(values, *dimensions):
    return tuple((key, value) for key, value in values.items() if key not in dimensions)


def place(values):
    parts = [values["profile"]]
    for key, text in (("delay_ms", "{:g} ms"), ("jitter_ms", "+-{:g} ms"), ("loss_percent", "{:g} %"),
                      ("rate", "{:g}/s")):
        if values[key] or key in ("loss_percent",):
            parts.append(text.format(values[key]))
    return ", ".join(parts)


def compare(a, b, quantity, factor=1.0):
    """Whether a's quantity is below factor times b's: True, False, or None where the intervals do
    not tell."""
    left, right = a.quantity(quantity), b.quantity(quantity)
    right = statistics.Estimate(right.value * factor, right.half_width * factor)
    gap = statistics.difference(left, right)
    shown = f"{left.value:.1f} against {right.value:.1f} ms ({gap.value:+.1f} ± {gap.half_width:.1f})"
    if a.aborted or b.aborted:
        if a.aborted != b.aborted:
            return b.aborted, f"{(a if a.aborted else b).values['variant']} was broken off"
        return None, "both were broken off"
    if not math.isfinite(gap.value):
        return None, shown
    if not abs(gap.value) > gap.half_width:  # nor where there is no interval
        return None, shown
    return gap.value < 0, shown


def check_less(results, expectation):
    verdicts = []
    dimensions = tuple(expectation["less"])
    chosen = results.select(expectation.get("where", {}))
    lesser = [one for one in chosen if all(one.values[k] in v for k, v in expectation["less"].items())]
    greater = [one for one in chosen if all(one.values[k] in v for k, v in expectation["than"].items())]
    for a in lesser:
        for b in greater:
            if key_without(a.values, *dimensions) == key_without(b.values, *dimensions):
                holds, detail = compare(a, b, expectation.get("quantity", "mean"), expectation.get("factor", 1.0))
                names = " < ".join(str(one.values[dimensions[0]]) for one in (a, b))
                verdicts.append(Verdict(holds, f"{place(a.values)}: {names}", detail))
    return verdicts


def check_equal(results, expectation):
    groups = {}
    for one in results.select(expectation.get("where", {})):
        groups.setdefault(key_without(one.values, "variant"), []).append(one)
    verdicts = []
    for ones in groups.values():
        values = [one.quantity(expectation.get("quantity", "mean")).value for one in ones if not one.aborted]
        if len(values) < 2:
            continue
        spread = max(values) - min(values)
        verdicts.append(Verdict(spread <= expectation["tolerance_ms"], place(ones[0].values),
                                f"they differ by {spread:.2f} ms"))
    return verdicts


def check_model(results, expectation):
    """Within `percent` of equation 5 (with `side = "above"` at most so much above it), or within the
    interval of the mean, where it is valid."""
    verdicts = []
    for one in results.select(expectation.get("where", {})):
        prediction = predicted(one.values)
        if prediction is None or not prediction[1] or one.aborted:
            continue
        mean = one.mean
        off = mean.value - prediction[0]
        share = 100.0 * off / prediction[0]
        one_sided = expectation.get("side") == "above" and off < 0
        close = one_sided or abs(share) <= expectation["percent"]
        holds = close or (None if math.isfinite(mean.half_width) and abs(off) <= mean.half_width else False)
        verdicts.append(Verdict(holds, f"{place(one.values)}: {one.values['variant']}",
                                f"{mean.value:.1f} ms, the model {prediction[0]:.1f} ms ({share:+.1f} %)"))
    return verdicts


def check_monotone(results, expectation):
    """More streams are never worse, beyond the intervals."""
    groups = {}
    for one in results.select(expectation.get("where", {})):
        transport, streams, _, unordered = variant_parts(one.values["variant"])
        if transport == "sctp" and not unordered and not one.aborted:
            groups.setdefault(key_without(one.values, "variant"), []).append((streams, one))
    verdicts = []
    for ones in groups.values():
        ones.sort(key=lambda pair: pair[0])
        worse = []
        for (_, few), (_, many) in zip(ones, ones[1:]):
            gap = statistics.difference(many.mean, few.mean)
            if math.isfinite(gap.half_width) and gap.value > max(gap.half_width, NEGLIGIBLE_MS):
                worse.append(f"{many.values['variant']} is worse than {few.values['variant']} by"
                             f" {gap.value:.1f} ± {gap.half_width:.1f} ms")
        if len(ones) > 1:
            verdicts.append(Verdict(not worse, place(ones[0][1].values), "; ".join(worse) or "never worse"))
    return verdicts


CHECKS = {"less": check_less, "equal": check_equal, "model": check_model, "monotone": check_monotone}


def check(results):
    """[(expectation, verdicts)] of the scenario."""
    return [(one, CHECKS[one["kind"]](results, one)) for one in results.scenario.expectations]
