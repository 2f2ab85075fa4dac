"""Competing traffic on the dumbbell, from the source to the sink: a row of a table for each kind. A scenario names it in
a word such as tcp-2, tcp-1@reno or web-3, which is taken apart here only."""

from collections.abc import Callable
from dataclasses import dataclass

from .catalogue import CONGESTION, CROSS_PROGRAM, PROFILES, check_congestion, default, number, table, words

NUMBER_MAX = 1000
WINDOW_SEGMENT = 960  # octets of a segment, if the window is limited
FOREVER_S = 1e6


@dataclass(frozen=True)
class Kind:
    """A kind of traffic. `programs` takes its number, (from, for) in seconds, and the addresses of source and sink; it
    returns [(file, what the program prints when it is ready, namespace, command)]."""

    name: str
    lead_s: float = 0.0  # ahead of the measurement, unless the scenario says otherwise
    programs: Callable = lambda *_: []
    congestion: bool = False  # whether NAME-N@CC is one
    part: bool = False  # whether it can run during a part of the measurement only
    label: str = ""  # of an axis, after "Competing"


def listen(end, address):
    return f"cross.{end}.listen", "listening", end, f"{CROSS_PROGRAM} listen --listen {address}"


def bulk(number, part, source, sink):
    begin, length = part
    return [listen("sink", sink), ("cross.source", "connected", "source",
                                   f"{CROSS_PROGRAM} bulk --connect {sink} --connections {number} --from {begin:g}"
                                   f" --for {length:g}")]


def web(number, _, source, sink):
    return [listen("source", source),
            ("cross.sink", "ready", "sink", f"{CROSS_PROGRAM} web --connect {source} --sessions {number}")]


def datagrams(number, _, source, sink):
    return [listen("sink", sink),
            ("cross.source", "ready", "source", f"{CROSS_PROGRAM} datagrams --connect {sink} --rate {number}")]


KINDS = table(
    Kind("none"),
    Kind("tcp", lead_s=10.0, programs=bulk, congestion=True, part=True, label="TCP connections"),
    Kind("web", lead_s=25.0, programs=web, label="web sessions/s"),
    Kind("cbr", lead_s=1.0, programs=datagrams, label="datagrams/s"),
)
FORMS = words([default(KINDS), *(f"{name}-N" + "[@CC]" * kind.congestion for name, kind in KINDS.items()
                                 if name != default(KINDS))])


@dataclass(frozen=True)
class Cross:
    """A kind of traffic, how much of it, and its congestion control. `str` returns the name that scenarios use."""

    kind: Kind
    number: int = 0
    congestion: str = ""

    @classmethod
    def parse(cls, name):
        """Returns the traffic of that name. Raises ValueError."""
        if isinstance(name, str):
            if name == default(KINDS):
                return cls(KINDS[name])
            plain, at, control = name.partition("@")
            word, _, rest = plain.partition("-")
            kind = KINDS.get(word)
            if at and kind:
                check_congestion(name, control)
            if kind and word != default(KINDS) and (kind.congestion or not at) and (count := number(rest, NUMBER_MAX)):
                return cls(kind, count, control)
        raise ValueError(f"unknown cross traffic {name!r}; expected {FORMS}")

    def lead_s(self, point):
        """Returns how long it runs before the measurement begins: 0 if it is part of the run only."""
        if not self.number or point.setup.cross_for_s:
            return 0.0
        return self.kind.lead_s if point.setup.cross_lead_s is None else point.setup.cross_lead_s

    def programs(self, point, network):
        part = (point.setup.cross_from_s, point.setup.cross_for_s or FOREVER_S)
        source, sink = ("", "") if network.source is None else (network.source_address, network.sink_address)
        return self.kind.programs(self.number, part, source, sink)


def label_of(names):
    """Returns the label of an axis on which these kinds of traffic are."""
    kinds = dict.fromkeys(Cross.parse(name).kind for name in names)
    labels = [kind.label for kind in kinds if kind.label]
    return f"Competing {words(labels)}" if labels else "Competing traffic"


def end_commands(point, network, traffic):
    """Returns the commands that set up the end systems of the traffic: the profile's TCP, and its own."""
    if not traffic.number:
        return []
    profile = PROFILES[point.profile]
    sysctls = {key: value for key, value in (*profile.sysctls, *profile.cross_sysctls) if key.startswith("net.ipv4.tcp_")}
    if traffic.congestion:
        sysctls |= dict(CONGESTION[traffic.congestion].sysctls)
    routes = " ".join(route.words for route in profile.routes if route.cross)
    sink = routes
    if point.cross_window:
        window = int(2 * point.cross_window * WINDOW_SEGMENT)
        sysctls |= {"net.ipv4.tcp_rmem": f"{window} {window} {window}"}
        sink = f"{routes} advmss {WINDOW_SEGMENT}".strip()
    commands = [end.sysctl(key, value) for end in (network.source, network.sink) for key, value in sysctls.items()]
    return commands + [end.route(text) for end, text in ((network.source, routes), (network.sink, sink)) if text]
