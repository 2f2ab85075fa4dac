"""Differences between variants that met the same schedule of requests and losses, from pairs of blocks of it. A block is a
stretch of consecutive transactions, long enough that what one of them waits for rarely reaches the next block."""

import math

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
    transactions, with Student's interval over the blocks."""
    gaps = [answered_mean(a) - factor * answered_mean(b)
            for pair in pairs for a, b in zip(*map(blocks, pair), strict=True)]
    a, b = (numpy.concatenate(side) for side in zip(*pairs))
    value = answered_mean(a) - factor * answered_mean(b)
    spread = statistics.over_replications(gaps)
    return Estimate(value, spread.half_width, (value - spread.half_width, value + spread.half_width))


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


def resamples(count):
    """Returns the weights of resamples of `count` blocks: each draws as many blocks as there are, with replacement."""
    return numpy.random.default_rng(SEED).multinomial(count, numpy.full(count, 1.0 / count), size=RESAMPLES)


def ends_of(found):
    """Returns the ends of the interval that the resamples' values give."""
    tail = 50.0 * (1 - statistics.CONFIDENCE)
    return statistics.percentile(found, tail), statistics.percentile(found, 100.0 - tail)


def too_few(count, q):
    """Returns whether of so many transactions fewer than TAIL_MIN are beyond the q-th percentile."""
    return count * (100.0 - q) / 100.0 < TAIL_MIN - 1e-9


def percentile_interval(runs, q):
    """Returns the ends of the 95 % interval of the q-th percentile of `runs`, lists of the times of consecutive transactions,
    by the bootstrap of their blocks, as neighbours are alike; nan if there are too few beyond it, or for blocks."""
    times = numpy.concatenate(runs)
    if too_few(len(times), q) or min(map(len, runs)) < 2 * statistics.BATCHES:
        return math.nan, math.nan
    parts = [part for run in runs for part in blocks(run)]
    return ends_of(resampled_percentiles(parts, resamples(len(parts)), q))


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
    weights = resamples(len(sides[0]))
    left, right = (resampled_percentiles(side, weights, q) for side in sides)
    return Estimate.between(value, *ends_of(gap(left, factor * right)))
