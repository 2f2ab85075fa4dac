"""Differences between variants that met the same schedule of requests and losses, from pairs of blocks of it. A block is a
stretch of consecutive transactions, long enough that what one of them waits for rarely reaches the next block."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy

from . import statistics
from .statistics import Estimate

RESAMPLES = 999
SEED = 1  # the same samples always give the same interval
TAIL_MIN = 5  # transactions beyond a percentile: with fewer, single ones decide


def blocks(times):
    return numpy.array_split(times, statistics.BATCHES)


def answered_mean(times):
    return statistics.mean_independent(times).value


def mean_difference(pairs, factor=1.0):
    """Returns the difference of a's mean and factor times b's over `pairs` [(times of a, times of b)] of the same
    transactions, with the interval of blocks within runs."""
    def gap_of(a, b):
        return answered_mean(a) - factor * answered_mean(b)

    gaps = [numpy.array([gap_of(a, b) for a, b in zip(*map(blocks, pair), strict=True)]) for pair in pairs]
    known = [one[numpy.isfinite(one)] for one in gaps]
    values = [gap_of(*pair) for pair in pairs]
    return statistics.nested(values, known) if min(map(len, known)) > 1 else statistics.over_replications(values)


def resampled_percentiles(parts, weights, q):
    """Returns the q-th percentile of each resample, by nearest rank: row i of `weights` says how often it has each of the
    blocks `parts`."""
    times, ordered = numpy.sort(numpy.concatenate(parts)), [numpy.sort(part) for part in parts]
    rank = numpy.maximum(numpy.ceil(q / 100.0 * (weights @ list(map(len, parts)))), 1)
    low, high = numpy.zeros(len(weights), dtype=int), numpy.full(len(weights), len(times) - 1)
    while (low < high).any():  # each resample's first time up to which it has enough, by halves
        middle = (low + high) // 2
        upto = [numpy.searchsorted(part, times[middle], side="right") for part in ordered]
        enough = (weights * numpy.transpose(upto)).sum(axis=1) >= rank
        low, high = numpy.where(enough, low, middle + 1), numpy.where(enough, middle, high)
    return times[low]


@lru_cache(maxsize=4)
def resamples(runs):
    """Returns the weights of resamples of the blocks of so many runs: each draws, with replacement, as many blocks of every run
    as it has."""
    shares = numpy.full(statistics.BATCHES, 1.0 / statistics.BATCHES)
    draw = numpy.random.default_rng(SEED).multinomial(statistics.BATCHES, shares, size=(runs, RESAMPLES))
    return numpy.concatenate(draw, axis=1)


def ends_of(found):
    """Returns the ends of the interval that the resamples' values give."""
    tail = 50.0 * (1 - statistics.CONFIDENCE)
    return statistics.percentile(found, tail), statistics.percentile(found, 100.0 - tail)


def too_few(count, q):
    """Returns whether of so many transactions fewer than TAIL_MIN are beyond the q-th percentile."""
    return count * (100.0 - q) / 100.0 < TAIL_MIN - 1e-9


def nested(value, of_runs, resampled):
    """Returns `value` with the interval that resampled blocks give, or, if the values `of_runs` differ more than these explain, the
    mean of the runs with theirs."""
    runs, finite = len(of_runs), bool(numpy.isfinite(of_runs).all())
    if finite and runs > 1 and numpy.isfinite(resampled).all():
        differ = statistics.runs_differ(float(numpy.var(of_runs, ddof=1)) / runs, float(resampled.var()), runs)
    else:
        differ = runs >= statistics.RUNS_MIN and not finite
    if differ:
        return replace(statistics.over_replications(of_runs), of_runs=True)
    return Estimate.between(value, *ends_of(resampled))


def percentile_over(runs, q):
    """Returns the q-th percentile of `runs`, lists of the times of consecutive transactions, with its interval by the bootstrap
    of their blocks, as neighbours are alike; without one if there are too few beyond it, or for blocks."""
    times, of_runs = numpy.concatenate(runs), [statistics.percentile(run, q) for run in runs]
    if too_few(len(times), q) or min(map(len, runs)) < 2 * statistics.BATCHES:
        few = len(runs) < statistics.RUNS_MIN
        return Estimate(statistics.percentile(times, q)) if few else statistics.over_replications(of_runs).positive
    parts = [part for run in runs for part in blocks(run)]
    return nested(statistics.percentile(times, q), of_runs, resampled_percentiles(parts, resamples(len(runs)), q)).positive


def gap(a, b):
    """Returns a - b, where two that never end are alike."""
    with numpy.errstate(invalid="ignore"):
        return numpy.nan_to_num(numpy.subtract(a, b), nan=0.0, posinf=math.inf, neginf=-math.inf)


def percentile_difference(pairs, q, factor=1.0):
    """Returns the difference of a's q-th percentile and factor times b's over `pairs`, with the interval of the
    bootstrap of their blocks. Without an interval if fewer than TAIL_MIN transactions are beyond the percentile."""
    a, b = (numpy.concatenate(side) for side in zip(*pairs))
    value = float(gap(statistics.percentile(a, q), factor * statistics.percentile(b, q)))
    if too_few(len(a), q):
        return Estimate(value)
    sides = [[part for times in side for part in blocks(times)] for side in zip(*pairs)]
    weights = resamples(len(pairs))
    left, right = (resampled_percentiles(side, weights, q) for side in sides)
    of_runs = [float(gap(statistics.percentile(x, q), factor * statistics.percentile(y, q))) for x, y in pairs]
    return nested(value, of_runs, gap(left, factor * right))
