"""A point of a scenario: what it measures, under which conditions, and with which seeds."""

import hashlib
import math
import reprlib
from dataclasses import dataclass, fields

from .catalogue import default, words
from .conditions import DEFAULTS, DIMENSIONS, Conditions, shown
from .networks import NETWORKS


WORDS = {"network": tuple(NETWORKS), "seeds": ("shared", "own"), "measure": ("response", "one-way"), "response": ("180", "100", "none")}
SIP = ("measure", "capture", "invite_size", "response", "response_size", "drain_s", "large_over_udp", "skip_s",
       "large_every")  # of the workload sip only


def check_setting(name, default_value, value):
    """Raises ValueError unless a setting is one of its words, or of its default's kind."""
    if name in WORDS:
        fits, expected = value in WORDS[name], words(WORDS[name])
    elif isinstance(default_value, bool):
        fits, expected = isinstance(value, bool), "True or False"
    else:
        whole = isinstance(default_value, int)
        number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        fits, expected = value is default_value or number and 0 <= value < math.inf, f"a {'whole ' * whole}number of 0 or more"
    if not fits:
        raise ValueError(f"'{name}' must be {expected}, not {reprlib.repr(value)}")


@dataclass(frozen=True)
class Setup:
    """The settings of a scenario that all of its points share."""

    network: str = default(NETWORKS)
    seeds: str = "shared"  # shared: all variants meet the same arrivals and losses; own: each point has its own
    abort_lag_s: float = 1.0  # IKR report 53: a message handed over later ends the curve; 0: it does not
    lose_at: int = 0  # the first message of a run of lost ones
    mtu_at_s: float = 10.0  # when the middle link's MTU changes
    fail_at_s: float = 5.0  # when the first of two paths fails
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

    def __post_init__(self):
        for one in fields(self):
            check_setting(one.name, one.default, getattr(self, one.name))

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
        """The number of transactions that are measured: the burst is left out of `count` if the point stops before it."""
        return self.count - (self.setup.burst if self.stop == "burst" else 0)

    def seed(self, purpose):
        """Returns a number for `purpose` that is the same for every variant, profile, queue and backend: all meet
        the same arrivals and the same losses. With seeds of their own, every point has another."""
        shared = [str(value) for value in
                  (self.delay_ms, self.jitter_ms, self.loss_percent, self.loss_correlation, self.rate)]
        if self.setup.seeds == "own":
            shared = [shown(value) for name, value in self.items() if not DIMENSIONS[name].added or self.adds(name)]
        words = "/".join([str(self.base_seed), self.scenario, *shared, str(self.replication), purpose])
        return int.from_bytes(hashlib.sha256(words.encode()).digest()[:6], "big")


def complete(matrix):
    """Returns {dimension: values} with every dimension."""
    return {name: matrix.get(name) or [DEFAULTS[name]] for name in DIMENSIONS}
