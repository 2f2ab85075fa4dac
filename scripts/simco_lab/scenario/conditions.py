"""The conditions of a point: a value for every dimension of a scenario's matrix, and how they are spelt."""

import math
import reprlib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial

from .catalogue import BACKENDS, PROFILES, default
from .cross import Cross
from .failures import Failure
from .pattern import CORRELATED
from .proxies import PROXIES
from .queues import Queue
from .sizes import MESSAGE_MAX
from .variant import Variant

LONGEST_MS = 60_000  # of delays and timers
RATES = (1e-6, 1e7)  # as simco-loadgen takes them


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


@dataclass(frozen=True)
class Dimension:
    """What there is to say of a dimension besides its default."""

    values: object = None  # a Range; a tuple of words; or what takes a word apart and raises ValueError
    words: str = ""  # of a value in a report's places, which leave it out without them
    unsaid: object = None  # the value that a place leaves out
    mark: str = ""  # before a value in the name of a point
    title: str = ""  # of a value in a figure, if not as in a place
    axis: str = ""  # its label
    network: str = ""  # the only one that has it
    added: bool = False  # after results were published: points without it keep their seeds
    needs: str = ""  # the dimension that it is about: without it, it has no effect


def dimension(default, values, words="", **more):
    """Declares a dimension. A place leaves out its default, unless `more` says otherwise."""
    return field(default=default, metadata={"dimension": Dimension(values, words, **{"unsaid": default, **more})})


