"""The samples of a run: a line for each transaction."""

import math

import numpy

ENDS = {"response": 5, "one-way": 7}  # the columns of samples with the ends of what is measured


def read_samples(samples, measure):
    """Returns the scheduled times after the start, and the response times from these on, in milliseconds: infinity for a
    transaction without a reply, or that was refused. With "one-way" they end at the arrival of the request."""
    columns = {"scheduled": (numpy.int64, 3), "end": (numpy.int64, ENDS[measure]), "outcome": ("U10", 6)}
    table = numpy.genfromtxt(samples, delimiter=",", skip_header=1, usecols=[place for _, place in columns.values()],
                             dtype=[(name, kind) for name, (kind, _) in columns.items()], ndmin=1)
    good = (table["end"] > 0) & (table["outcome"] != "refused")
    return table["scheduled"] / 1e6, numpy.where(good, (table["end"] - table["scheduled"]) / 1e6, math.inf)
