"""The account of a sample of a scenario: its verdicts, numbers beside the papers', and caveats, as texts."""

import math
from collections import Counter
from dataclasses import dataclass

from ..judge import wording
from ..judge.prediction import marks_of
from ..judge.verdicts import ALIKE_SHARE, gap_between, pairs
from ..measure import statistics
from ..measure.quantities import MEASURED, QUANTITIES
from ..measure.tests_of_runs import LEVEL, at_least
from ..scenario.conditions import label_of

NAMED = 3  # points that were not measured
BETWEEN = " · "  # places of a line
WRONG_MOST = 0.25  # of places where nothing differs fail at most: trends over seven places, three runs (tests/unit/lab/error_rates.py)
LISTED = 12  # verdicts on a claim whose numbers are given even if all hold
WORDS = {True: "holds", False: "does not hold", None: "inconclusive"}
NO_DIFFERENCE = "no difference shown"  # which does not show that there is none
VERDICTS = (*WORDS.values(), NO_DIFFERENCE)


@dataclass(frozen=True)
class Judgement:
    """A claim with the verdicts on its places, and these in words."""

    id: str
    claim: str
    summary: str
    verdicts: list


@dataclass(frozen=True)
class Sample:
    """The account of a scenario's sample. `paper` are rows (what, the paper's value, place, ours)."""

    about: str
    judgements: list
    paper: list
    model: list
    caveats: list


def with_interval(estimate, digits=1):
    return "-" if math.isnan(estimate.value) else wording.with_interval(estimate, digits)


def mark(combination):
    """Returns the remark on a mean, which leaves unanswered messages out."""
    said = ["aborted"] * bool(combination.aborted) + [f"{combination.unanswered} unanswered"] * bool(combination.unanswered)
    return f" ({', '.join(said)})" if said else ""


def by_chance(verdicts):
    """Returns how many verdicts of a sample are wrong by chance at most, in a sentence; empty if none stands on a test."""
    tests = sum(verdict.tests for verdict in verdicts)
    return f" The verdicts stand on {tests} comparisons at 5 %: up to {LEVEL * tests:.1f} are wrong by chance, on average." if tests else ""


def word_of(verdict):
    return NO_DIFFERENCE if verdict.no_difference else WORDS[verdict.holds]


def is_decided(places, holding, failing):
    """Returns whether a statement about all places is decided: each of them is, or it fails at more of them than would fail by chance
    where nothing differs."""
    return holding + failing == places or at_least(failing, places, WRONG_MOST) < LEVEL


def decisions(judged):
    """Returns how many statements of a sample are decided, and at how many places, in a sentence."""
    counts = [Counter(verdict.holds for verdict in verdicts) for _, verdicts in judged if len(verdicts)]
    places, known = sum(map(Counter.total, counts)), sum(count[True] + count[False] for count in counts)
    whole = sum(is_decided(count.total(), count[True], count[False]) for count in counts)
    return f" {whole} of {len(counts)} statements and {known} of {places} places are decided." if counts else ""


def summary_of(verdicts):
    """Returns at how many places a claim has which verdict, in words."""
    counts = Counter(map(word_of, verdicts))
    summary = ", ".join(f"{word} at {counts[word]}" for word in VERDICTS if counts[word]) or "not measured"
    if alike := sum(verdict.alike for verdict in verdicts):
        summary += f"; alike within {100 * ALIKE_SHARE:g} % at {alike} of these"
    return f"{summary}."


def listed(verdicts):
    """Returns the verdicts whose numbers are given: of many only those that do not hold."""
    return [verdict for verdict in verdicts if verdict.holds is not True or len(verdicts) <= LISTED]


def model_points(results):
    """Returns the reference points of the model, and the numbers of connections that were best in fact."""
    found = {}
    for plot in results.scenario.plots:
        for _, symbol, meaning in marks_of(results.select(plot.where), plot):
            found[symbol, meaning] = None
    lines = [f"{symbol}: {meaning}" for symbol, meaning in found]
    if any(plot.model and plot.x == "connections" for plot in results.scenario.plots):
        curves = {}
        for combination in results.combinations:
            if not combination.aborted and math.isfinite(combination.mean.value):
                key = combination.conditions.profile, combination.conditions.rate
                curves.setdefault(key, []).append(combination)
        for (profile, rate), curve in curves.items():
            best = min(curve, key=lambda combination: combination.mean.value)
            alike = [label_of(combination.conditions.variant) for combination in curve
                     if abs(combination.mean.value - best.mean.value) <=
                     statistics.difference(combination.mean, best.mean).half_width]
            lines.append(f"{profile}, {rate:g}/s: the lowest mean was measured with"
                         f" {label_of(best.conditions.variant)} ({with_interval(best.mean, 2)} ms);"
                         " not significantly different:"
                         f" {', '.join(alike)}")
    return lines


def ratio_to(number, measured):
    """Returns " (x 0.9)" if the paper's value is a number."""
    value = number["value"]
    if isinstance(value, str) or not value or not math.isfinite(measured.value):
        return ""
    ratio = measured.value / value
    return f" (x {ratio:.2f})" if ratio >= 0.1 else f" (x {ratio:.2g})"


