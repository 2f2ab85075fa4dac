"""Where a message's delay comes from, by captures at both ends of the path: it waits for its sender's window (sender), is
under way or lost and sent again (network), and waits at the receiver for messages before it (behind)."""

import re
from collections.abc import Callable

import numpy

from ..errors import BadRun
from . import capture

# /proc/timer_list: CLOCK_REALTIME, that of captures, is so far ahead of CLOCK_MONOTONIC.
OFFSET = re.compile(r"ktime_get_real\s+\.offset:\s+(\d+) nsecs")
NAMES = ("sender", "network", "behind")


def numbered(find, times_of_each):
    """Returns the function that returns ({message: time it left}, {message: time it was there}) of two captures of a connection
    or an association, whose octets or chunks `find` numbers."""
    def both(out, inn, size):
        base, left = find(out)
        return times_of_each(left, size), times_of_each(find(inn, base)[1], size)

    return both


def datagrams(out, inn, _):
    """The same of datagrams: their first copies leave in the order of the messages."""
    left, there = (capture.first_times(capture.branches(captured)) for captured in (out, inn))
    numbers = {branch: number for number, branch in enumerate(left)}
    return ({numbers[branch]: time for branch, time in left.items()},
            {numbers[branch]: time for branch, time in there.items() if branch in numbers})


# By the kind of messages that a transport has (catalogue.Transport.messages). Those of another kind cannot be told apart in
# a capture, such as the records of TLS, which may have several.
MATCHING: dict[str, Callable] = {"stream": numbered(capture.segments, capture.completed),
                                "chunks": numbered(capture.chunks, lambda found, _: capture.first_times(found)),
                                "datagrams": datagrams}

# The octets of a packet that a capture keeps: of chunks all, because several share a packet.
KEPT = {"stream": 128, "chunks": 1600, "datagrams": 400}


def captured(point):
    return point.setup.capture and point.variant.transport.messages in MATCHING


def times_of(out, inn, timers, kind, size):
    """Returns ({message: ns it left the sender}, {message: ns it was at the receiver}) on CLOCK_MONOTONIC, by the files
    of tcpdump at both ends and by /proc/timer_list."""
    found = OFFSET.search(timers)
    if not found:
        raise BadRun("/proc/timer_list does not tell the offset of the clocks")
    offset = int(found[1])
    try:
        both = MATCHING[kind](capture.packets(out), capture.packets(inn), size)
    except capture.BrokenCapture as error:
        raise BadRun(f"capture: {error}") from error
    return tuple({number: time - offset for number, time in times.items()} for times in both)


def split(scheduled, delivered, left, there):
    """Returns an array with a row for each message and the columns sender, network, behind (ms); nan for a message that
    was not captured at both ends or not delivered. The arguments are {message: ns}."""
    rows = numpy.full((len(scheduled), len(NAMES)), numpy.nan)
    for row, number in enumerate(scheduled):
        if number in left and number in there and number in delivered:
            times = scheduled[number], left[number], there[number], delivered[number]
            rows[row] = numpy.diff(times) / 1e6
    return rows


def means(rows):
    """Returns {part: mean}, and how many messages they are of."""
    known = rows[~numpy.isnan(rows).any(axis=1)]
    if len(known) == 0:
        return {"messages": 0}
    return {**{name: float(value) for name, value in zip(NAMES, known.mean(axis=0))}, "messages": len(known)}
