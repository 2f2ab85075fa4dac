"""The cost of a transaction: packets, octets, and processor time of everything that the guest does for it."""

import re

from ..scenario.networks import counters_of, messages

NOW = re.compile(r"^now at (\d+) nsecs", re.MULTILINE)
IDLE = re.compile(r"^\s*\.idle_sleeptime\s*:\s*(\d+) nsecs", re.MULTILINE)


def busy_ns(timers):
    """Returns for how long a machine's only processor has not been idle, by its /proc/timer_list. In virtual time that is
    the number of instructions."""
    return int(NOW.search(timers)[1]) - int(IDLE.search(timers)[1])


def of_transaction(folder, point, counters):
    """Returns {name: mean of a transaction} for run.json. Packets are those that reach the router, both ways; there are
    none if the counters know some packets only. A machine of several processors leaves no timers."""
    transactions = point.sent + point.warmup
    found = {}
    if not messages(point):
        for name in ("packets", "octets"):
            counted = counters_of(folder / counters, name)
            found[name] = sum(counted[f"seen-{direction}"] for direction in ("request", "reply")) / transactions
    ends = [folder / f"timers.{when}" for when in ("before", "after")]
    if all(path.exists() for path in ends):
        before, after = (busy_ns(path.read_text()) for path in ends)
        found["busy_us"] = (after - before) / 1000 / transactions
        for path in ends:
            path.unlink()
    return found