def apart(a, b, quantity, shared):
    """Returns by how much a quantity of `a` is more than that of `b`, with its interval, and b's as a multiple of a's."""
    left, right = a.quantity(quantity), b.quantity(quantity)
    found, how = gap_between(a, b, quantity, shared)
    times = right.value / left.value if left.value else math.nan
    return (f"{wording.figure(found.value, 2, '+')} ({wording.ends(found, 2)}), x {wording.figure(times, 4)}{how}")


def beside(results, number):
    """Returns [(place, what was measured there)] for a number of a paper."""
    quantity = number["quantity"]
    if "less" in number:
        shared = results.scenario.setup.seeds == "shared"
        return [(a.conditions.place, apart(a, b, quantity, shared) + mark(a) + mark(b))
                for a, b in pairs(results, number["less"], number["than"], number["where"])]
    return [(f"{combination.conditions.place}: {combination.conditions.variant}",
             with_interval(found) + ratio_to(number, found) + (mark(combination) if QUANTITIES[quantity].answered else ""))
            for combination in results.select(number["where"]) for found in [combination.quantity(quantity)]]


def paper_rows(results):
    """Returns the papers' numbers, a row for each place that was measured."""
    return [[number["what"], str(number["value"]), *cells] for number in results.scenario.papers
            for cells in beside(results, number) or [("not measured", "-")]]


def of_combination(results, combination):
    """Returns the caveats of a combination, [(caveat, place)]."""
    place = f"{label_of(combination.conditions.variant)}, {combination.conditions.place}"
    found = []
    for run in combination.runs:
        if run["aborted"]:
            found.append(("aborted", f"{place}: {run['abort_reason']}"))
        if not run["valid"]:
            found.append(("not valid, as the generator was late (p99)", f"{place}: {run['generator_lag_p99_ms']:.2f} ms"))
    steady = combination.conditions.steady and not results.scenario.setup.changes
    if steady and any(statistics.grows(times) for times in combination.times):
        measured = MEASURED[results.scenario.setup.measure]
        found.append((f"{measured}s rise during the run, so the mean depends on its length", place))
    return found


def left_out(results):
    lines = []
    broken = [combination.conditions for combination in results.combinations if combination.aborted]
    beyond = [point for point in results.missing if any(
        conditions.rate < point.rate and conditions.without("rate") == point.without("rate")
        for conditions in broken)]
    if beyond:
        lines.append(f"not run: {len(beyond)} points at rates above the one at which their curve was aborted")
    others = [point.name for point in results.missing if point not in beyond]
    if others:
        some = ", ".join(others[:NAMED])
        lines.append(f"not measured: {len(others)} points: {some}" + (", ..." if len(others) > NAMED else ""))
    return lines


def mixed_programs(runs):
    """Returns a caveat if not all runs are by the same programs; those that most are by come first."""
    counts = Counter(run.get("programs", "unknown") for run in runs).most_common()
    if len(counts) < 2:
        return []
    (most, _), *others = counts
    which = ", ".join(f"{name} ({count})" for name, count in others)
    return [f"{sum(count for _, count in others)} of {len(runs)} runs by other programs, or other settings of the guest, than"
            f" most ({most}): {which}; run the scenario again to measure all by the same"]


def runs_of(results):
    """Returns the runs, each once, even if several profiles have it."""
    return list({run["fingerprint"]: run for combination in results.combinations for run in combination.runs}.values())


def caveats(results):
    places = {}
    for combination in results.combinations:
        for caveat, place in of_combination(results, combination):
            places.setdefault(caveat, []).append(place)
    return ([f"{caveat}: {BETWEEN.join(named)}" for caveat, named in places.items()] + left_out(results)
            + mixed_programs(runs_of(results)))


def size(results):
    """Returns what was measured, and what it took."""
    runs = runs_of(results)
    transactions = {job: len(times) for one in results.combinations for job, times in zip(one.jobs, one.times)}
    # Of a shared run, all entries but one have taken no time.
    minutes = sum(run.get("processor_s", math.nan) for one in results.combinations for run in one.runs) / 60
    cost = "" if math.isnan(minutes) else f", minutes of a processor: {minutes:.1f}"
    programs = {run.get("programs") for run in runs}  # if these differ, mixed_programs() says so
    by = f", programs: {programs.pop()}" if len(programs) == 1 and None not in programs else ""
    return f"Runs: {len(runs):,}, transactions: {sum(transactions.values()):,}{cost}{by}."


def sample_of(results, judged, about, choose=listed):
    """Returns the Sample of results; `choose` returns the verdicts on a claim whose places are named."""
    judgements = [Judgement(claim.id, claim.text, summary_of(verdicts), choose(verdicts)) for claim, verdicts in judged]
    chance = by_chance([verdict for _, verdicts in judged for verdict in verdicts])
    return Sample(f"{about} {size(results)}{decisions(judged)}{chance}", judgements, paper_rows(results), model_points(results),
                  caveats(results))
