"""report.md: what was measured, beside what the papers say."""

import math

from . import expectations, statistics
from .plots import marks_of, name_of, predicted

WORDS = {True: "holds", False: "does not hold", None: "cannot be told"}


def figure(value, digits=1):
    return "-" if not math.isfinite(value) else f"{value:.{digits}f}"


def with_interval(estimate, digits=1):
    text = figure(estimate.value, digits)
    return text if not math.isfinite(estimate.half_width) else f"{text} ± {estimate.half_width:.{digits}f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def swept(results):
    """Dimensions that differ, without variant and profile."""
    values = {}
    for one in results.combinations:
        for key, value in one.values.items():
            values.setdefault(key, set()).add(value)
    return [key for key, found in values.items() if len(found) > 1 and key not in ("variant", "profile")]


def mark(one):
    return "" if not one.aborted else " (broken off)"


def mean_table(results, profile, sweep):
    variants = list(dict.fromkeys(one.values["variant"] for one in results.combinations))
    rows = {}
    for one in results.select({"profile": [profile]}):
        place = tuple(one.values[key] for key in sweep)
        rows.setdefault(place, {})[one.values["variant"]] = with_interval(one.mean) + mark(one)
    return table([*sweep, *map(name_of, variants)],
                 [[*(f"{v:g}" if isinstance(v, float) else v for v in place),
                   *(cells.get(variant, "") for variant in variants)] for place, cells in rows.items()])


def detail_table(results, profile, sweep):
    rows = []
    for one in results.select({"profile": [profile]}):
        prediction = predicted(one.values)
        said = "" if prediction is None else figure(prediction[0]) + ("" if prediction[1] else " (outside)")
        independent = statistics.mean_independent(one.all_times)
        rows.append([*(f"{one.values[k]:g}" if isinstance(one.values[k], float) else one.values[k] for k in sweep),
                     name_of(one.values["variant"]), f"{len(one.all_times)}", with_interval(one.mean, 2) + mark(one),
                     figure(independent.half_width, 2), said,
                     *(with_interval(one.quantity(q)) for q in ("p50", "p95", "p99", "p999")),
                     figure(float(one.all_times.max())), str(one.unanswered)])
    return table([*sweep, "variant", "transactions", "mean, 95 %", "± as if independent", "equation 5", "p50",
                  "p95", "p99", "p99.9", "max", "unanswered"], rows)


def expectation_lines(results):
    lines = []
    for expectation, verdicts in expectations.check(results):
        counts = {word: sum(1 for v in verdicts if v.holds is holds) for holds, word in WORDS.items()}
        summary = ", ".join(f"{word} at {count}" for word, count in counts.items() if count) or "not measured"
        lines += [f"**{expectation['id']}** {expectation['claim']}: {summary}.", ""]
        for verdict in verdicts:
            if verdict.holds is not True:
                lines.append(f"- {verdict.where}: {WORDS[verdict.holds]}; {verdict.detail}")
        lines.append("")
    return lines


def model_lines(results):
    """The model's special places, and where parallel connections were best indeed."""
    found = {}
    for plot in results.scenario.plots:
        for _, symbol, meaning in marks_of(results.select(plot.get("where", {})), plot):
            found[symbol, meaning] = None
    lines = [f"- {symbol}: {meaning}" for symbol, meaning in found]
    if any(plot.get("model") and plot.get("x") == "connections" for plot in results.scenario.plots):
        curves = {}
        for one in results.combinations:
            if not one.aborted and math.isfinite(one.mean.value):
                curves.setdefault((one.values["profile"], one.values["rate"]), []).append(one)
        for (profile, rate), ones in curves.items():
            best = min(ones, key=lambda one: one.mean.value)
            alike = [name_of(one.values["variant"]) for one in ones
                     if abs(one.mean.value - best.mean.value) <=
                     statistics.difference(one.mean, best.mean).half_width]
            lines.append(f"- {profile}, {rate:g}/s: the least mean was measured with"
                         f" {name_of(best.values['variant'])} ({with_interval(best.mean, 2)} ms); not to be told from"
                         f" it: {', '.join(alike)}")
    return ["## The model's marks", "", *lines, ""] if lines else []


def paper_lines(results):
    rows = []
    for number in results.scenario.paper:
        ours = results.select(number["where"]) if "where" in number else []
        measured = "; ".join(f"{one.values['profile']}: {with_interval(one.quantity(number.get('quantity', 'mean')))}"
                             for one in ours)
        rows.append([number["what"], str(number["value"]), measured or "-"])
    return ["## Numbers of the paper", "", *table(["what", "paper", "here (ms)"], rows), ""] if rows else []


def notes(results):
    lines = []
    for one in results.combinations:
        place = f"{name_of(one.values['variant'])}, {expectations.place(one.values)}"
        for run in one.runs:
            if run["aborted"]:
                lines.append(f"- {place}: broken off, {run['abort_reason']}; a message was not handed over within"
                             " 1 s of its time, or the run could not go on")
            if not run["valid"]:
                lines.append(f"- {place}: not valid, the generator was late by"
                             f" {run['generator_lag_p99_ms']:.2f} ms (p99)")
        if any(statistics.grows(times) for times in one.times):
            lines.append(f"- {place}: response times rise through the run: more is offered than is carried")
    broken = [one.values for one in results.combinations if one.aborted]
    beyond = [point for point in results.missing if any(
        values["rate"] < point.rate and expectations.key_without(values, "rate") ==
        expectations.key_without(point.combination, "rate") for values in broken)]
    if beyond:
        lines.append(f"- not run: {len(beyond)} points at higher rates than where their curve was broken off")
    lines += [f"- not measured: {point.name}" for point in results.missing if point not in beyond]
    return ["## To be borne in mind", "", *lines, ""] if lines else []


def write(results, path, drawn, about):
    scenario = results.scenario
    sweep = swept(results)
    lines = [f"# {scenario.name}: {scenario.title}", "", f"Source: {scenario.source}. {about}", ""]
    for profile in results.profiles():
        lines += [f"## Mean response time, profile {profile} (ms)", "", *mean_table(results, profile, sweep), ""]
    if scenario.expectations:
        lines += ["## Expectations", "", *expectation_lines(results)]
    lines += paper_lines(results)
    lines += model_lines(results)
    if drawn:
        lines += ["## Figures", "", "Thick pale lines: equation 5 with the paper's time-outs (SCTP 1 s, TCP RTT +"
                  " 200 ms) where it is valid; dotted: beyond. A cross is where a curve was broken off.", ""]
        lines += [f"![{title}](plots/{name}.svg)" for name, title in drawn] + [""]
    for profile in results.profiles():
        lines += [f"## All figures, profile {profile} (ms)", "", *detail_table(results, profile, sweep), ""]
    lines += notes(results)
    path.write_text("\n".join(lines).rstrip() + "\n")
