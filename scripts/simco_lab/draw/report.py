"""report.md as it is published: one table of claims and of the papers' numbers, then every place that was judged. The full report
has all tables and figures besides."""

import re
from collections import Counter

from . import tables
from .account import BETWEEN, VERDICTS, word_of
from .tables import table

FULL = "full-report.md"
NUMBER = re.compile(r"(?<![\w.-])[-+]?\d+(?:\.\d+)?(?![\w.])")
INTERVAL = re.compile(r" ± [\d.]+| \([^()]*\)")
REST = (f"[results.csv](results.csv) has the values of every point. `{FULL}`, with all tables and figures, is beside the samples: where"
        " `scripts/lab run` has left them, and in the archive that `scripts/lab archive` makes.")


def ranged(numbers):
    """Returns the ends of what numbers, as texts, span: "41.1 to 45.2"."""
    least, most = min(numbers, key=float), max(numbers, key=float)
    return least if float(least) == float(most) else f"{least} to {most}"


def in_short(details):
    """Returns the numbers of several places in one phrase, each the range of what they have."""
    heads = [INTERVAL.sub("", detail).split(", ")[0].split("; ")[0] for detail in details]
    form = Counter(NUMBER.sub("#", head) for head in heads).most_common(1)[0][0]
    columns = zip(*(NUMBER.findall(head) for head in heads if NUMBER.sub("#", head) == form))
    ranges = iter([ranged(column) for column in columns])
    return re.sub("#", lambda _: next(ranges), form)


def here(judgement):
    """Returns our numbers for a claim. Of many places the full report alone has those at which it holds."""
    verdicts = judgement.verdicts
    if len(verdicts) == 1 and judgement.summary.count(" at ") == 1:
        return verdicts[0].detail.split("; ")[0]
    if not verdicts:
        return "in results.csv" if " at " in judgement.summary else ""
    partly = "holds at" in judgement.summary and not any(verdict.holds for verdict in verdicts)
    return "at the other places: " * partly + in_short([verdict.detail for verdict in verdicts])


def numbers_of(paper):
    """Returns the papers' numbers: {(what, the paper's value): [(place, ours)]}."""
    found = {}
    for what, value, place, ours in paper:
        found.setdefault((what, value), []).append((place, ours))
    return found


def beside(places):
    """Returns our numbers beside a paper's one."""
    return ": ".join(filter(None, places[0])) if len(places) == 1 else in_short([ours for _, ours in places])


def claim_table(sample):
    """Returns the lines of the table of the claims, and then of the papers' numbers."""
    rows = [[one.id, one.claim, "", here(one), one.summary.removesuffix(".")] for one in sample.judgements]
    rows += [["", what, value, beside(places), ""] for (what, value), places in numbers_of(sample.paper).items()]
    return table(["id", "claim", "paper", "here (times in ms)", "verdict"], rows)


def places_of(judgement):
    """Returns the places of a claim by their verdicts, in one line."""
    groups = {word: [f"{verdict.where}: {verdict.detail}" for verdict in judgement.verdicts if word_of(verdict) == word]
              for word in VERDICTS}
    return " ".join(f"*{word}*: {BETWEEN.join(places)}." for word, places in groups.items() if places)


def place_lines(sample):
    """Returns a line for each claim, and for each of the papers' numbers that is measured at several places."""
    claims = [f"- **{one.id}**: {places_of(one)}" for one in sample.judgements if one.verdicts]
    return claims + [f"- {what}, {value} in the paper: {BETWEEN.join(f'{place}: {ours}' for place, ours in places)}"
                     for (what, value), places in numbers_of(sample.paper).items() if len(places) > 1]


def section(title, lines):
    return [f"## {title}", "", *lines, ""] if lines else []


def lines_of(scenario, sample, more=()):
    """Returns the lines of a report on a scenario's sample; `more` stand before its notes."""
    source = [f"Source: {scenario.source}.", ""] if scenario.source else []
    return [f"# {scenario.name}: {scenario.title}", "", *claim_table(sample), "", *source, f"- {sample.about}", "", *more,
            *section("Notes", [f"- {note}" for note in scenario.notes]), *section("Places", place_lines(sample)),
            *section("Reference points of the model", [f"- {line}" for line in sample.model]),
            *section("Caveats", [f"- {line}" for line in sample.caveats])]


def write(path, scenario, sample):
    """Writes the short report."""
    path.write_text("\n".join(lines_of(scenario, sample, [REST, ""])).rstrip() + "\n")


def write_full(path, results, sample, drawn):
    """Writes the full report; `drawn` are its figures."""
    path.write_text("\n".join(lines_of(results.scenario, sample) + tables.lines_of(results, drawn)).rstrip() + "\n")
