"""The files of a run, checked and completed: run.json says that the folder of a run is complete."""

import gzip
import json
import math
import re
import shutil

from ..errors import BadRun
from ..scenario import pattern
from ..scenario.catalogue import WORKLOADS
from ..scenario.networks import counters_of
from . import costs, deliveries, parts, statistics
from .samples import read_samples

LAG_FLOOR_MS = 0.1
CAPTURE_DROPS = re.compile(r"^(\d+) packets? dropped by (?:kernel|interface)", re.MULTILINE)
REPEATED = ("retransmissions", "further_retransmissions")  # of simco-loadgen's counts


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
    """Returns {"cwnd_octets": ...} of a transport's counts; empty if it has no congestion window."""
    if "cwnd_segments" in figures:
        return {"cwnd_octets": figures["cwnd_segments"] * figures["mss_octets"]}
    return {name: value for name, value in figures.items() if name == "cwnd_octets"}


def with_arrivals(folder, point, samples, load, changes):
    """Returns the samples with the server's arrivals, and the figures that follow for run.json: copies beyond the first,
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
        _, times = read_samples(joined.splitlines(), point.setup.measure)
        result["others_p95_ms"] = statistics.percentile(deliveries.others(samples, times, point.setup.large_every), 95.0)
    else:  # calls have one size
        octets, due = point.setup.invite_size, (scheduled for _, _, scheduled in deliveries.sent(samples))
        result["goodput"] = {"octets_s": deliveries.throughput((time for time, _ in arrived.values()), octets, start, window),
                             "offered_octets_s": deliveries.throughput(due, octets, 0, window),
                             "cross_octets_s": deliveries.cross_goodput(sum(crossing, []), start, seconds)}
    if parts.captured(point):
        result["parts"] = split_delays(folder, point, samples, arrived, start)
    return joined, result


def check_capture(log):
    """Raises BadRun if tcpdump, by its last words, missed packets."""
    for count in CAPTURE_DROPS.findall(log.read_text() if log.exists() else ""):
        if int(count):
            raise BadRun(f"{log.name}: tcpdump missed {count} packets: the parts of the delay cannot be told; run again on a"
                         " machine with less to do")


def split_delays(folder, point, samples, arrived, start_ns):
    """Writes parts.csv.gz, a line for each message, and returns the means of the parts."""
    for end in ("agent", "box"):
        check_capture(folder / f"capture.{end}.log")
    pcaps = [folder / f"{end}.pcap" for end in ("agent", "box")]
    left, there = parts.times_of(*(path.read_bytes() for path in pcaps), (folder / "timers").read_text(),
                                 point.variant.transport.messages, point.setup.invite_size)
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
