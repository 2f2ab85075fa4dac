"""The tables and figures of the full report."""

import math

from ..judge import wording
from ..measure import statistics
from ..measure.parts import NAMES
from ..measure.quantities import MEASURED, QUANTITIES
from ..scenario.conditions import label_of, shown
from .account import mark, with_interval
from .values import model_cell, modelled


def figure(value, digits=1):
    return "-" if math.isnan(value) else wording.figure(value, digits)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def swept(results):
    """Dimensions that differ, without variant and profile."""
    values = {}
    for combination in results.combinations:
        for key, value in combination.conditions.items():
            values.setdefault(key, set()).add(value)
    return [key for key, found in values.items() if len(found) > 1 and key not in ("variant", "profile")]


def quantity_table(results, profile, sweep, quantity="mean"):
    """Returns a table of a quantity: a column for each variant."""
    measured = results.select({"profile": [profile]})
    variants = list(dict.fromkeys(combination.conditions.variant for combination in measured))
    rows = {}
    for combination in measured:
        place = tuple(getattr(combination.conditions, key) for key in sweep)
        cells = rows.setdefault(place, {})
        cells[combination.conditions.variant] = with_interval(combination.quantity(quantity)) + mark(combination)
    return table([*sweep, *map(label_of, variants)],
                 [[*map(shown, place), *(cells.get(variant, "") for variant in variants)]
                  for place, cells in rows.items()])


def detail_table(results, profile, sweep):
    def row(combination):
        conditions, times = combination.conditions, combination.all_times
        return [*(shown(getattr(conditions, key)) for key in sweep), label_of(conditions.variant), str(len(times)),
                with_interval(combination.mean, 2) + mark(combination),
                figure(statistics.mean_independent(times).half_width, 2), *[model_cell(conditions)] * modelled(results),
                *(with_interval(combination.quantity(q)) for q in ("p50", "p95", "p99", "p999")),
                figure(float(times.max())), str(combination.unanswered)]

    return table([*sweep, "variant", "transactions", "mean, 95 %", "± assuming independence",
                  *["equation 5"] * modelled(results), "p50", "p95", "p99", "p99.9", "max", "unanswered"],
                 list(map(row, results.select({"profile": [profile]}))))


def parts_lines(results):
    """The table of where delays come from, of combinations whose packets were captured."""
    rows = [[f"{combination.conditions.place}", label_of(combination.conditions.variant),
             *(with_interval(combination.quantity(name), 2) for name in NAMES),
             f"{combination.messages_split} of {len(combination.all_times)}"]
            for combination in results.combinations if math.isfinite(combination.quantity("network").value)]
    if not rows:
        return []
    return ["## Where the delay comes from (ms)", "", "Means: a message waits for its sender's window, is under way (with the"
            " recovery of lost packets), and waits at the receiver for those before it.", "",
            *table(["where", "variant", "sender's wait", "network", "behind others", "messages"], rows), ""]


def figure_lines(results, drawn):
    if not drawn:
        return []
    explained = ("Thick pale lines show equation 5 with the papers' timeouts (SCTP 1 s, TCP RTT + 200 ms) in its valid"
                 " range, dotted lines outside it. " if modelled(results) else "")
    return ["## Figures", "", f"{explained}A cross marks an aborted run.", "",
            *(f"![{title}](plots/{name}.svg)" for name, title in drawn), ""]


def lines_of(results, drawn):
    """Returns the lines of all tables, and of the figures."""
    sweep, measure, lines = swept(results), results.scenario.setup.measure, []
    for profile in results.profiles():
        lines += [f"## Mean {MEASURED[measure]}, profile {profile} (ms)", "", *quantity_table(results, profile, sweep), ""]
        for name in results.scenario.tables:
            lines += [f"## {QUANTITIES[name].title(measure)}, profile {profile}", "",
                      *quantity_table(results, profile, sweep, name), ""]
    lines += parts_lines(results) + figure_lines(results, drawn)
    for profile in results.profiles():
        lines += [f"## All values, profile {profile} (ms)", "", *detail_table(results, profile, sweep), ""]
    return lines
