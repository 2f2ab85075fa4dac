"""The files that runs leave: reading them, checking them, and combining replications."""

import gzip
import json
import math
import re
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy

from ..errors import BadRun
from ..scenario import pattern
from ..scenario.catalogue import WORKLOADS
from ..scenario.conditions import Conditions
from ..scenario.networks import counters_of
from . import costs, deliveries, parts, schedule, statistics
from .quantities import PERCENTILES, QUANTITIES

LAG_FLOOR_MS = 0.1
CAPTURE_DROPS = re.compile(r"^(\d+) packets? dropped by (?:kernel|interface)", re.MULTILINE)
REPEATED = ("retransmissions", "further_retransmissions")  # of simco-loadgen's counts


ENDS = {"response": 5, "one-way": 7}  # the columns of samples with the ends of what is measured


def response_times(samples, measure="response"):
    """Returns response times from the scheduled time in milliseconds; infinity for a transaction without a reply,
    or that was refused. With "one-way" they end at the arrival of the request."""
    return read_samples(samples, measure)[1]


def read_samples(samples, measure):
    """Returns the scheduled times after the start, and the response times of response_times(); milliseconds."""
    columns = {"scheduled": (numpy.int64, 3), "end": (numpy.int64, ENDS[measure]), "outcome": ("U10", 6)}
    table = numpy.genfromtxt(samples, delimiter=",", skip_header=1, usecols=[place for _, place in columns.values()],
                             dtype=[(name, kind) for name, (kind, _) in columns.items()], ndmin=1)
    good = (table["end"] > 0) & (table["outcome"] != "refused")
    return table["scheduled"] / 1e6, numpy.where(good, (table["end"] - table["scheduled"]) / 1e6, math.inf)


def read_counters(path):
    """Returns {name: value} of a file with netstat, snmp and sctp/snmp in succession."""
    found, names = {}, None
    for line in path.read_text().splitlines():
        words = line.split()
        if len(words) == 2 and not words[0].endswith(":"):
            found[words[0]] = int(words[1])
        elif words and names and names[0] == words[0]:
            found.update(zip(names[1:], map(int, words[1:])))
            names = None
        elif words:
            names = words
    return found


def counter_changes(folder, transport):
    """Returns {end: {counter: increase}} without zeros."""
    changes = {}
    for end in ("agent", "box"):
        before, after = (read_counters(folder / f"counters.{end}.{when}") for when in ("before", "after"))
        rises = {name: after.get(name, 0) - before.get(name, 0) for name in transport.counters}
        changes[end] = {name: rise for name, rise in rises.items() if rise}
    return changes


def check_losses(folder, patterns):
    """Returns the kernel's counts as {direction: (seen, lost)}. Raises BadRun if they are not the pattern's."""
    counted = counters_of(folder / "drops.json")
    result = {}
    for direction, (packets, lost) in patterns.items():
        seen, dropped = counted[f"seen-{direction}"], counted[f"lost-{direction}"]
        expected = pattern.expected_losses(seen, packets, lost)
        if dropped != expected:
            raise BadRun(f"{dropped} of {seen} packets of direction '{direction}' were dropped; the pattern"
                         f" says {expected}")
        result[direction] = (seen, dropped)
    return result


def wasted(server, load, changes):
    """Returns how many copies beyond the first were sent: those that the server met, the chunks that either end of an
    association had before, and the segments of which a receiver told the sender so (DSACK)."""
    both = (*server["transport_stats"].values(), load.get("transport_stats") or {})
    chunks = sum(totals.get("received_duplicate_chunks", 0) for totals in both)
    return server["copies"] + chunks + sum(rises.get("TCPDSACKRecv", 0) for rises in changes.values())


def window_at_the_end(figures):
    """Returns {"cwnd_octets": ...} of what a transport counted; empty if it has no congestion window."""
    if "cwnd_segments" in figures:
        return {"cwnd_octets": figures["cwnd_segments"] * figures["mss_octets"]}
    return {name: value for name, value in figures.items() if name == "cwnd_octets"}


def with_arrivals(folder, point, samples, load, changes):
    """Returns the samples with what the server saw, and what follows from it for run.json: copies beyond the first,
    throughput, and the parts of the delay if packets were captured. Removes the captures."""
    arrived = deliveries.arrivals(folder / "arrived.csv", load["parameters"].get("run"))
    start, window = load["start_ns"], deliveries.window_of(point, samples)
    crossing = [path.read_text().splitlines() for path in (folder / "cross.sink.listen", folder / "cross.sink")
                if path.exists()]
    server = json.loads((folder / "server.json").read_text())
    seconds = window[0], window[0] + max(math.floor(window[1] - window[0]), 1)  # simco-cross tells of whole ones
    counted = load.get("workload_stats") or {}
    result = {"wasted": wasted(server, load, changes), **window_at_the_end(load.get("transport_stats") or {}),
              **{name: counted[name] for name in REPEATED if name in counted}}
    joined = deliveries.join(samples, arrived, start)
    if point.large_size:
        times = response_times(joined.splitlines(), point.setup.measure)
        result["others_p95_ms"] = statistics.percentile(deliveries.others(samples, times, point.setup.large_every), 95.0)
    else:  # calls have one size
        result["goodput"] = {"octets_s": deliveries.goodput(arrived, point.setup.invite_size, start, window),
                             "offered_octets_s": deliveries.offered(samples, point.setup.invite_size, window),
                             "cross_octets_s": deliveries.cross_goodput(sum(crossing, []), start, seconds)}
    if parts.captured(point):
        result["parts"] = split_delays(folder, point, samples, arrived, start)
    return joined, result


