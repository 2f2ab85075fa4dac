"""All runs under the same conditions, and their quantities."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy

from ..scenario.conditions import Conditions
from . import schedule, statistics
from .quantities import PERCENTILES, QUANTITIES


@dataclass
class Run:
    """One replication: its samples, what run.json says, and the samples of its twin without a run of losses."""

    times: numpy.ndarray
    record: dict
    twin: numpy.ndarray | None = None
    replication: int = 0
    scheduled: numpy.ndarray | None = None  # ms after the start


@dataclass
class Combination:
    """All replications under the same conditions."""

    conditions: Conditions
    runs: list  # run.json of each
    times: list  # of each
    scheduled: list = field(default_factory=list)  # ms after the start, of each
    twin: "Combination | None" = None  # the same without a run of losses
    replications: list = field(default_factory=list)  # of each, if they are not 0, 1, 2 ...

    @property
    def numbers(self):
        return self.replications or range(len(self.times))

    @cached_property
    def each(self):
        twins = dict(zip(self.twin.numbers, self.twin.times)) if self.twin else {}
        schedules = self.scheduled or [None] * len(self.times)
        return [Run(times, record, twins.get(number), number, scheduled)
                for number, times, record, scheduled in zip(self.numbers, self.times, self.runs, schedules)]

    def per_run(self, quantity):
        """Returns the value of a quantity of quantities.py in each run, nan if it has none."""
        return [QUANTITIES[quantity].of_run(run) for run in self.each]

    @property
    def jobs(self):
        """What was run: combinations that share it have the same samples."""
        return tuple(run["fingerprint"] for run in self.runs)

    @property
    def aborted(self):
        return any(run["aborted"] for run in self.runs)

    @property
    def all_times(self):
        return numpy.concatenate(self.times)

    @property
    def mean(self):
        """The mean with the interval to draw conclusions from."""
        return statistics.mean_over(self.times)

    def quantile(self, q):
        return statistics.percentile(self.all_times, q)

    @cached_property
    def _estimates(self):
        return {}

    def quantity(self, name):
        """Returns the estimate of a quantity of quantities.py, by blocks within the runs if these have them."""
        if name not in self._estimates:  # tables, figures and statements ask for the same ones
            self._estimates[name] = self._estimate(name)
        return self._estimates[name]

    def _estimate(self, name):
        if name == "mean":
            return self.mean
        if name in PERCENTILES:
            return schedule.percentile_over(self.times, PERCENTILES[name])
        found = statistics.over_replications(self.per_run(name))
        if len(self.times) < statistics.RUNS_MIN:
            return statistics.Estimate(found.value)
        return found if QUANTITIES[name].signed else found.positive

    def leaves_out(self, quantity):
        """Returns how many messages a quantity leaves out because they had no answer, or were not delivered. If there are any, it
        is a lower bound; of a part of the delay it can be on either side, as they may have waited elsewhere."""
        if QUANTITIES[quantity].captured:
            return sum(len(times) for times, run in zip(self.times, self.runs) if "parts" in run) - self.messages_split
        return self.unanswered if QUANTITIES[quantity].answered else 0

    @property
    def unanswered(self):
        return int(numpy.isinf(self.all_times).sum())

    @property
    def messages_split(self):
        """Of how many messages the parts of the delay are known: what was not delivered has none."""
        return sum(run.get("parts", {}).get("messages", 0) for run in self.runs)
