"""Packets that tcpdump captured: a file of pcap with nanoseconds, and the parts of it that carry messages."""

import re
import struct

MAGIC = 0xA1B23C4D  # pcap with nanoseconds, of a little-endian host
FILE_HEADER, RECORD_HEADER = 24, 16
ETHERNET = 14
SCTP_COMMON, DATA, DATA_HEADER = 12, 0, 16
BRANCH = re.compile(rb"branch=([^;,\s]+)")


class BrokenCapture(ValueError):
    """A file that tcpdump has not written."""


def packets(octets):
    """Returns [(time in ns, IP packet)] of a capture on an Ethernet."""
    if len(octets) < FILE_HEADER or struct.unpack_from("<I", octets)[0] != MAGIC:
        raise BrokenCapture("no capture with nanoseconds")
    found, at = [], FILE_HEADER
    while at + RECORD_HEADER <= len(octets):
        seconds, nanoseconds, kept, _ = struct.unpack_from("<IIII", octets, at)
        at += RECORD_HEADER
        found.append((seconds * 1_000_000_000 + nanoseconds, octets[at + ETHERNET:at + kept]))
        at += kept
    return found


def payloads(captured):
    """Yields (time, what is behind the IPv4 header, its length on the wire), without fragments after the first."""
    for time, packet in captured:
        header = (packet[0] & 15) * 4
        total, offset = struct.unpack_from("!H2xH", packet, 2)
        if not offset & 0x1FFF:
            yield time, packet[header:], total - header


def segments(captured, base=None):
    """Returns the sequence number of octet 0, the first that was captured unless `base` says which, and [(time, first
    octet, octet behind the last)] of the TCP segments with data. Sequence numbers wrap around."""
    found = []
    for time, octets, length in payloads(captured):
        number = struct.unpack_from("!I", octets, 4)[0]
        size = length - (octets[12] >> 4) * 4
        if size <= 0:
            continue
        base = number if base is None else base
        first = (number - base + 2**31) % 2**32 - 2**31
        if found:  # near the one before it
            first += round((found[-1][1] - first) / 2**32) * 2**32
        found.append((time, first, first + size))
    return base, found


def chunks(captured, base=None):
    """Returns the TSN of chunk 0, the first that was captured unless `base` says which, and [(time, chunk)] of the DATA
    chunks of SCTP."""
    found = []
    for time, octets, _ in payloads(captured):
        at = SCTP_COMMON
        while at + DATA_HEADER <= len(octets):
            kind, _, size, number = struct.unpack_from("!BBHI", octets, at)
            if kind == DATA:
                base = number if base is None else base
                found.append((time, (number - base) % 2**32))
            if size < 4:
                break
            at += (size + 3) & ~3
    return base, found


def branches(captured):
    """Returns [(time, branch)] of the datagrams with SIP."""
    return [(time, branch[1]) for time, octets, _ in payloads(captured) if (branch := BRANCH.search(octets))]


def completed(found, size):
    """Returns {message: time} at which each message of `size` octets was complete, from the segments of segments()."""
    missing, times = {}, {}
    for time, first, last in found:
        for message in range(max(first, 0) // size, (last - 1) // size + 1):
            if message in times:
                continue
            begin = message * size
            holes = missing.get(message, [(begin, begin + size)])
            holes = [hole for low, high in holes for hole in ((low, min(high, first)), (max(low, last), high))
                     if hole[0] < hole[1]]
            if holes:
                missing[message] = holes
            else:
                missing.pop(message, None)
                times[message] = time
    return times


def first_times(found):
    """Returns {what: time} of the first time of each."""
    times = {}
    for time, what in found:
        times.setdefault(what, time)
    return times