def check_capture(log):
    """Raises BadRun if tcpdump, by what it said at its end, missed packets."""
    for count in CAPTURE_DROPS.findall(log.read_text() if log.exists() else ""):
        if int(count):
            raise BadRun(f"{log.name}: tcpdump missed {count} packets: the parts of the delay cannot be told; run again on a"
                         " machine with less to do")


def split_delays(folder, point, samples, arrived, start_ns):
    """Writes parts.csv.gz, a line for each message, and returns the means of the parts."""
    for end in ("agent", "box"):
        check_capture(folder / f"capture.{end}.log")
    pcaps = [folder / f"{end}.pcap" for end in ("agent", "box")]
    ends = parts.Ends(*(path.read_bytes() for path in pcaps), (folder / "timers").read_text())
    left, there = ends.times(point.variant.transport.messages, point.setup.invite_size)
    calls = {call: start_ns + scheduled for _, call, scheduled in deliveries.sent(samples) if call is not None}
    # The captures number messages in the order in which they left, which is that of the calls; the first warm up.
    order = {call: point.warmup + number for number, call in enumerate(calls)}
    numbered = [{order[call]: time for call, time in times.items() if call in order}
                for times in (calls, {call: time for call, (time, _) in arrived.items()})]
    table = parts.split(*numbered, left, there)
    lines = [",".join(("call", *(f"{name}_ms" for name in parts.NAMES)))]
    lines += [",".join((str(call), *("" if math.isnan(value) else f"{value:.6f}" for value in values)))
              for call, values in zip(calls, table)]
    write_packed(folder / "parts.csv.gz", "\n".join(lines) + "\n")
    for path in (*pcaps, folder / "timers"):
        path.unlink()
    return parts.means(table)


def write_packed(path, text):
    """Writes a file that is the same for the same text: no name and no time in it."""
    with open(path, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.write(text.encode())


def finish(folder, job, fingerprint):
    """Completes the folder of a job's run: checks it, packs the samples, writes run.json. Raises BadRun."""
    point = job.point
    error = folder / "error"
    if error.exists():
        raise BadRun(error.read_text().strip())
    load = json.loads((folder / "load.json").read_text())
    losses = check_losses(folder, job.patterns)
    lag = load["generator_lag_ms"]["p99"]
    text = (folder / "samples.csv").read_text()
    further, changes = {}, counter_changes(folder, point.variant.transport)
    if WORKLOADS[point.workload].sip:
        text, further = with_arrivals(folder, point, text, load, changes)
    write_packed(folder / "samples.csv.gz", text)
    (folder / "samples.csv").unlink()
    run = {
        "fingerprint": fingerprint,
        "point": identity(point),
        "aborted": load["aborted"],
        "abort_reason": load["abort_reason"],
        "transactions": load["transactions"],
        "generator_lag_p99_ms": lag,
        "valid": lag <= max(LAG_FLOOR_MS, 0.01 * 2 * point.delay_ms),
        "packets": {direction: {"seen": seen, "lost": lost} for direction, (seen, lost) in losses.items()},
        "counters": changes,
        **further,
    }
    if not load["aborted"]:
        run["cost"] = costs.of_transaction(folder, point, "drops.json")
    if queue := job.network.check(folder, point, losses):
        run["queue"] = queue
    write_run(folder, run)
    return run


def identity(point):
    values = {name: value if isinstance(value, float) else str(value) for name, value in point.items()}
    return {**values, "count": point.count, "replication": point.replication}


def write_run(folder, run):
    """Writes the last file: a folder with run.json is complete."""
    (folder / "run.json").write_text(json.dumps(run, indent=1) + "\n")


def take_over(source, folder, point):
    """Makes `folder` the run of `point` by copying `source`, the run of an identical job for another point
    (of a profile that does not concern the transport, for example)."""
    run = json.loads((source / "run.json").read_text())
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("run.json"))
    write_run(folder, {**run, "point": identity(point), "processor_s": 0.0})
    return run


class UnderConditions:
    """Something measured, with its `conditions`."""

    def fits(self, where):
        """Returns whether each of its values is among those of `where`, {dimension: [values]}."""
        return all(getattr(self.conditions, name) in allowed for name, allowed in where.items())


