"""Statistics of response times, as doc/measuring.md defines them. Times are milliseconds; that of a transaction
without a reply is infinity, so that every order statistic counts it."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy
from mpmath import mp

BATCHES = 30
CONFIDENCE = 0.95
RUNS_DIFFER = 0.25  # level of the test whether runs differ more than their blocks explain
SKEW_SHOWN = 0.1  # of half the interval: a value so far from its middle has both ends printed
CCDF_POINTS = 400
LOG_MAX = 300.0  # what its exponential is finite of
RUNS_MIN = 3  # of an interval over runs


def student_p(t, degrees):
    """Returns the two-sided probability of a Student's t of that size or more."""
    return mp.betainc(degrees / 2.0, 0.5, 0, degrees / (degrees + t * t), regularized=True)


@lru_cache(maxsize=None)
def student_t(degrees):
    """Returns the two-sided 95 % quantile of Student's distribution."""
    return float(mp.findroot(lambda t: student_p(t, degrees) - (1 - CONFIDENCE), (1.5, 15), solver="anderson"))


@dataclass(frozen=True)
class Estimate:
    """A value and half of its 95 % interval, nan if it has none; and the interval's ends if the value is not in its middle.
    `of_runs`: the runs' own spread gives it, not that of the blocks within them."""

    value: float
    half_width: float = math.nan
    ends: tuple | None = None
    of_runs: bool = False

    @classmethod
    def between(cls, value, low, high):
        return cls(value, (high - low) / 2, (low, high))

    @property
    def low(self):
        return self.ends[0] if self.ends else self.value - self.half_width

    @property
    def high(self):
        return self.ends[1] if self.ends else self.value + self.half_width

    @property
    def skewed(self):
        """Whether the value is so far from the middle that half a width would not say where the ends are."""
        return self.ends is not None and not (
            abs(self.low + self.high - 2 * self.value) <= SKEW_SHOWN * self.half_width < math.inf)

    @property
    def positive(self):
        """The estimate of what is never negative: as far to both ends on a logarithmic scale."""
        if not (self.value > 0 and math.isfinite(self.half_width)) or self.ends:
            return self
        factor = math.exp(min(self.half_width / self.value, LOG_MAX))
        return Estimate(self.value, self.value * (factor - 1 / factor) / 2, (self.value / factor, self.value * factor), self.of_runs)

    def times(self, factor):
        """Returns the estimate of a value that is `factor` times as large."""
        return replace(self, value=self.value * factor, half_width=self.half_width * factor,
                       ends=self.ends and tuple(end * factor for end in self.ends))


def mean_of(values):
    """Returns the mean with Student's interval over independent values."""
    n = len(values)
    if n < 2:
        return Estimate(float(values[0]) if n else math.nan)
    return Estimate(float(values.mean()), student_t(n - 1) * float(values.std(ddof=1)) / math.sqrt(n))


def mean_independent(times):
    """Returns the mean with the papers' interval, which assumes independent transactions. Head-of-line blocking
    makes neighbours alike, so it is too narrow under loss."""
    return mean_of(times[numpy.isfinite(times)])


def batch_means(answered):
    """Returns the means of batches of consecutive transactions; none if there are too few."""
    size = len(answered) // BATCHES
    return answered[: size * BATCHES].reshape(BATCHES, size).mean(axis=1) if size > 1 else []


def runs_differ(of_runs, of_blocks, runs):
    """Returns whether the variance of a mean that the runs' own spread gives is larger, by more than chance, than the one that the
    blocks within them give. Then something differs from run to run that blocks do not show. The F test's level is high, so
    that it does not miss much (Bancroft's advice for tests of whether to pool)."""
    if not 0 < of_blocks < math.inf:
        return of_runs > of_blocks
    between, within = runs - 1, runs * (BATCHES - 1)
    return mp.betainc(within / 2, between / 2, 0, within / (within + between * of_runs / of_blocks), regularized=True) < RUNS_DIFFER


