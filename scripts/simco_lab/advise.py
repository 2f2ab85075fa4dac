"""What `scripts/lab advise` says: which transport to use at a round-trip time, a loss and a rate, by the published maps."""

import csv
import itertools
import math
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .scenario.conditions import conditions_of, label_of

PUBLISHED = Path(__file__).resolve().parents[2] / "doc" / "results"
MAPS = {"map-simco": "SIMCO: response time of PER transactions, both ends of this project or SCTP tuned at both",
        "map-sip": "SIP: one-way delay of INVITEs"}
AXES = ("delay_ms", "loss_percent", "rate")
FIGURES = ("mean", "p95", "p999")
ANSWERS = {"True": True, "False": False, "None": None}


@dataclass
class Known:
    """A row of a map: `figures` has (value, low, high) in ms, and `as_good` whether it is as good as the place's best."""

    conditions: object
    figures: dict
    as_good: bool | None

    @property
    def place(self):
        return tuple(getattr(self.conditions, axis) for axis in AXES)


def known_of(row):
    figures = {name: tuple(float(row[f"{name}{end}_ms"] or math.inf) for end in ("", "_low", "_high")) for name in FIGURES}
    return Known(conditions_of(row), figures, ANSWERS[row["as_good"]])


def read(name):
    """Returns {variant: {place: Known}} of a map, the variants in the order of the effort."""
    path = PUBLISHED / name / "results.csv"
    found = {}
    with path.open(newline="") as file:
        for known in map(known_of, csv.DictReader(file)):
            found.setdefault(known.conditions.variant, {})[known.place] = known
    return found


def around(values, wanted, what):
    """Returns [(value, weight)]: the values of an axis next to the one wanted, weighted by its logarithm."""
    values = sorted(values)
    if not values[0] <= wanted <= values[-1]:
        raise LabError(f"{what} {wanted:g} has not been measured: it is between {values[0]:g} and {values[-1]:g}")
    if wanted in values:
        return [(wanted, 1.0)]
    low, high = max(value for value in values if value < wanted), min(value for value in values if value > wanted)
    share = math.log(wanted / low) / math.log(high / low)
    return [(low, 1 - share), (high, share)]


def between(known):
    """Returns {figure: (value, low, high)} between the points [(Known, weight)], linear in logarithms."""
    def mixed(name, end):
        logs = [(math.log(one.figures[name][end]), weight) for one, weight in known if one.figures[name][end] > 0]
        return math.exp(sum(log * weight for log, weight in logs)) if logs else 0.0

    return {name: tuple(mixed(name, end) for end in range(3)) for name in FIGURES}


def neighbours(variant, wanted):
    """Returns [(Known, weight)] of the points around a place."""
    axes = zip(*variant)
    sides = [around(set(values), one, axis.split("_")[0]) for values, one, axis in zip(axes, wanted, AXES)]
    return [(variant[tuple(value for value, _ in corner)], math.prod(weight for _, weight in corner))
            for corner in itertools.product(*sides)]


def rating(points):
    """Returns whether a variant is as good as the best at all of the points; None if it is at some of them, or it cannot be told."""
    answers = {one.as_good for one, _ in points}
    return answers.pop() if len(answers) == 1 else None


def decision(ratings):
    """Returns the sentence that says which variant to use, of {variant: rating}."""
    possible = [variant for variant, good in ratings.items() if good is not False]
    first = next((variant for variant, good in ratings.items() if good), None)
    before = possible[:possible.index(first)] if first else possible
    if first and not before:
        return f"Use {label_of(first)}."
    names = " or ".join(label_of(variant) for variant in before)
    return f"Undecided: {names} may be as good as {label_of(first)}." if first else f"Undecided: {names}, by the place between the points."


def shown(figures):
    return "  ".join(f"{name} {value:.1f} ({low:.1f} to {high:.1f})" for name, (value, low, high) in figures.items())


def lines(name, title, wanted):
    """Returns the lines about one map."""
    variants = read(name)
    found = {variant: neighbours(places, wanted) for variant, places in variants.items()}
    ratings = {variant: rating(points) for variant, points in found.items()}
    yield title
    yield f"  {decision(ratings)}"
    for variant, points in found.items():
        yield f"  {label_of(variant):8} {shown(between(points))} ms"
        yield f"           {variant.transport.effort}"
    places = ", ".join(f"{2 * delay:g} ms {loss:g} % {rate:g}/s" for delay, loss, rate in (one.place for one, _ in next(iter(found.values()))))
    yield f"  Stands on: {places} (doc/results/{name}/results.csv)"


def say(rtt_ms, loss_percent, rate):
    """Prints the advice."""
    for name, title in MAPS.items():
        print("\n".join(lines(name, title, (rtt_ms / 2, loss_percent, rate))))
