"""One thing that was asked of the pair, or seen of it, with the times between which it happened."""
import dataclasses
import math

# The kinds of an operation on one rule.
ENABLE, EXTEND, DELETE = "enable", "extend", "delete"  # done by an agent
ON, OFF = "on", "off"  # observed: in a list, by a refusal, by a probe that passed
STORE_FAILS = "0x0342"  # of a refusal


@dataclasses.dataclass(frozen=True)
class Operation:
    """`end` is infinite if no reply came: it may happen later, or never. `port` is the external port of
    the rule as far as the operation tells; ports are never used twice, PIDs may be."""
    kind: str
    begin: float
    end: float = math.inf
    lifetime: float = 0.0
    port: int | None = None
    source: str = ""

    @property
    def certain(self):
        return self.end != math.inf

    def __str__(self):
        end = f"{self.end:.3f}" if self.certain else "?"
        rest = f" for {self.lifetime:.0f} s" if self.kind in (ENABLE, EXTEND) else ""
        return f"{self.begin:.3f}-{end} {self.kind}{rest} ({self.source})"
