"""Differences between variants that met the same schedule of requests and losses, from pairs of blocks of it. A block is a
stretch of consecutive transactions, long enough that what one of them waits for rarely reaches the next block."""

import math
from dataclasses import dataclass

import numpy

from . import statistics

RESAMPLES = 999
SEED = 1  # the same samples always give the same interval
TAIL_MIN = 5  # transactions beyond a percentile: with fewer, single ones decide
AT_ONCE = 50  # resamples, to bound the memory


@dataclass(frozen=True)
class Interval:
    """A value and the ends of its 95 % interval, nan if it has none."""

    value: float
    low: float = math.nan
    high: float = math.nan


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
    return Interval(value, value - spread.half_width, value + spread.half_width)


def resampled_percentiles(parts, weights, q):
    """Returns the q-th percentile of each resample, by nearest rank: row i of `weights` says how often it has each of the
    blocks `parts`."""
    times = numpy.concatenate(parts)
    block = numpy.repeat(numpy.arange(len(parts)), [len(part) for part in parts])
    order = numpy.argsort(times, kind="stable")
    times, block = times[order], block[order]
    found = []
    for chosen in numpy.array_split(weights, math.ceil(len(weights) / AT_ONCE)):
        upto = numpy.cumsum(chosen[:, block], axis=1)
        rank = numpy.maximum(numpy.ceil(q / 100.0 * upto[:, -1]), 1)
        found.append(times[(upto < rank[:, None]).sum(axis=1)])
    return numpy.concatenate(found)


def gap(a, b):
    """Returns a - b, where two that never end are alike."""
    with numpy.errstate(invalid="ignore"):
        return numpy.nan_to_num(numpy.subtract(a, b), nan=0.0, posinf=math.inf, neginf=-math.inf)


def percentile_difference(pairs, q, factor=1.0):
    """Returns the difference of a's q-th percentile and factor times b's over `pairs`, with the interval of its bootstrap:
    a resample draws as many pairs of blocks as there are, with replacement. Without an interval if fewer than TAIL_MIN
    transactions are beyond the percentile."""
    a, b = (numpy.concatenate(side) for side in zip(*pairs))
    value = float(gap(statistics.percentile(a, q), factor * statistics.percentile(b, q)))
    if len(a) * (100.0 - q) / 100.0 < TAIL_MIN - 1e-9:
        return Interval(value)
    sides = [[part for times in side for part in blocks(times)] for side in zip(*pairs)]
    count = len(sides[0])
    weights = numpy.random.default_rng(SEED).multinomial(count, numpy.full(count, 1.0 / count), size=RESAMPLES)
    left, right = (resampled_percentiles(side, weights, q) for side in sides)
    gaps = gap(left, factor * right)
    tail = 50.0 * (1 - statistics.CONFIDENCE)
    return Interval(value, statistics.percentile(gaps, tail), statistics.percentile(gaps, 100.0 - tail))
