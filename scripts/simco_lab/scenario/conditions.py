"""The conditions of a point: a value for every dimension of a scenario's matrix, and how they are spelt."""

import math
import reprlib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace

from .catalogue import BACKENDS, PROFILES, default
from .cross import Cross
from .failures import Failure
from .proxies import PROXIES
from .queues import Queue
from .sizes import MESSAGE_MAX
from .variant import Variant


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions of a point: a value for every dimension, the default if the scenario does not name it."""

    profile: str = default(PROFILES)
    variant: Variant
    delay_ms: float = 10.0  # one way
    jitter_ms: float = 0.0  # one way, +-; packets overtake each other
    loss_percent: float = 0.0  # of IP packets
    loss_correlation: float = 0.0  # of neighbouring packets
    lose: str = "both"  # both, request or reply: packets of these; messages: requests, but not what acknowledges only
    rate: float = 100.0  # transactions per second
    backend: str = default(BACKENDS)  # of the middlebox
    # Of the dumbbell only:
    link_mbit: float = 0.0  # rate of the middle link; 0: without limit
    queue: str = "none"  # before it
    cross: str = "none"  # competing traffic
    cross_window: float = 0.0  # of each of its connections, segments; 0: without limit
    lose_run: float = 0.0  # consecutive requests that are lost
    mtu_to: float = 0.0  # octets that the middle link takes after some time; 0: as before
    fragments: str = "pass"  # pass or drop: those after the first
    t1_ms: float = 500.0  # of SIP over UDP
    large_size: float = 0.0  # octets of some INVITEs (`large_every`) of SIP; 0: all have the same size
    proxy: str = default(PROXIES)  # of SIP, before the server
    stop: str = "end"  # burst: before the scenario's `burst`, so that what is measured at the end is as it finds it
    # Of the network with two paths only:
    paths: float = 1.0  # that the programs know
    failure: str = "none"  # of the first path

    @property
    def short_name(self):
        """A readable name: the values that differ from the defaults."""
        marks = {"delay_ms": "delay", "jitter_ms": "jitter", "loss_percent": "loss",
                 "loss_correlation": "corr", "rate": "rate", "link_mbit": "link", "cross": "cross-",
                 "cross_window": "window", "lose_run": "run", "mtu_to": "mtu", "fragments": "fragments-", "t1_ms": "t1-", "large_size": "large-",
                 "proxy": "via-", "stop": "until-", "paths": "paths", "failure": ""}
        return "_".join(f"{marks.get(name, '')}{shown(value)}" for name, value in self.items()
                        if name in ("profile", "variant") or value != DEFAULTS[name])

    @property
    def place(self):
        """Returns the conditions in words, without the variant: "modern, 10 ms, 2.5 %, 100/s"."""
        parts = [self.profile]
        for name, form in (("delay_ms", "{:g} ms"), ("jitter_ms", "+-{:g} ms"), ("loss_percent", "{:g} %"),
                           ("loss_correlation", "correlation {:g}"), ("rate", "{:g}/s")):
            value = getattr(self, name)
            if value or name == "loss_percent":
                parts.append(form.format(value))
        parts += [FORMS_OF[name].format(shown(value)) for name, value in self.items()
                  if name in FORMS_OF and value != DEFAULTS[name]]
        return ", ".join(parts)

    @property
    def steady(self):
        """Whether they stay the same during a run."""
        return not self.lose_run and not self.mtu_to and not Failure.parse(self.failure).seconds

    def fits(self, where):
        """Returns whether each value is among those of `where`, {dimension: [values]}."""
        return all(getattr(self, name) in allowed for name, allowed in where.items())

    def items(self):
        """Returns [(dimension, value)] in the order of the dimensions."""
        return [(name, getattr(self, name)) for name in DIMENSIONS]

    def without(self, *dimensions):
        """Returns a key that is the same for all points that differ in `dimensions` only."""
        return tuple((name, value) for name, value in self.items() if name not in dimensions)


# The dimensions that not every network has, in the words of a report.
FORMS_OF = {"link_mbit": "{} Mbit/s", "queue": "queue {}", "cross": "beside {}", "cross_window": "window {}",
            "lose_run": "{} lost in a row", "mtu_to": "MTU falls to {}", "fragments": "fragments: {}",
            "t1_ms": "T1 {} ms", "large_size": "some of {} octets", "proxy": "through {}",
            "stop": "stops before the {}", "paths": "{} paths", "failure": "{}"}
DIMENSIONS = tuple(field.name for field in fields(Conditions))
DEFAULTS = {field.name: field.default for field in fields(Conditions) if field.default is not MISSING}
ADDED = ("proxy", "stop", "paths", "failure")  # after results were published: points without them keep their seeds
NUMBERS = {name for name, value in DEFAULTS.items() if isinstance(value, float)}
LONGEST_MS = 60_000  # of delays and timers


def digits(value):
    """Returns a number as a sentence has it: 10,000,000 and 0.000001."""
    return f"{value:,.6f}".rstrip("0").rstrip(".") or "0"


@dataclass(frozen=True)
class Range:
    """Numbers from `least` to `most`, or below `below`."""

    least: float
    most: float = math.inf
    below: float = math.inf
    whole: bool = False
    or_zero: bool = False

    def fits(self, value):
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)) or not math.isfinite(value):
            return False
        return self.or_zero and value == 0 or self.least <= value <= self.most and value < self.below

    @property
    def words(self):
        end = f"below {digits(self.below)}" if math.isfinite(self.below) else digits(self.most)
        return f"{'0 or ' * self.or_zero}a {'whole ' * self.whole}number from {digits(self.least)} to {end}"


RATES = (1e-6, 1e7)  # as simco-loadgen takes them
# The ranges of numbers; at the ends of the two losses nothing arrives.
RANGES = {
    "delay_ms": Range(0, LONGEST_MS), "jitter_ms": Range(0, LONGEST_MS),
    "loss_percent": Range(0, below=100), "loss_correlation": Range(0, below=1),
    "rate": Range(*RATES),
    "link_mbit": Range(0.001, 100_000, or_zero=True),
    "cross_window": Range(0, 10_000),  # segments
    "lose_run": Range(0, 100_000, whole=True),
    "mtu_to": Range(68, 1500, whole=True, or_zero=True),  # octets: IPv4 needs the least, and has the most before
    "t1_ms": Range(1, LONGEST_MS, whole=True),
    "large_size": Range(0, MESSAGE_MAX, whole=True),
    "paths": Range(1, 2, whole=True),
}
WORDS = {
    "profile": tuple(PROFILES),
    "lose": ("both", "request", "reply", "messages"),
    "backend": tuple(BACKENDS),
    "fragments": ("pass", "drop"),
    "proxy": tuple(PROXIES),
    "stop": ("end", "burst"),
}


@dataclass(frozen=True)
class Axis:
    """An axis that is a number in the name of a `dimension`: that number of conditions, and the rest of the name, the
    same on all of a curve. It is None for a value that is on every curve, as no competing traffic is on those of each kind."""

    dimension: str
    number: Callable
    rest: Callable


def rest_of_cross(of):
    traffic = Cross.parse(of.cross)
    return (traffic.kind.name, traffic.congestion) if traffic.number else None


def rest_of_failure(of):
    failure = Failure.parse(of.failure)
    return failure.kind.name if failure.seconds else None


# Axes besides the dimensions that are numbers.
AXES = {
    "streams": Axis("variant", lambda of: of.variant.streams if of.variant.sweeps_streams else math.nan,
                    lambda of: replace(of.variant, streams=1)),
    "connections": Axis("variant", lambda of: of.variant.connections, lambda of: replace(of.variant, connections=1)),
    "rate_per_connection": Axis("variant", lambda of: of.rate / of.variant.connections,
                                lambda of: replace(of.variant, connections=1)),
    "queue": Axis("queue", lambda of: (Queue.parse(of.queue).numbers or (math.nan,))[0], lambda of: Queue.parse(of.queue).kind.name),
    "cross": Axis("cross", lambda of: Cross.parse(of.cross).number, rest_of_cross),
    "failure": Axis("failure", lambda of: Failure.parse(of.failure).seconds, rest_of_failure),
}
AXES_KNOWN = (*sorted(NUMBERS), *AXES)
PARSERS = {"queue": Queue.parse, "cross": Cross.parse, "failure": Failure.parse}  # of words that have parts; they raise ValueError


def one_of(name, given, known):
    """Raises ValueError unless the value that a scenario gives is known."""
    if given not in known:
        raise ValueError(f"'{name}' must be one of {', '.join(known)}, not {reprlib.repr(given)}")


def value_of(name, given):
    """Returns the value of a dimension that a scenario gives. Raises ValueError."""
    if name in NUMBERS:
        if not RANGES[name].fits(given):
            raise ValueError(f"'{name}' must be {RANGES[name].words}, not {reprlib.repr(given)}")
        return float(given)
    if name == "variant":
        return given if isinstance(given, Variant) else Variant.parse(given)
    if name in PARSERS:
        PARSERS[name](given)
    else:
        one_of(name, given, WORDS[name])
    return given


def values_of(given):
    """Returns {dimension: list of values} of a scenario's conditions: a value or a list of them for each. Raises ValueError."""
    for name, value in given.items():
        if name not in DIMENSIONS:
            raise ValueError(f"unknown dimension '{name}'; known are {', '.join(DIMENSIONS)}")
        if value == []:
            raise ValueError(f"'{name}' has no value")
    return {name: [value_of(name, one) for one in (value if isinstance(value, list) else [value])] for name, value in given.items()}


