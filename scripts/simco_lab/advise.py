"""What `scripts/lab advise` says: which transport to use at a round-trip time, a loss and a rate, by the published maps."""

import csv
import itertools
import math
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError
from .scenario.conditions import conditions_of, label_of

PUBLISHED = Path(__file__).resolve().parents[2] / "doc" / "results"
MAPS = {"map-simco": "SIMCO: response time of PER transactions",
        "map-sip": "SIP: one-way delay of INVITEs"}
RULE = ("Chosen: the transport of least effort whose 99th percentile, at each point, is less than 5 % above those of the others that"
        " carry the load.")
AXES = {"delay_ms": ("--rtt", 2, " ms"), "loss_percent": ("--loss", 1, " %"), "rate": ("--rate", 1, "/s")}  # option, factor, unit
FIGURES = ("p99", "mean", "p95", "p999")
ANSWERS = {"True": True, "False": False, "": None}  # as csv writes them


@dataclass
class Known:
    """A row of a map: `figures` has (low, high) in ms, and `as_good` whether it is as good as the others of its place."""

    conditions: object
    figures: dict
    as_good: bool | None

    @property
    def place(self):
        return tuple(getattr(self.conditions, axis) for axis in AXES)


def interval(row, name):
    """Returns the ends of a figure's interval; without one, the figure itself."""
    value, low, high = (float(row[f"{name}{end}_ms"] or "nan") for end in ("", "_low", "_high"))
    return (value, value) if math.isnan(low) or math.isnan(high) else (low, high)


def read(name):
    """Returns {variant: {place: Known}} of a map, the variants in the order of the effort."""
    path = PUBLISHED / name / "results.csv"
    if not path.exists():
        raise LabError(f"{path} is not there: `scripts/lab run {name}` measures it")
    found = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            known = Known(conditions_of(row), {one: interval(row, one) for one in FIGURES}, ANSWERS[row["as_good"]])
            found.setdefault(known.conditions.variant, {})[known.place] = known
    return found


def around(values, wanted, axis):
    """Returns the values of an axis that are measured: the one wanted, or those next to it."""
    option, factor, unit = AXES[axis]
    if not min(values) <= wanted <= max(values):
        raise LabError(f"{option} {factor * wanted:g}: measured are {factor * min(values):g} to {factor * max(values):g}{unit}")
    low, high = max(value for value in values if value <= wanted), min(value for value in values if value >= wanted)
    return sorted({low, high})


def rating(points):
    """Returns whether a variant is as good as the others at all of the points. One that has not been measured at one of them was
    aborted at a lower rate."""
    answers = {one is not None and one.as_good for one in points}
    return answers.pop() if len(answers) == 1 else None


def decision(ratings):
    """Returns the sentence that says which variant to use, of {variant: rating}."""
    possible = [variant for variant, good in ratings.items() if good is not False]
    if not possible:
        return "None carries this."
    if ratings[possible[0]]:
        return f"Use {label_of(possible[0])}."
    first = next((variant for variant in possible if ratings[variant]), None)
    open_ones = possible[:possible.index(first)] if first else possible
    return f"Undecided: {' or '.join(map(label_of, open_ones + [first] * bool(first)))}."


def shown(points):
    """Returns the figures over all points: from the least to the greatest end of their intervals."""
    if None in points:
        return "aborted at some of the points"
    ends = {name: [one.figures[name] for one in points] for name in FIGURES}
    return ", ".join(f"{name.replace('p999', 'p99.9')} {min(low for low, _ in pairs):.1f} to {max(high for _, high in pairs):.1f}"
                     for name, pairs in ends.items()) + " ms"


def lines(name, title, wanted):
    """Returns the lines about one map."""
    variants = read(name)
    places = {place for known in variants.values() for place in known}
    corners = list(itertools.product(*(around(set(values), one, axis) for values, one, axis in zip(zip(*places), wanted, AXES))))
    found = {variant: [known.get(corner) for corner in corners] for variant, known in variants.items()}
    yield f"{title}. {decision({variant: rating(points) for variant, points in found.items()})}"
    for variant, points in found.items():
        yield f"  {label_of(variant):8}  {shown(points)}"
        yield f"            takes {variant.transport.effort}"
    there = ", ".join(" ".join(f"{factor * value:g}{unit}" for value, (_, factor, unit) in zip(corner, AXES.values())) for corner in corners)
    yield f"  Points: {there} (doc/results/{name})"


def say(rtt_ms, loss_percent, rate):
    """Prints the advice."""
    for name, title in MAPS.items():
        print("\n".join(lines(name, title, (rtt_ms / 2, loss_percent, rate))))
    print(RULE)