on_dumbbell = partial(dimension, network="dumbbell")
on_two_paths = partial(dimension, network="two-paths")


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions of a point: a value for every dimension, the default if the scenario does not name it."""

    profile: str = dimension(default(PROFILES), tuple(PROFILES), "{}", unsaid=None)
    variant: Variant
    # Delays are one way; with jitter, packets overtake each other.
    delay_ms: float = dimension(10.0, Range(0, LONGEST_MS), "{} ms", unsaid=0.0, mark="delay", title="{} ms one way",
                                axis="One-way delay (ms)")
    jitter_ms: float = dimension(0.0, Range(0, LONGEST_MS), "+-{} ms", mark="jitter", title="±{} ms", axis="Jitter (± ms)")
    # The losses are of IP packets, their correlation of neighbouring ones; at the ends of the two nothing arrives.
    loss_percent: float = dimension(0.0, Range(0, below=100), "{} %", unsaid=None, mark="loss", title="{} % loss", axis="Packet loss (%)")
    loss_correlation: float = dimension(0.0, Range(0, below=1), "correlation {}", mark="corr", axis="Loss correlation")
    correlated: str = dimension("losses", tuple(CORRELATED), "correlated {}", added=True, needs="loss_correlation")  # what correlates
    # Packets of these are lost; messages: requests, but not what acknowledges only.
    lose: str = dimension("both", ("both", "request", "reply", "messages"))
    rate: float = dimension(100.0, Range(*RATES), "{}/s", unsaid=None, mark="rate", axis="Load (transactions/s)")
    backend: str = dimension(default(BACKENDS), tuple(BACKENDS))  # of the middlebox
    # The middle link's rate and the size of competing traffic's windows, in segments, are without limit if they are 0.
    link_mbit: float = on_dumbbell(0.0, Range(0.001, 100_000, or_zero=True), "{} Mbit/s", mark="link", axis="Rate of the link (Mbit/s)")
    queue: str = on_dumbbell("none", Queue.parse, "queue {}")  # before that link
    cross: str = on_dumbbell("none", Cross.parse, "beside {}", mark="cross-")  # competing traffic
    cross_window: float = on_dumbbell(0.0, Range(0, 10_000), "window {}", mark="window")  # of each of its connections
    # Consecutive requests are lost.
    lose_run: float = on_dumbbell(0.0, Range(0, 100_000, whole=True), "{} lost in a row", mark="run", axis="Messages lost in a row")
    # The middle link takes these octets after some time; 0: as before. IPv4 needs the least, and has the most before.
    mtu_to: float = on_dumbbell(0.0, Range(68, 1500, whole=True, or_zero=True), "MTU falls to {}", mark="mtu")
    fragments: str = on_dumbbell("pass", ("pass", "drop"), "fragments: {}", mark="fragments-")  # those after the first
    t1_ms: float = on_dumbbell(500.0, Range(1, LONGEST_MS, whole=True), "T1 {} ms", mark="t1-", axis="T1 (ms)")  # of SIP over UDP
    # Some INVITEs of SIP (`large_every`) have these octets; 0: all have the same size.
    large_size: float = on_dumbbell(0.0, Range(0, MESSAGE_MAX, whole=True), "some of {} octets", mark="large-",
                                    axis="Size of the large messages (octets)")
    proxy: str = on_dumbbell(default(PROXIES), tuple(PROXIES), "through {}", mark="via-", added=True)  # of SIP, before the server
    # A run that stops before the scenario's `burst` leaves what is measured at the end as the burst finds it.
    stop: str = on_dumbbell("end", ("end", "burst"), "stops before the {}", mark="until-", added=True)
    paths: float = on_two_paths(1.0, Range(1, 2, whole=True), "{} paths", mark="paths", added=True)  # that the programs know
    failure: str = on_two_paths("none", Failure.parse, "{}", added=True)  # of the first path

    @property
    def short_name(self):
        """A readable name: the values that differ from the defaults."""
        return "_".join(f"{DIMENSIONS[name].mark}{shown(value)}" for name, value in self.items()
                        if name in ("profile", "variant") or value != DEFAULTS[name])

    @property
    def place(self):
        """Returns the conditions in words, without the variant: "modern, 10 ms, 2.5 %, 100/s"."""
        return ", ".join(DIMENSIONS[name].words.format(shown(value)) for name, value in self.items()
                         if DIMENSIONS[name].words and value != DIMENSIONS[name].unsaid)

    @property
    def steady(self):
        """Whether they stay the same during a run."""
        return not self.lose_run and not self.mtu_to and not Failure.parse(self.failure).seconds

    def adds(self, name):
        """Returns whether a dimension that was added makes them others than they were before."""
        needed = DIMENSIONS[name].needs
        return getattr(self, name) != DEFAULTS[name] and (not needed or getattr(self, needed) != DEFAULTS[needed])

    def fits(self, where):
        """Returns whether each value is among those of `where`, {dimension: [values]}."""
        return all(getattr(self, name) in allowed for name, allowed in where.items())

    def items(self):
        """Returns [(dimension, value)] in the order of the dimensions."""
        return [(name, getattr(self, name)) for name in DIMENSIONS]

    def without(self, *dimensions):
        """Returns a key that is the same for all points that differ in `dimensions` only."""
        return tuple((name, value) for name, value in self.items() if name not in dimensions)


DIMENSIONS = {one.name: one.metadata.get("dimension", Dimension()) for one in fields(Conditions)}
DEFAULTS = {one.name: one.default for one in fields(Conditions) if one.default is not MISSING}
NUMBERS = {name for name, value in DEFAULTS.items() if isinstance(value, float)}


@dataclass(frozen=True)
class Axis:
    """An axis that is a number in the name of a `dimension`: that number of conditions, and the rest of the name, the
    same on all of a curve. It is None for a value that is on every curve, as no competing traffic is on those of each kind."""

    dimension: str
    number: Callable
    rest: Callable
    label: str = ""


def rest_of_cross(of):
    traffic = Cross.parse(of.cross)
    return (traffic.kind.name, traffic.congestion) if traffic.number else None


def rest_of_failure(of):
    failure = Failure.parse(of.failure)
    return failure.kind.name if failure.seconds else None


# Axes besides the dimensions that are numbers.
AXES = {
    "streams": Axis("variant", lambda of: of.variant.streams if of.variant.sweeps_streams else math.nan,
                    lambda of: replace(of.variant, streams=1), "Streams"),
    "connections": Axis("variant", lambda of: of.variant.connections, lambda of: replace(of.variant, connections=1), "TCP connections"),
    "rate_per_connection": Axis("variant", lambda of: of.rate / of.variant.connections, lambda of: replace(of.variant, connections=1),
                                "Load per connection (transactions/s)"),
    "queue": Axis("queue", lambda of: (Queue.parse(of.queue).numbers or (math.nan,))[0], lambda of: Queue.parse(of.queue).kind.name,
                  "Queue (packets)"),
    "cross": Axis("cross", lambda of: Cross.parse(of.cross).number, rest_of_cross),
    "failure": Axis("failure", lambda of: Failure.parse(of.failure).seconds, rest_of_failure, "Duration of the failure (s)"),
}
AXES_KNOWN = (*sorted(NUMBERS), *AXES)


def one_of(name, given, known):
    """Raises ValueError unless the value that a scenario gives is known."""
    if given not in known:
        raise ValueError(f"'{name}' must be one of {', '.join(known)}, not {reprlib.repr(given)}")


def value_of(name, given):
    """Returns the value of a dimension that a scenario gives. Raises ValueError."""
    values = DIMENSIONS[name].values
    if isinstance(values, Range):
        if not values.fits(given):
            raise ValueError(f"'{name}' must be {values.words}, not {reprlib.repr(given)}")
        return float(given)
    if name == "variant":
        return given if isinstance(given, Variant) else Variant.parse(given)
    if callable(values):
        values(given)
    else:
        one_of(name, given, values)
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


def in_words(name, value):
    """Returns the value of a dimension as titles have it."""
    known = DIMENSIONS[name]
    return (known.title or known.words or "{}").format(label_of(value))


def axis_label(name):
    return (AXES[name].label if name in AXES else DIMENSIONS[name].axis) or name


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
