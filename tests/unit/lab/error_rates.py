"""How often each decision rule is wrong if nothing differs, and how often a map decides at its limit: simulated runs of a delay that
losses raise, with and without a spread from run to run. Prints a table, of which doc/measuring.md has the extremes:

    PYTHONPATH=scripts /usr/bin/python3 tests/unit/lab/error_rates.py 1000
"""

import sys
from types import SimpleNamespace

import numpy

import trial
from simco_lab.judge.choice import MARGIN, choose
from simco_lab.judge.claims import Figures, increasing
from simco_lab.scenario.conditions import values_of
from simco_lab.scenario.variant import Variant

VARIANTS = ("tcp", "sctp-1", "sctp-unordered")
A, B = ({"variant": Variant.parse(name)} for name in VARIANTS[:2])
MESSAGES = 600
SPREADS = {"alike": 0.0, "spread": 0.3}  # of the runs: standard deviation of the logarithm of how often something is lost
LOSS = 0.02


def delays(rng, spread):
    """Returns the delays of one run (ms): each loss holds up the messages of the next moments."""
    times = 20 + rng.exponential(0.5, MESSAGES)
    for hit in numpy.flatnonzero(rng.random(MESSAGES) < LOSS * rng.lognormal(0, spread)):
        times[hit:hit + rng.integers(1, 6)] += rng.exponential(20)
    return times


class Results(trial.Results):
    def of(self, quantity, **sides):
        return Figures(self, {}, quantity, values_of(sides))


def made(rng, runs, spread, seeds, of=VARIANTS[0], first=1, **places):
    """Returns the results of variants (or of the variant `of` at values of another dimension) that are the same, but for the first, whose
    delays are `first` times those of the others. With shared seeds half of a run's delay above 20 ms is of the losses that all of them
    met."""
    [(dimension, values)] = places.items()
    shared = [delays(rng, spread) - 20 for _ in range(runs)]
    weight = 0.5 if seeds == "shared" else 0.0
    found = []
    for value in values:
        factor = first if value == values[0] else 1
        times = [factor * (20 + weight * one + (1 - weight) * (delays(rng, spread) - 20)) for one in shared]
        found.append(trial.combination(value if dimension == "variant" else of, *times,
                                       **({} if dimension == "variant" else {dimension: value})))
    return Results(found, seeds)


def two(of, seeds, **more):
    return lambda rng, runs, spread, truth: of(made(rng, runs, spread, seeds, variant=VARIANTS[:2]), truth, **more)


def along(of, places=3):
    return lambda rng, runs, spread, truth: of(made(rng, runs, spread, "own", rate=tuple(map(float, range(1, places + 1)))), truth)


def two_along(of):
    def verdicts(rng, runs, spread, truth):
        every = [one for name in VARIANTS[:2] for one in made(rng, runs, spread, "own", name, rate=(1.0, 2.0)).combinations]
        return of(Results(every, "own"), truth)

    return verdicts


def best(rng, runs, spread, _):
    """A variant that is exactly the margin above the others: a decision either way is chance."""
    choice = choose(made(rng, runs, spread, "shared", first=MARGIN, variant=VARIANTS).combinations, "p95")
    return [SimpleNamespace(holds=choice.as_good[0])]


def less(results, _, quantity="mean"):
    return results.of(quantity, **A) < results.of(quantity, **B)


def rising(results, _):
    return results.of("mean").rises_along("rate")


# {rule: (verdicts of a trial, numbers of runs that it can tell)}. Whatever they decide is wrong, but for the TRUE ones.
TRUE = ("`like`", "`independent_of`", "`never_", "`equal`")  # these hold in truth
RULES = {
    "`<`, means": (two(less, "own"), (1, 3, 6)),
    "`<`, means, pairs": (two(less, "shared"), (1, 3, 6)),
    "`<`, P95": (two(less, "own", quantity="p95"), (1, 3, 6)),
    "`<`, P95, pairs": (two(less, "shared", quantity="p95"), (1, 3, 6)),
    "a limit, mean": (two(lambda results, truth: results.of("mean", **A).within(below=truth["mean"]), "own"), (1, 3, 6)),
    "a limit, P95": (two(lambda results, truth: results.of("p95", **A).within(below=truth["p95"]), "own"), (1, 3, 6)),
    "`increasing`": (two(lambda results, _: increasing(results.of("mean", **A), results.of("mean", **B)), "own"), (1, 3, 6)),
    "`faster_than`, P95": (two(lambda results, _: results.of("p95", **A).faster_than(results.of("p95", **B)), "own"), (6,)),
    "`like`, means": (two(lambda results, _: results.of("mean", **A).like(results.of("mean", **B)), "own"), (1, 3, 6)),
    "`like`, P95": (two(lambda results, _: results.of("p95", **A).like(results.of("p95", **B)), "own"), (6,)),
    "`rises_along`, three places": (along(rising), (1, 3, 6)),
    "`rises_along`, seven places": (along(rising, 7), (1, 3, 6)),
    "`never_rises_along`, three places": (along(lambda results, _: results.of("mean").never_rises_along("rate")), (1, 3, 6)),
    "`flatter_than`": (two_along(lambda results, _: results.of("mean", **A).flatter_than(results.of("mean", **B), "rate", 1, 2)),
                       (1, 3, 6)),
    "`best`, P95, pairs": (best, (1, 3, 6)),
    "`equal` within 0 ms": (two(lambda results, _: results.of("mean").equal(within_ms=0), "own"), (1, 3, 6)),
    "`independent_of`, P95": (along(lambda results, _: results.of("p95").independent_of("rate", on=["rate"])), (3, 6)),
}


def is_wrong(rule, verdict):
    return verdict.holds is not None and not (verdict.holds and rule.startswith(TRUE))


def truth(spread):
    """Returns the figures of so many messages that chance hardly moves them."""
    rng = numpy.random.default_rng(0)
    times = numpy.concatenate([delays(rng, spread) for _ in range(1000)])
    return {"mean": float(times.mean()), "p95": float(numpy.percentile(times, 95))}


def rates(trials, rules=RULES):
    """Returns {(rule, spread of the runs, runs): share of wrong verdicts}."""
    found = {}
    for rule, (judge, numbers) in rules.items():
        for name, spread in SPREADS.items():
            true = truth(spread)
            for runs in numbers:
                rng = numpy.random.default_rng(1)
                verdicts = [verdict for _ in range(trials) for verdict in judge(rng, runs, spread, true)]
                found[rule, name, runs] = sum(is_wrong(rule, verdict) for verdict in verdicts) / len(verdicts)
    return found


def main():
    found, columns = rates(int(sys.argv[1])), [(name, runs) for name in SPREADS for runs in (1, 3, 6)]
    for rule in RULES:
        cells = [f"{100 * found[rule, *column]:.1f}" if (rule, *column) in found else "" for column in columns]
        print(f"| {rule} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
