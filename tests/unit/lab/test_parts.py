"""The parts of a delay, from captures made here octet by octet."""

import struct
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy

import trial
from simco_lab.draw import tables
from simco_lab.errors import BadRun
from simco_lab.measure import capture, parts, run_record

TIMERS = """ clock 1:
  .base:       pending
  .get_time:   ktime_get_real
  .offset:     1000000 nsecs
"""


def file(packets):
    """A capture of [(time in ns, what IP carries)]."""
    octets = struct.pack("<IHHiIII", capture.MAGIC, 2, 4, 0, 0, 65535, 1)
    for time, carried in packets:
        packet = bytes(14) + struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(carried), 0, 0, 64, 0, 0, 1, 2) + carried
        octets += struct.pack("<IIII", time // 10**9, time % 10**9, len(packet), len(packet)) + packet
    return octets


def tcp(number, size):
    return struct.pack("!HHIIBBHHH", 1, 2, number % 2**32, 0, 5 << 4, 16, 0, 0, 0) + bytes(size)


def sctp(*numbers):
    chunks = b"".join(struct.pack("!BBHIHHI", 0, 3, 16 + 5, number % 2**32, 0, 0, 0) + bytes(8) for number in numbers)
    return bytes(12) + chunks


def udp(branch):
    return bytes(8) + b"INVITE sip:b SIP/2.0\r\nVia: SIP/2.0/UDP a;branch=" + branch + b"\r\n"


def times(kind, out, inn, size=100):
    offset = 10**6
    out, inn = (file([(time + offset, what) for time, what in packets]) for packets in (out, inn))
    return parts.times_of(out, inn, TIMERS, kind, size)


class Tcp(unittest.TestCase):
    def test_segments_cut_messages(self):
        left, there = times("stream", [(10, tcp(5, 150)), (20, tcp(155, 50))], [(30, tcp(5, 150)), (40, tcp(155, 50))])
        self.assertEqual((left, there), ({0: 10, 1: 20}, {0: 30, 1: 40}))

    def test_a_hole_is_filled_later(self):
        sent = [(10, tcp(0, 100)), (11, tcp(100, 100)), (12, tcp(200, 100)), (60, tcp(0, 100))]
        left, there = times("stream", sent, [(21, tcp(100, 100)), (22, tcp(200, 100)), (70, tcp(0, 100))])
        self.assertEqual(left, {0: 10, 1: 11, 2: 12})
        # The receiver's capture begins with the second message, whose number is that of the sender's capture.
        self.assertEqual(there, {1: 21, 2: 22, 0: 70})

    def test_sequence_numbers_wrap_around(self):
        start = 2**32 - 150
        both = [(10 + i, tcp(start + 100 * i, 100)) for i in range(4)]
        left, _ = times("stream", both, both)
        self.assertEqual(left, {0: 10, 1: 11, 2: 12, 3: 13})

    def test_acknowledgements_carry_nothing(self):
        left, _ = times("stream", [(5, tcp(7, 0)), (10, tcp(7, 100))], [(10, tcp(7, 100))])
        self.assertEqual(left, {0: 10})


class Sctp(unittest.TestCase):
    def test_chunks_share_packets_and_are_sent_again(self):
        sent = [(10, sctp(2**32 - 1, 0)), (11, sctp(1)), (50, sctp(2**32 - 1))]
        left, there = times("chunks", sent, [(21, sctp(1)), (22, sctp(0)), (60, sctp(2**32 - 1))])
        self.assertEqual(left, {0: 10, 1: 10, 2: 11})
        self.assertEqual(there, {2: 21, 1: 22, 0: 60})


class Udp(unittest.TestCase):
    def test_branches(self):
        sent = [(10, udp(b"z1")), (11, udp(b"z2")), (510, udp(b"z1"))]
        left, there = times("datagrams", sent, [(21, udp(b"z2")), (520, udp(b"z1")), (530, udp(b"zz"))])
        self.assertEqual((left, there), ({0: 10, 1: 11}, {1: 21, 0: 520}))


class Split(unittest.TestCase):
    def test_the_parts_add_up(self):
        rows = parts.split({0: 0, 1: 10}, {0: 9_000_000}, {0: 2_000_000, 1: 3}, {0: 7_000_000, 1: 4})
        self.assertEqual(list(rows[0]), [2.0, 5.0, 2.0])
        self.assertTrue(numpy.isnan(rows[1]).all())
        self.assertEqual(parts.means(rows), {"sender": 2.0, "network": 5.0, "behind": 2.0, "messages": 1})

    def test_nothing_known(self):
        self.assertEqual(parts.means(numpy.full((2, 3), numpy.nan)), {"messages": 0})


class Broken(unittest.TestCase):
    def test_what_is_not_a_capture(self):
        with self.assertRaisesRegex(BadRun, "no capture with nanoseconds"):
            parts.times_of(b"", b"", TIMERS, "chunks", 1)
        with self.assertRaisesRegex(BadRun, "offset of the clocks"):
            parts.times_of(file([]), file([]), "", "chunks", 1)


class Reports(unittest.TestCase):
    def test_of_how_many_messages_they_are(self):
        record = {"parts": {"sender": 1.0, "network": 45.0, "behind": 0.5, "messages": 3}}
        made = trial.combination("tcp", *[numpy.ones(4)] * 2, record=record)
        lines = tables.parts_lines(SimpleNamespace(combinations=[made]))
        self.assertTrue(any(line.endswith("| 6 of 8 |") for line in lines), lines)

    def test_a_capture_that_missed_packets(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "capture.box.log"
            log.write_text("listening on right\n800 packets captured\n0 packets dropped by kernel\n")
            run_record.check_capture(log)
            log.write_text("790 packets captured\n10 packets dropped by kernel\n")
            with self.assertRaisesRegex(BadRun, "capture.box.log: tcpdump missed 10 packets"):
                run_record.check_capture(log)
