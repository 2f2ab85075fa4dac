"""results.csv: a row for each combination of a scenario; and results read from it without samples."""

import csv
import math
from dataclasses import dataclass

from ..judge import wording
from ..judge.choice import choices
from ..judge.prediction import predicted
from ..measure import statistics
from ..measure.parts import NAMES
from ..measure.quantities import PERCENTILES
from ..measure.results import Selectable
from ..scenario.catalogue import WORKLOADS
from ..scenario.conditions import Conditions, conditions_of, shown

FIGURES = ("replications", "transactions", "unanswered", "aborted", "valid", "mean_ms", "ci95_ms", "ci95_independent_ms",
           "p50_ms", "p90_ms", "p95_ms", "p95_low_ms", "p95_high_ms", "p99_ms", "p99_low_ms", "p99_high_ms", "p999_ms", "max_ms", "lost_requests_percent",
           "lost_replies_percent", "grows")


def modelled(results):
    """Returns whether the model is about the scenario's workload: a request and its reply, each lost with a packet."""
    return not WORKLOADS[results.scenario.workload].sip


def model_cell(conditions):
    """Returns the prediction of equation 5, in words."""
    prediction = predicted(conditions)
    if prediction is None:
        return ""
    value, valid = prediction
    return wording.figure(value) + ("" if valid else " (outside)")


def lost_share(combination, direction):
    """Returns the share of that direction's packets that were lost, in percent."""
    lost, seen = (sum(run["packets"][direction][what] for run in combination.runs) for what in ("lost", "seen"))
    return 100.0 * lost / max(seen, 1)


def figures_of(combination):
    """Returns the cells of FIGURES: percentiles are those of all runs together."""
    times = combination.all_times
    mean, independent = combination.mean, statistics.mean_independent(times)
    interval95, interval99 = ((found.low, found.high) for found in map(combination.quantity, ("p95", "p99")))
    p50, p90, p95, p99, p999 = map(combination.quantile, (50, 90, 95, 99, 99.9))
    figures = [mean.value, mean.half_width, independent.half_width, p50, p90, p95, *interval95, p99, *interval99, p999,
               float(times.max()), *(lost_share(combination, direction) for direction in ("request", "reply"))]
    return [len(combination.times), len(times), combination.unanswered, int(combination.aborted),
            int(all(run["valid"] for run in combination.runs)), *("" if math.isnan(figure) else f"{figure:.3f}" for figure in figures),
            int(any(statistics.grows(times) for times in combination.times))]


def estimates_of(results):
    """Returns {column: function of a combination}: estimates with their intervals, as the full report prints them."""
    def estimate(name, digits=1):
        return lambda combination: wording.with_interval(combination.quantity(name), digits)

    columns = {name: estimate(name) for name in (*PERCENTILES, *results.scenario.tables)}
    if modelled(results):
        columns["equation_5"] = lambda combination: model_cell(combination.conditions)
    if any(combination.messages_split for combination in results.combinations):
        columns |= {name: estimate(name, 2) for name in NAMES} | {"messages_split": lambda combination: combination.messages_split}
    return columns | choice_columns(results)


def choice_columns(results):
    """Returns {column: function of a combination} of a scenario with a map, which `lab advise` reads: the ends of intervals, and
    whether a variant is as good as the best of its place."""
    for plot in results.scenario.plots:
        if plot.kind == "best":
            places = choices(results.select(plot.where), plot.quantity)
            good = {id(one): answer for choice in places.values() for one, answer in zip(choice.combinations, choice.as_good)}
            ends = {f"{name}_{end}_ms": lambda one, name=name, end=end: f"{getattr(one.quantity(name), end):.3f}"
                    for name in ("mean", "p999") for end in ("low", "high")}  # the other two have theirs in FIGURES
            return {**ends, "as_good": lambda one: good[id(one)]}
    return {}


def rows_of(results):
    """Returns the rows of results.csv, {column: cell} each."""
    estimates = estimates_of(results)
    for combination in results.combinations:
        conditions = {column: shown(getattr(combination.conditions, column)) for column in results.scenario.columns}
        yield {**conditions, **dict(zip(FIGURES, figures_of(combination), strict=True)),
               **{column: of(combination) for column, of in estimates.items()}}


def write(path, results):
    """Writes results.csv."""
    rows = list(rows_of(results))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0] if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@dataclass
class Row:
    """A combination by its row of results.csv."""

    conditions: Conditions
    mean: statistics.Estimate
    aborted: bool
    unanswered: int = 0

    def quantity(self, _):
        return self.mean

    def leaves_out(self, _):
        return self.unanswered


class Table(Selectable):
    """A scenario by results.csv, for results whose samples are elsewhere."""

    has_samples = False

    def __init__(self, rows, scenario):
        self.scenario, self.combinations = scenario, []
        for row in rows:
            mean = statistics.Estimate(*(float(row[name] or math.nan) for name in ("mean_ms", "ci95_ms")))
            self.combinations.append(Row(conditions_of(row), mean, row["aborted"] == "1", int(row["unanswered"] or 0)))


def table_of(path, scenario):
    """Returns the Table of results.csv."""
    with open(path, newline="") as file:
        return Table(csv.DictReader(file), scenario)
