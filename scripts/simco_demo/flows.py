"""Packets of several parties at once, each of which is accounted for."""

import select
import struct
import time

from .namespace import Failure

INTERVAL = 0.02  # seconds between packets, as of a telephone with G.711
PATIENCE = 60.0  # seconds until a packet that must arrive counts as lost
SAMPLES = 160  # in a packet
HEADER = struct.Struct("!BBHII")  # of RTP
VERSION, PCMU = 0x80, 0


def rtp(number, source):
    """Returns an RTP packet with silence."""
    return HEADER.pack(VERSION, PCMU, number & 0xFFFF, number * SAMPLES, source) + bytes([0xFF]) * SAMPLES


class Flow:
    """RTP packets from a socket to the address `target`, which should arrive at the socket `receiver`."""

    def __init__(self, sender, target, receiver):
        self.sender, self.target, self.receiver = sender, target, receiver
        self.sent, self.arrived = 0, set()

    def __str__(self):
        return f"{len(self.arrived)} of {self.sent}"


class Exchange:
    """Flows that send at the same time, INTERVAL apart. The number of a flow is its packets' source (SSRC)."""

    def __init__(self, *flows):
        self.flows = flows
        self.sockets = {flow.receiver for flow in flows}
        for one in self.sockets | {flow.sender for flow in flows}:
            one.setblocking(False)
        self._discard()

    def _discard(self):
        """Packets of an earlier exchange do not count."""
        for one in self.sockets:
            while select.select([one], [], [], 0)[0]:
                one.recv(2048)

    def run(self, count):
        """Sends `count` packets of each flow, and takes what arrives until the next would be due."""
        due = time.monotonic()
        for number in range(count):
            for source, flow in enumerate(self.flows):
                flow.sender.sendto(rtp(number, source), flow.target)
                flow.sent += 1
            due = max(due, time.monotonic() - INTERVAL) + INTERVAL
            self._receive_until(due)

    def expect_all(self, *flows):
        """Waits until all packets of these flows have arrived. Throws Failure if one is lost."""
        end = time.monotonic() + PATIENCE
        while any(len(flow.arrived) < flow.sent for flow in flows):
            if time.monotonic() > end:
                raise Failure("packets were lost during the call: " + ", ".join(f"{flow} arrived" for flow in flows))
            self._receive_until(time.monotonic() + INTERVAL)

    def expect_none(self, *flows):
        """Throws Failure if a packet of these flows has arrived."""
        for flow in flows:
            if flow.arrived:
                raise Failure(f"{flow} packets arrived that no call allows")

    def _receive_until(self, end):
        while (wait := end - time.monotonic()) > 0:
            for one in select.select(list(self.sockets), [], [], wait)[0]:
                _, _, number, _, source = HEADER.unpack_from(one.recv(2048))
                if source < len(self.flows) and self.flows[source].receiver is one:
                    self.flows[source].arrived.add(number)
