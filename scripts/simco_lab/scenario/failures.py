"""Failures of the first of two paths: a row of a table for each kind. A scenario names a failure in a word such as silent-10,
the kind and the seconds that it lasts, which is taken apart here only. The router drops the path's packets, after it has
counted them; or the agent's link goes down."""

from collections.abc import Callable
from dataclasses import dataclass

from . import pattern
from .catalogue import default, number, table, words

SECONDS_MAX = 600
LOSSY = 0.3  # share of the packets that a lossy path loses
PATTERN = 2000  # packets after which its losses repeat
COUNTED = "failed"  # the counter of what the failure dropped
RULES, BEGIN, UP = "failure.nft", "fail.nft", "up"  # files of a job


def drop(*sides):
    return lambda device: [f"iifname \"{device[side]}\" counter name {COUNTED} drop" for side in sides]


def lose(device):
    return [f"iifname \"{device[side]}\" jump {direction}" for side, direction in (("agent", "request"), ("box", "reply"))]


@dataclass(frozen=True)
class Kind:
    """A kind of failure. `rules` takes {end: the router's device of the path} and returns rules of nftables."""

    name: str
    rules: Callable = lambda _: []
    link: bool = False  # whether the agent's link goes down


KINDS = table(
    Kind("none"),
    Kind("down", link=True),  # the agent's kernel knows it, and has no way to the first address
    Kind("silent", drop("agent", "box")),
    Kind("lossy", lose),
    Kind("requests", drop("agent")),  # the box's packets pass
)
FORMS = words([default(KINDS), *(f"{name}-S" for name in KINDS if name != default(KINDS))])


@dataclass(frozen=True)
class Failure:
    """A kind of failure, and how long it lasts."""

    kind: Kind
    seconds: int = 0

    @classmethod
    def parse(cls, name):
        """Returns the failure of that name. Raises ValueError."""
        if isinstance(name, str):
            word, _, rest = name.partition("-")
            if name == default(KINDS):
                return cls(KINDS[name])
            if word in KINDS and word != default(KINDS) and (seconds := number(rest, SECONDS_MAX)):
                return cls(KINDS[word], seconds)
        raise ValueError(f"unknown failure {name!r}; expected {FORMS}, with seconds S")

    @property
    def drops(self):
        """Whether packets that reach the router must have been dropped."""
        return bool(self.seconds) and not self.kind.link


def ruleset(draw):
    """Returns the nftables script of all failures, none begun. `draw` returns the numbers of a direction's lost packets."""
    lines = ["table ip failure {", f"  counter {COUNTED} {{ }}", "  chain lost {", f"    counter name {COUNTED} drop", "  }"]
    for direction in ("request", "reply"):
        verdicts = ", ".join(f"{one} : goto lost" for one in draw(direction))
        lines += [f"  chain {direction} {{", f"    numgen inc mod {PATTERN} vmap {{ {verdicts} }}", "  }"]
    # After the chain that counts packets and loses some of all paths.
    lines += ["  chain forward {", "    type filter hook forward priority 1", "  }", "}"]
    return "\n".join(lines) + "\n"


def files(point, agent, devices):
    """Returns {name: text} of the failure's files, for the end `agent` and the router's devices of the path {end: device}."""
    rules = Failure.parse(point.failure).kind.rules(devices)
    return {RULES: ruleset(lambda direction: pattern.draw(LOSSY, PATTERN, point.seed(f"failure-{direction}"))),
            BEGIN: "".join(f"add rule ip failure forward {rule}\n" for rule in rules),
            UP: f"link set {agent.device} up\nroute replace default via {agent.gateway} dev {agent.device}\n"}


def events(point, agent):
    """Returns [(seconds, namespace, command)] of the failure's begin and end."""
    failure, begin = Failure.parse(point.failure), point.setup.fail_at_s
    if failure.kind.link:
        return [(begin, agent.name, f"ip link set {agent.device} down"), (begin + failure.seconds, agent.name, f"ip -batch $job/{UP}")]
    return [(begin, "router", f"nft -f $job/{BEGIN}"),
            (begin + failure.seconds, "router", "nft flush chain ip failure forward")] if failure.seconds else []
