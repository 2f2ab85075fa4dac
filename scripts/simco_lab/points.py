"""The points of a scenario: what each of them measures, under which conditions, and with which seeds."""

import hashlib
import itertools
from dataclasses import dataclass, field
from pathlib import Path

from .catalogue import default
from .conditions import ADDED, DEFAULTS, DIMENSIONS, FORMS_OF, Conditions, shown
from .networks import NETWORKS

FEWEST = 1000  # transactions of a point, however small the fraction, if it has so many


@dataclass(frozen=True)
class Setup:
    """What a scenario says once for all of its points."""

    network: str = default(NETWORKS)
    seeds: str = "shared"  # shared: all variants meet the same arrivals and losses; own: each point has its own
    abort_lag_s: float = 1.0  # IKR report 53: a message handed over later ends the curve; 0: it does not
    lose_at: int = 0  # the first message of a run of lost ones
    mtu_at_s: float = 10.0  # when the middle link's MTU changes
    cross_lead_s: float | None = None  # how long competing traffic runs ahead; None: as its kind does
    cross_from_s: float = 0.0  # when it begins, if it is part of the run only
    cross_for_s: float = 0.0  # for how long; 0: all the time
    skip_s: float = 0.0  # from the start, before throughput is counted
    measure: str = "response"  # response: until the reply; one-way: until the request arrives
    capture: bool = False  # packets, for the parts of the delay
    invite_size: int = 450  # octets, and the rest of the workload sip
    response: str = "180"  # none: over a transport that loses messages it is 100
    response_size: int = 300
    drain_s: float = 2.0  # without responses, for what is under way at the end
    large_over_udp: bool = False
    large_every: int = 50  # INVITEs: one of them has `large_size`
    burst: int = 0  # so many at the end are due at once

    @property
    def changes(self):
        """Whether what is offered changes during a run."""
        return bool(self.burst or self.cross_from_s or self.cross_for_s)


@dataclass(frozen=True, kw_only=True)
class Point(Conditions):
    """One run: its conditions, how much to measure, and which replication it is."""

    scenario: str
    count: int
    replication: int
    workload: str
    arrivals: str
    warmup: int
    base_seed: int
    setup: Setup = Setup()

    @property
    def conditions(self):
        return Conditions(**dict(self.items()))

    @property
    def name(self):
        """The name of the folder with its results."""
        return f"{self.short_name}_n{self.count}_r{self.replication}"

    @property
    def sent(self):
        """How many transactions are measured: the burst is left out of `count` if the point stops before it."""
        return self.count - (self.setup.burst if self.stop == "burst" else 0)

    def seed(self, purpose):
        """Returns a number for `purpose` that is the same for every variant, profile, queue and backend: all meet
        the same arrivals and the same losses. With seeds of their own, every point has another."""
        shared = [str(value) for value in
                  (self.delay_ms, self.jitter_ms, self.loss_percent, self.loss_correlation, self.rate)]
        if self.setup.seeds == "own":
            shared = [shown(value) for name, value in self.items() if name not in ADDED or value != DEFAULTS[name]]
        words = "/".join([str(self.base_seed), self.scenario, *shared, str(self.replication), purpose])
        return int.from_bytes(hashlib.sha256(words.encode()).digest()[:6], "big")


def complete(matrix):
    """Returns {dimension: values} with every dimension."""
    return {name: matrix.get(name) or [DEFAULTS[name]] for name in DIMENSIONS}


@dataclass
class Scenario:
    name: str
    path: Path
    title: str
    source: str
    workload: str
    arrivals: str
    warmup: int
    seed: int
    setup: Setup
    scales: dict  # of quick and full: {"count": ..., "replications": ..., dimension: [...]}
    matrices: list  # {dimension: values} each, with "scale" if it is of one scale only; the points are those of all
    plots: list = field(default_factory=list)
    expectations: list = field(default_factory=list)
    paper: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # sentences of the report
    tables: list = field(default_factory=list)  # names of quantities

    def dimensions(self, scale):
        """Returns {dimension: values} with every dimension, for each matrix that has points at `scale`. If there is one
        matrix, the values of the scale replace its own; else they narrow those of each."""
        own = {name: values for name, values in self.scales[scale].items() if name in DIMENSIONS}
        if len(self.matrices) == 1:
            return [complete({**self.matrices[0], **own})]
        narrowed = [{name: [value for value in values if value in own.get(name, values)]
                     for name, values in complete(matrix).items()}
                    for matrix in self.matrices if matrix.get("scale", scale) == scale]
        return [matrix for matrix in narrowed if all(matrix.values())]

    def count_at(self, scale, rate):
        """Returns the transactions of a point: a fixed number, or that of the greatest key of the table that does
        not exceed the rate."""
        count = self.scales[scale]["count"]
        if isinstance(count, int):
            return count
        fitting = [bound for bound in count if bound <= rate]
        return count[max(fitting)] if fitting else count[min(count)]

    def take(self, fraction):
        """Reduces the transactions of every point to this share."""
        for scale in self.scales.values():
            count = scale["count"]
            scale["count"] = {rate: self._part(n, fraction) for rate, n in count.items()} \
                if isinstance(count, dict) else self._part(count, fraction)

    @staticmethod
    def _part(count, fraction):
        return min(count, max(FEWEST, round(count * fraction)))

    def points(self, scale):
        combinations = (values for dimensions in self.dimensions(scale)
                        for values in itertools.product(*dimensions.values()))
        for values in dict.fromkeys(combinations):
            conditions = dict(zip(DIMENSIONS, values))
            count = self.count_at(scale, conditions["rate"])
            for replication in range(self.scales[scale]["replications"]):
                yield Point(**conditions, scenario=self.name, count=count, replication=replication,
                            workload=self.workload, arrivals=self.arrivals, warmup=self.warmup,
                            base_seed=self.seed, setup=self.setup)

    @property
    def columns(self):
        """The dimensions that its tables have: those of the dumbbell only if it is the network."""
        everywhere = self.setup.network != default(NETWORKS)
        return [name for name in DIMENSIONS if everywhere or name not in FORMS_OF]