def label_of(value):
    """Returns a dimension's value as figures and reports show it."""
    return value.label if isinstance(value, Variant) else shown(value)


def check_axis_name(name):
    if name not in AXES_KNOWN:
        raise ValueError(f"unknown axis '{name}'; known are {', '.join(AXES_KNOWN)}")


def axis_value(conditions, axis):
    """Returns where conditions are on an axis: nan if they are not on it."""
    if axis in AXES:
        return float(AXES[axis].number(conditions))
    return float(getattr(conditions, axis))


def curves_along(measured, axis):
    """Returns lists of those of `measured`, each with its `conditions`, that differ along the axis only, in its order. What is not
    on the axis is left out."""
    curves, everywhere = {}, {}
    for one in sorted(measured, key=lambda one: axis_value(one.conditions, axis)):
        if math.isnan(axis_value(one.conditions, axis)):
            continue
        of = AXES.get(axis)
        others, rest = one.conditions.without(of.dimension if of else axis), of.rest(one.conditions) if of else axis
        if rest is None:
            everywhere.setdefault(others, []).append(one)
        else:
            curves.setdefault((others, rest), []).append(one)
    return [everywhere.get(others, []) + curve for (others, _), curve in curves.items()]


def shown(value):
    """Returns a dimension's value as scenarios and result files spell it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def conditions_of(texts):
    """Returns the conditions that `texts`, {dimension: text}, spell as shown() does."""
    def value(name, text):
        if name == "variant":
            return Variant.parse(text)
        return float(text) if name in NUMBERS else text

    return Conditions(**{name: value(name, texts[name]) for name in DIMENSIONS if name in texts})
