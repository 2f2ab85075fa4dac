"""Arrivals at the server of one-way measurements: the time and the copies of each call, and the octets that passed."""

import csv
import json

LEAST_S = 1.0  # of a window: a run of one sample has no length
COLUMNS = ("delivered_ns", "copies")  # added to the samples


def arrivals(path, run):
    """Returns {call: (ns on CLOCK_MONOTONIC, copies)} of that run in the server's file; None: its programs do not tell."""
    with open(path, newline="") as file:
        return {int(row["call"]): (int(row["arrived_ns"]), int(row["copies"])) for row in csv.DictReader(file)
                if row.get("run") == run}


def sent(samples):
    """Returns [(line, call, scheduled ns)] of a file of samples; the call is None if its message was never sent."""
    rows = ((line, line.split(",", 5)) for line in samples.splitlines()[1:])
    return [(line, int(fields[1]) if fields[4] else None, int(fields[3])) for line, fields in rows]


def join(samples, arrived, start_ns):
    """Returns the text of a file of samples with the times of arrival after the start of the schedule, and the copies;
    both are empty for a call that did not arrive."""
    result = [",".join((samples.split("\n", 1)[0], *COLUMNS))]
    for line, call, _ in sent(samples):
        time, copies = arrived.get(call, (None, 0))
        result.append(f"{line},{'' if time is None else time - start_ns},{copies or ''}")
    return "\n".join(result) + "\n"


def others(samples, times, every):
    """Returns those of the times, one for each sample, that are not of large messages, which each `every`th call is."""
    calls = (call for _, call, _ in sent(samples))
    return times[[call is None or call % every != every - 1 for call in calls]]


def throughput(times, octets, start_ns, window_s):
    """Returns the octets/s of messages at these times (ns) in the window (begin, end), seconds after the start: of calls that
    arrived first in it; or of those that were scheduled in it, whether they were sent or not, so what is offered."""
    begin, end = (start_ns + second * 1e9 for second in window_s)
    return octets * sum(begin <= time < end for time in times) / (window_s[1] - window_s[0])


def cross_goodput(lines, start_ns, window_s):
    """Returns the octets/s of competing traffic, by the output of simco-cross, a line a second: of the seconds that end within
    the window."""
    begin, end = (start_ns + second * 1e9 for second in window_s)
    entries = [json.loads(line) for line in lines]
    return sum(entry["octets"] for entry in entries if begin < entry["at_ns"] <= end) / (window_s[1] - window_s[0])


def window_of(point, samples):
    """Returns (begin, end) of the time that counts, in seconds: the schedule of the samples without its beginning, to the last
    of them."""
    warm, length = point.warmup / point.rate, point.count / point.rate
    begin = warm + min(point.setup.skip_s, length / 2)
    last = max((scheduled for _, _, scheduled in sent(samples)), default=0) / 1e9
    return begin, max(last, begin + LEAST_S)
