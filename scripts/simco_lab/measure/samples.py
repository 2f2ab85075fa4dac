"""The samples of a run: a line for each transaction."""

import math

import numpy

ENDS = {"response": 5, "one-way": 7}  # the columns of samples with the ends of what is measured


def read_samples(samples, measure):
    """Reads a file, perhaps a packed one, or lines. Returns the scheduled times after the start, and the response times from these on, in
    milliseconds: infinity for a transaction without a reply, or that was refused. With "one-way" they end at the arrival of the request."""
    end = ENDS[measure]
    table = numpy.loadtxt(samples, delimiter=",", skiprows=1, usecols=[3, end, 6], encoding="ascii", ndmin=1,
                          dtype=[("scheduled", numpy.int64), ("end", numpy.int64), ("outcome", "U10")],
                          converters={end: lambda text: int(text or 0)})
    good = (table["end"] > 0) & (table["outcome"] != "refused")
    return table["scheduled"] / 1e6, numpy.where(good, (table["end"] - table["scheduled"]) / 1e6, math.inf)
