"""A model of derivative random drop (scripts/simco_lab/run/vm/drd.c), to check the kernel's against."""

from dataclasses import dataclass

MOST_PERCENT = 95


@dataclass
class Model:
    """The queue for a list of arrivals."""

    low: int
    high: int
    state: int
    delay_ns: int

    def random32(self):
        x = self.state
        x ^= x >> 12
        x = (x ^ (x << 25)) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 27
        self.state = x
        return ((x * 2685821657736338717) & 0xFFFFFFFFFFFFFFFF) >> 32

    def drops(self, arrivals):
        """Returns the numbers of the dropped among packets that arrive at these times (ns)."""
        leaving, gone, lost = [], 0, []
        for number, now in enumerate(arrivals):
            while gone < len(leaving) and leaving[gone] <= now:
                gone += 1
            length = len(leaving) - gone
            above = min(length, self.high) - self.low
            if above > 0 and self.random32() * (self.high - self.low) * 100 < (above * MOST_PERCENT) << 32:
                lost.append(number)
            else:
                leaving.append(now + self.delay_ns)
        return lost
