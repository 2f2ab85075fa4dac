"""Draws a schedule of faults from a seed."""
import dataclasses
import random

STORM = 7.0  # seconds, about, that faults begin in
WEIGHTS = {"cut": 8, "power": 4, "kill": 5, "pause": 5, "loss": 3, "slow": 2, "disk": 1, "clock": 2}


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    box: int
    at: float  # seconds after the agents have begun
    lasts: float
    target: str = ""  # a link, or a process
    amount: int = 0  # percent lost, or seconds of the clock
    silent: bool = False  # the carrier stays

    def __str__(self):
        rest = f" {self.target}" if self.target else ""
        rest += f" {self.amount:+d}" if self.amount else ""
        return f"{self.kind}{rest}{' silently' if self.silent else ''} at box {self.box} {self.at:.1f}+{self.lasts:.1f} s"


@dataclasses.dataclass(frozen=True)
class Plan:
    seed: int
    replicas: bool
    durable: bool
    agents: int
    faults: tuple

    @property
    def tiny_disk(self):
        return any(fault.kind == "disk" for fault in self.faults)

    def steps_clock(self, box):
        return any(fault.kind == "clock" and fault.box == box for fault in self.faults)

    @property
    def clock_step(self):
        """By how many seconds clocks step, altogether."""
        return float(sum(abs(fault.amount) for fault in self.faults if fault.kind == "clock"))

    def __str__(self):
        words = ["replicas=1" if self.replicas else "asynchronous", "append-only file" if self.durable else "no file"]
        return f"seed {self.seed} ({', '.join(words)}): " + "; ".join(str(fault) for fault in self.faults)


def draw_fault(chance, kinds):
    kind = chance.choices(list(kinds), list(kinds.values()))[0]
    box = chance.choice((1, 1, 1, 2))  # the first has the addresses when the run begins
    fault = Fault(kind, box, chance.uniform(0.5, STORM), chance.choice((0.4, 1.5, 4.5, 4.5, 6.0)))
    replace = dataclasses.replace
    if kind == "cut":
        return replace(fault, target=chance.choice(("in", "out", "sync", "all", "all")), silent=chance.random() < 0.5)
    if kind == "loss":
        return replace(fault, target=chance.choice(("in", "out", "sync", "all")), amount=chance.choice((10, 30, 60)))
    if kind in ("kill", "pause"):
        return replace(fault, target=chance.choice(("middlebox", "middlebox", "redis", "keepalived")))
    if kind == "clock":
        return replace(fault, amount=chance.choice((-20, -5, -2, 2, 5, 20)))
    return fault


def draw(seed, clock=True):
    chance = random.Random(seed)
    kinds = {kind: weight for kind, weight in WEIGHTS.items() if clock or kind != "clock"}
    faults = sorted((draw_fault(chance, kinds) for _ in range(chance.choice((1, 1, 2, 2, 3)))), key=lambda one: one.at)
    replicas, durable = chance.random() < 0.35, chance.random() < 0.85
    durable = durable or any(fault.kind == "disk" for fault in faults)
    return Plan(seed, replicas, durable, chance.choice((2, 3)), tuple(faults))
