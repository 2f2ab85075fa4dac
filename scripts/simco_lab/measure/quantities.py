"""The quantities that claims, figures and tables of papers name: a row of a table each."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy

from ..scenario.catalogue import table
from . import statistics

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
LATE_MS = 500.0  # SIP's T1: a caller's proxy sends again
AFFECTED_MS = 1.0  # a delay so much above that of the same message in the run without loss is one
MEASURED = {"response": "response time", "one-way": "one-way delay"}  # what a scenario measures, in words


@dataclass(frozen=True)
class Quantity:
    """`of_run` takes a run (combination.Run) and returns a number, nan if the run does not have it."""

    name: str
    label: str  # of an axis; {} stands for what the scenario measures
    of_run: Callable
    unit: str = "ms"
    within_run: bool = False  # one run gives an interval, too
    sip: bool = False  # of the workload sip only: its server's arrivals, or its large packets, are counted
    captured: bool = False  # from captures of the packets: of messages that were delivered only
    twin: bool = False  # compared with the run without a run of losses
    signed: bool = False  # it can be below 0
    answered: bool = False  # of messages with an answer only: the others would make it infinite

    def title(self, measure):
        """Returns the label in a scenario that measures that."""
        return self.label.format(MEASURED[measure])

    @property
    def omitted(self):
        """The kind of messages that it leaves out."""
        return "undelivered" if self.captured else "unanswered"


def percentile(q):
    return lambda run: statistics.percentile(run.times, q)


def spread(run):
    high = statistics.percentile(run.times, 95.0)
    return high if math.isinf(high) else high - statistics.percentile(run.times, 50.0)


def others(run):
    """Returns the 95th percentile of the messages that are not large; without large ones it is that of all."""
    if run.record["point"]["large_size"]:
        return run.record.get("others_p95_ms", math.nan)
    return statistics.percentile(run.times, 95.0)


def second(run):
    return float(numpy.sort(run.times)[-2]) if len(run.times) > 1 else math.nan


def silence(run):
    """Returns the longest time between two replies, or between the start and the first of them."""
    answered = numpy.isfinite(run.times)
    replies = numpy.sort((run.scheduled + run.times)[answered])
    return float(numpy.diff(replies, prepend=0.0).max()) if len(replies) else math.inf


def at_the_end(run):
    """Returns the median of the last tenth of the messages."""
    return statistics.percentile(run.times[-max(len(run.times) // 10, 1):], 50.0)


def bundled(run):
    """Returns the share of the messages that take a round trip and about the time between two messages: they have waited for the
    next one, which went in the same packet."""
    point = run.record["point"]
    gap = 1000.0 / point["rate"]
    return 100.0 * float((numpy.abs(run.times - 2 * point["delay_ms"] - gap) < gap / 4).mean())


def variance(run):
    answered = run.times[numpy.isfinite(run.times)]
    return float(answered.var(ddof=1)) if len(answered) > 1 else math.nan


def recorded(*path):
    """Returns what run.json has at that path."""
    def of_run(run):
        *groups, name = path
        found = run.record
        for group in groups:
            found = found.get(group, {})
        return found.get(name, math.nan)

    return of_run


def lost_share(run):
    """Returns the share of the packets with requests in them that the queue dropped: acknowledgements are not counted."""
    messages = (run.record.get("queue") or {}).get("messages")
    return 100.0 * messages["lost"] / messages["entered"] if messages and messages["entered"] else math.nan


goodput, of_others, offered = (recorded("goodput", f"{whose}octets_s") for whose in ("", "cross_", "offered_"))
waited, behind = (recorded("parts", name) for name in ("sender", "behind"))


def total(run):
    """Returns the octets/s of both flows that passed the middle link."""
    return goodput(run) + of_others(run)


def percent(whole):
    """Returns the throughput of the flow that is measured as a share of `whole`."""
    return lambda run: 100.0 * goodput(run) / whole(run) if whole(run) else math.nan


def repeated(count):
    """Returns how many INVITEs were sent again over UDP, by that count of simco-loadgen, as a share of the messages."""
    return lambda run: 100.0 * run.record.get(count, math.nan) / len(run.times)


def affected(run):
    """Returns how many messages were later than in the run of the same seed without loss."""
    if run.twin is None or len(run.twin) != len(run.times):
        return math.nan
    with numpy.errstate(invalid="ignore"):
        return float((run.times - run.twin > AFFECTED_MS).sum())


QUANTITIES = table(
    Quantity("mean", "Mean {} (ms)", lambda run: statistics.mean_independent(run.times).value, within_run=True,
             answered=True),
    Quantity("variance", "Variance of the {} (ms²)", variance, unit="ms²", answered=True),
    Quantity("p50", "Median (ms)", percentile(50.0), within_run=True),
    Quantity("p95", "95 % are faster than (ms)", percentile(95.0), within_run=True),
    Quantity("p99", "99 % are faster than (ms)", percentile(99.0), within_run=True),
    Quantity("p999", "99.9 % are faster than (ms)", percentile(99.9), within_run=True),
    Quantity("min", "Shortest (ms)", lambda run: float(run.times.min())),
    Quantity("max", "Longest (ms)", lambda run: float(run.times.max())),
    Quantity("second", "Second longest (ms)", second),
    Quantity("spread", "95 % minus median (ms)", spread),
    Quantity("others", "95 % of the messages that are not large are faster than (ms)", others, sip=True),
    Quantity("affected", "Messages affected", affected, unit="", twin=True),
    Quantity("goodput", "Throughput (octets/s)", goodput, sip=True, unit="octets/s"),
    Quantity("share", "Share of the throughput (%)", percent(total), sip=True, unit="%"),
    Quantity("total", "Throughput, with that of competing traffic (octets/s)", total, sip=True, unit="octets/s"),
    Quantity("cwnd", "Congestion window at the end (octets)", recorded("cwnd_octets"), sip=True, unit="octets"),
    Quantity("sent_again", "Sent again (% of the messages)", repeated("retransmissions"), unit="%", sip=True),
    Quantity("further", "Sent a third time or later (% of the messages)", repeated("further_retransmissions"), sip=True, unit="%"),
    Quantity("carried", "Throughput (% of what is offered)", percent(offered), sip=True, unit="%"),
    Quantity("wasted", "Copies beyond the first", recorded("wasted"), sip=True, unit=""),
    Quantity("lost_share", "Requests' packets lost in the queue (%)", lost_share, sip=True, unit="%"),
    Quantity("busy", "Processor time per transaction (µs)", recorded("cost", "busy_us"), unit="µs"),
    Quantity("packets", "Packets per transaction", recorded("cost", "packets"), unit=""),
    Quantity("octets", "Octets per transaction", recorded("cost", "octets"), unit="octets"),
    Quantity("unanswered", "Without an answer", lambda run: float(numpy.isinf(run.times).sum()), unit=""),
    Quantity("silence", "Longest time without a reply (ms)", silence),
    Quantity("bundled", "A round trip and the time between two messages (% of the messages)", bundled, unit="%"),
    Quantity("late", f"Without a reply within {LATE_MS:g} ms", lambda run: float((run.times > LATE_MS).sum()), unit=""),
    Quantity("end", "Median of the last tenth of the messages (ms)", at_the_end),
    Quantity("sender", "Sender's wait (ms)", waited, captured=True),
    Quantity("network", "Network (ms)", recorded("parts", "network"), captured=True),
    Quantity("behind", "Behind others (ms)", behind, captured=True),
    Quantity("sender_over_behind", "Sender's wait minus that behind others (ms)", lambda run: waited(run) - behind(run),
             captured=True, signed=True),
)