def nested(values, blocks):
    """Returns the mean of the `values` of runs with Student's interval over the `blocks` within them, an array for each run; if
    the runs differ more than these explain, over the runs."""
    runs = len(values)
    sizes = [len(one) for one in blocks]
    of_blocks = sum(float(one.var(ddof=1)) / size for one, size in zip(blocks, sizes)) / runs**2
    found = mean_of(numpy.asarray(values))
    if runs > 1 and runs_differ(float(numpy.var(values, ddof=1)) / runs, of_blocks, runs):
        return replace(found, of_runs=True)
    return Estimate(found.value, student_t(sum(sizes) - runs) * math.sqrt(of_blocks))


def mean_over(runs):
    """Returns the mean of the answered ones of `runs`, lists of times, with its interval."""
    answered = [times[numpy.isfinite(times)] for times in runs]
    blocks = list(map(batch_means, answered))
    values = [float(times.mean()) if len(times) else math.nan for times in answered]
    if all(map(len, blocks)):
        return nested(values, blocks).positive
    return over_replications(values).positive if len(runs) >= RUNS_MIN else Estimate(mean_of(numpy.concatenate(answered)).value)


def over_replications(values):
    """Returns the mean and interval of a value over independent runs, without those that do not have it (nan). It is
    infinite if that of any run is."""
    values = numpy.asarray([value for value in values if not math.isnan(value)])
    endless = {float(value) for value in values if math.isinf(value)}
    if len(endless) == 2:
        return Estimate(math.nan)
    return Estimate(endless.pop(), math.inf) if endless else mean_of(values)


def percentile(times, q):
    """Returns the q-th percentile by nearest rank."""
    rank = max(math.ceil(q / 100.0 * len(times)), 1)
    return float(numpy.partition(times, rank - 1)[rank - 1])


def ccdf(times):
    """Returns (x, share of transactions that take longer than x) at every distinct time. Transactions without a
    reply keep the curve from reaching zero: it ends in a plateau."""
    ordered = numpy.sort(times[numpy.isfinite(times)])
    if len(ordered) == 0:
        return numpy.array([]), numpy.array([])
    x, first = numpy.unique(ordered, return_index=True)
    upto = numpy.append(first[1:], len(ordered))
    return x, 1.0 - upto / len(times)


def combined(value, a, b, low, high):
    """Returns the Estimate of a value that follows from two independent estimates. `low` and `high` are how far each of
    the two moves it down and up at most: their squares add up, on each side."""
    if not a.ends and not b.ends:
        return Estimate(value, math.hypot(*high))
    return Estimate.between(value, value - math.hypot(*low), value + math.hypot(*high))


def difference(a, b):
    """Returns a - b of two independent estimates."""
    value = a.value - b.value
    if math.isnan(a.half_width) or math.isnan(b.half_width):
        return Estimate(value)
    return combined(value, a, b, (a.value - a.low, b.high - b.value), (a.high - a.value, b.value - b.low))


def ratio(a, b):
    """Returns a / b of two independent estimates, of which the intervals are relative. It is nan if b is 0."""
    value = a.value / b.value if b.value else math.nan
    if math.isnan(value) or math.isnan(a.half_width) or math.isnan(b.half_width) or a.value == 0:
        return Estimate(value)
    one, other = abs(value) / a.value, abs(value) / b.value
    return combined(value, a, b, (one * (a.value - a.low), other * (b.high - b.value)),
                    (one * (a.high - a.value), other * (b.value - b.low)))


def grows(times):
    """Returns whether response times rise significantly during the run, by the Mann-Kendall test on batch means:
    then the mean depends on the length of the run. The load may exceed the capacity, or a queue or window may still be
    filling."""
    means = batch_means(times[numpy.isfinite(times)])
    score = sum(float(numpy.sign(later - earlier)) for earlier, later in itertools.combinations(means, 2))
    deviation = math.sqrt(BATCHES * (BATCHES - 1) * (2 * BATCHES + 5) / 18.0)
    return score / deviation > 2.576  # 1 %, two-sided


def thinned(x, y, points=CCDF_POINTS):
    """Returns the curve with at most about `points` points, evenly spaced in the logarithm of y to keep the
    tail."""
    if len(x) <= points:
        return x, y
    logs = numpy.log(numpy.maximum(y, y[y > 0].min() / 2))
    levels = numpy.linspace(logs[0], logs[-1], points)
    keep = numpy.unique(numpy.searchsorted(-logs, -levels).clip(0, len(x) - 1))
    return x[keep], y[keep]
