"""Tests of figures that each of several runs has, such as its P95: whether two sets of runs differ (Kolmogorov and
Smirnov's, exact), the difference of runs with the same seeds, and the dependences of a figure (least squares)."""

import math
from dataclasses import dataclass

import numpy

from .statistics import CONFIDENCE, over_replications, student_p

LEVEL = 1 - CONFIDENCE
EXACT = 1e-9  # of the span of y: a column that moves it by less does so by rounding only


@dataclass(frozen=True)
class KsResult:
    """D, the probability of one so great if both come from the same distribution, and the least D that these numbers of runs
    tell apart."""

    statistic: float
    p: float
    least: float

    @property
    def rejects(self):
        return self.p < LEVEL

    @property
    def can_reject(self):
        return math.isfinite(self.least)


def ks_distance(a, b):
    """Returns the greatest difference of the empirical distributions of `a` and `b`, times len(a) len(b): a whole
    number."""
    values = sorted({*a, *b})
    n, m = len(a), len(b)
    return max(abs(m * sum(x <= value for x in a) - n * sum(x <= value for x in b)) for value in values)


def ks_probability(n, m, distance):
    """Returns the probability that the distance of n and m values of one continuous distribution is `distance` or more:
    the share of the lattice paths from (0, 0) to (n, m) that leave the corridor |m i - n j| < distance."""
    row = [1 if n * j < distance else 0 for j in range(m + 1)]
    for j in range(1, m + 1):
        row[j] = row[j] and row[j - 1]
    for i in range(1, n + 1):
        for j in range(m + 1):
            inside = abs(m * i - n * j) < distance
            row[j] = (row[j] + (row[j - 1] if j else 0)) if inside else 0
    return 1 - row[m] / math.comb(n + m, n)


def ks_least(n, m):
    """Returns the least D by which n and m values are told apart; it is infinite if none is great enough."""
    possible = sorted({abs(m * i - n * j) for i in range(n + 1) for j in range(m + 1)})
    return next((distance for distance in possible if ks_probability(n, m, distance) < LEVEL), math.inf) / (n * m)


def ks_test(a, b):
    """Returns the two-sample test of Kolmogorov and Smirnov, exact for values without ties."""
    n, m = len(a), len(b)
    distance = ks_distance(a, b)
    return KsResult(distance / (n * m), ks_probability(n, m, distance), ks_least(n, m))


def paired(a, b):
    """Returns the mean of a[i] - b[i] with Student's interval over the pairs, of runs with the same seeds."""
    return over_replications([x - y for x, y in zip(a, b, strict=True)])


def ranks_twice(values):
    """Returns twice the rank of each value from 1 on, a whole number: equal ones share the mean of theirs."""
    return [2 * sum(other < value for other in values) + sum(other == value for other in values) + 1 for value in values]


def two_sided(counts, value):
    """Returns the probability of a sum as far out as `value`; counts[s] is how many equally likely cases have the sum s."""
    total = sum(counts)
    return min(1.0, 2 * min(sum(counts[: value + 1]), sum(counts[value:])) / total)


def rank_sum(a, b):
    """Returns the probability of ranks as different as those of `a` and `b` if both come from the same distribution
    (Wilcoxon's rank-sum test, exact with ties; infinite values are the greatest)."""
    ranks = ranks_twice([*a, *b])
    ways = [[0] * (sum(ranks) + 1) for _ in range(len(a) + 1)]  # of so many values, by the sum of their ranks
    ways[0][0] = 1
    for rank in ranks:
        for row, fewer in zip(ways[:0:-1], ways[-2::-1]):
            for total in range(len(row) - 1, rank - 1, -1):
                row[total] += fewer[total - rank]
    return two_sided(ways[-1], sum(ranks[: len(a)]))


def signed_rank(gaps):
    """Returns the probability of such differences in pairs if both sides come from the same distribution (Wilcoxon's
    signed-rank test, exact with ties; pairs without a difference do not count)."""
    gaps = [gap for gap in gaps if gap]
    ranks = ranks_twice([abs(gap) for gap in gaps])
    ways = [1] + [0] * sum(ranks)
    for rank in ranks:
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    return two_sided(ways, sum(rank for rank, gap in zip(ranks, gaps) if gap > 0))


def ranks_are_lower(gaps):
    """Returns whether the differences below 0 have the greater sum of ranks."""
    gaps = [gap for gap in gaps if gap]
    return sum(math.copysign(rank, gap) for rank, gap in zip(ranks_twice([abs(gap) for gap in gaps]), gaps)) < 0


def sign_test(gaps):
    """Returns the probability of so few, or so many, differences above 0 if one above is as likely as one below (exact; those
    that are 0 do not count)."""
    gaps = [gap for gap in gaps if gap]
    return two_sided([math.comb(len(gaps), above) for above in range(len(gaps) + 1)], sum(gap > 0 for gap in gaps))


def at_least(count, n, p):
    """Returns the probability that at least `count` of n happen if each does with probability p."""
    return 1 - sum(math.comb(n, k) * p**k * (1 - p)**(n - k) for k in range(count))


@dataclass(frozen=True)
class Coefficient:
    """Of a regression: its value, and the probability of one so far from 0 if the column had no influence."""

    value: float
    t: float
    p: float


def regression(columns, y):
    """Returns {name: Coefficient} of the least squares of `y` on `columns`, {name: values}, and a constant. Raises
    ValueError if the columns do not determine it. If a value is infinite, the ranks of all take their place."""
    if not all(map(math.isfinite, y)):
        y = [rank / 2 for rank in ranks_twice(y)]
    names = list(columns)
    matrix = numpy.column_stack([*(numpy.asarray(columns[name], float) for name in names), numpy.ones(len(y))])
    degrees = matrix.shape[0] - matrix.shape[1]
    try:
        if degrees < 1 or numpy.linalg.matrix_rank(matrix) < matrix.shape[1]:
            raise ValueError("too few different points for a regression")
        solution, *_ = numpy.linalg.lstsq(matrix, numpy.asarray(y, float), rcond=None)
        inverse = numpy.linalg.inv(matrix.T @ matrix)
    except numpy.linalg.LinAlgError as error:
        raise ValueError(f"the regression has no solution: {error}") from error
    rest = numpy.asarray(y, float) - matrix @ solution
    variance = float(rest @ rest) / degrees
    errors = numpy.sqrt(variance * numpy.diag(inverse))
    reach = float(numpy.ptp(y)) or math.inf  # without a difference nothing has influence
    result = {}
    for name, value, error in zip(names, solution, errors):
        if abs(value) * float(numpy.ptp(columns[name])) <= EXACT * reach:
            value = 0.0
        t = float(value / error) if error > 0 else math.inf if value else 0.0
        result[name] = Coefficient(float(value), t, float(student_p(t, degrees)) if math.isfinite(t) else 0.0)
    return result