@dataclass
class Run:
    """One replication: its samples, what run.json says, and the samples of its twin without a run of losses."""

    times: numpy.ndarray
    record: dict
    twin: numpy.ndarray | None = None
    replication: int = 0
    scheduled: numpy.ndarray | None = None  # ms after the start


@dataclass
class Combination(UnderConditions):
    """All replications under the same conditions."""

    conditions: Conditions
    runs: list  # run.json of each
    times: list  # of each
    scheduled: list = field(default_factory=list)  # ms after the start, of each
    twin: "Combination | None" = None  # the same without a run of losses
    replications: list = field(default_factory=list)  # of each, if they are not 0, 1, 2 ...

    @property
    def numbers(self):
        return self.replications or range(len(self.times))

    @cached_property
    def each(self):
        twins = dict(zip(self.twin.numbers, self.twin.times)) if self.twin else {}
        schedules = self.scheduled or [None] * len(self.times)
        return [Run(times, record, twins.get(number), number, scheduled)
                for number, times, record, scheduled in zip(self.numbers, self.times, self.runs, schedules)]

    def per_run(self, quantity):
        """Returns what each run has of a quantity of quantities.py, nan if it has none."""
        return [QUANTITIES[quantity].of_run(run) for run in self.each]

    @property
    def aborted(self):
        return any(run["aborted"] for run in self.runs)

    @property
    def all_times(self):
        return numpy.concatenate(self.times)

    @property
    def mean(self):
        """The mean with the interval to draw conclusions from: over replications if there are three or more,
        else batch means."""
        if len(self.times) >= 3:
            return statistics.over_replications(
                [statistics.mean_independent(times).value for times in self.times])
        return statistics.mean_batches(self.all_times)

    def quantile(self, q):
        return statistics.percentile(self.all_times, q)

    def quantity(self, name):
        """Returns the estimate of a quantity of quantities.py: over the runs if there are three or more."""
        if name == "mean":
            return self.mean
        q = PERCENTILES.get(name)
        if q is None or len(self.times) >= 3:
            found = statistics.over_replications(self.per_run(name))
            return found if len(self.times) >= 3 else statistics.Estimate(found.value)
        low, high = schedule.percentile_interval(self.times, q)
        return statistics.Estimate(self.quantile(q), (high - low) / 2, (low, high))

    def leaves_out(self, quantity):
        """Returns how many messages a quantity leaves out because they had no answer, or were not delivered. If there are any, it
        is a lower bound; of a part of the delay it can be on either side, as they may have waited elsewhere."""
        if QUANTITIES[quantity].captured:
            return sum(len(times) for times, run in zip(self.times, self.runs) if "parts" in run) - self.messages_split
        return self.unanswered if QUANTITIES[quantity].answered else 0

    @property
    def unanswered(self):
        return int(numpy.isinf(self.all_times).sum())

    @property
    def messages_split(self):
        """Of how many messages the parts of the delay are known: what was not delivered has none."""
        return sum(run.get("parts", {}).get("messages", 0) for run in self.runs)

    @property
    def label(self):
        return self.conditions.short_name


class Selectable:
    """A list of `combinations` that can be selected from."""

    def select(self, where):
        """Returns the combinations whose values are among those of `where`, {dimension: [values]}."""
        return [combination for combination in self.combinations if combination.fits(where)]

    def profiles(self):
        return list(dict.fromkeys(combination.conditions.profile for combination in self.combinations))


class Results(Selectable):
    """The combinations of one scenario's folder, each with all its replications."""

    has_samples = True

    def __init__(self, folder, scenario, scale):
        self.scenario, self.scale, self.missing = scenario, scale, []
        found = {}
        for point in scenario.points(scale):
            run_folder = Path(folder) / "points" / point.name
            if not (run_folder / "run.json").exists():
                self.missing.append(point)
                continue
            run = json.loads((run_folder / "run.json").read_text())
            with gzip.open(run_folder / "samples.csv.gz", "rt") as samples:
                scheduled, times = read_samples(samples, scenario.setup.measure)
            combination = found.setdefault(point.conditions, Combination(point.conditions, [], []))
            combination.runs.append(run)
            combination.replications.append(point.replication)
            combination.times.append(times)
            combination.scheduled.append(scheduled)
        self.combinations = list(found.values())
        without = {c.conditions.without("lose_run"): c for c in self.combinations if not c.conditions.lose_run}
        for combination in self.combinations:
            combination.twin = without.get(combination.conditions.without("lose_run"))

    def write_ccdfs(self, folder):
        """Writes a CSV file per combination: time, and the share of transactions that take longer."""
        folder.mkdir(exist_ok=True)
        for combination in self.combinations:
            x, y = statistics.thinned(*statistics.ccdf(combination.all_times))
            lines = ["response_time_ms,ccdf", *(f"{a:.3f},{b:.3g}" for a, b in zip(x, y))]
            (folder / f"{combination.label}.csv").write_text("\n".join(lines) + "\n")
