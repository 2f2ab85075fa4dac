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
    """RTP packets from a socket to the address `target`, which should arrive at the socket `receiver`. If `answers` is set, that
    answers each to where it came from, so that the sender sees what address the answers have."""

    def __init__(self, sender, target, receiver, answers=False):
        self.sender, self.target, self.receiver, self.answers = sender, target, receiver, answers
        self.sent, self.arrived = 0, set()
        self.answered_from = set()  # addresses

    def __str__(self):
        return f"{len(self.arrived)} of {self.sent}"


class Exchange:
    """Flows that send at the same time, INTERVAL apart. The number of a flow is its packets' source (SSRC)."""

    def __init__(self, *flows):
        self.flows = flows
        self.due = time.monotonic()
        self.sockets = list({flow.receiver for flow in flows} | {flow.sender for flow in flows if flow.answers})
        for one in (*self.sockets, *(flow.sender for flow in flows)):
            one.setblocking(False)
        for one in self.sockets:  # packets of an earlier exchange do not count
            while select.select([one], [], [], 0)[0]:
                one.recv(2048)

    def step(self):
        """Sends the next packet of each flow when it is due, and takes what arrives before."""
        while (wait := self.due - time.monotonic()) > 0:
            self.receive(wait)
        # After a pause, the rate is kept; what was missed is not made up for.
        self.due = max(self.due, time.monotonic() - INTERVAL) + INTERVAL
        for source, flow in enumerate(self.flows):
            flow.sender.sendto(rtp(flow.sent, source), flow.target)
            flow.sent += 1

    def receive(self, wait):
        """Takes what has arrived, or arrives within `wait` seconds."""
        for one in select.select(self.sockets, [], [], max(wait, 0))[0]:
            packet, address = one.recvfrom(2048)
            _, _, bits, _, source = HEADER.unpack_from(packet)
            flow = self.flows[source] if source < len(self.flows) else None
            if flow and flow.receiver is one:
                latest = flow.sent - 1
                flow.arrived.add(latest - ((latest - bits) & 0xFFFF))  # the latest with these 16 bits
                if flow.answers:
                    one.sendto(packet, address)
            elif flow and flow.answers:
                flow.answered_from.add(address)

    def until(self, condition):
        """Takes what arrives until `condition()` holds, or a packet counts as lost. Returns whether it holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition() and time.monotonic() < deadline:
            self.receive(0.1)
        return condition()

    def expect_all(self, *flows):
        """Waits until all packets of these flows have arrived. Throws Failure if one is lost."""
        if not self.until(lambda: all(len(flow.arrived) == flow.sent for flow in flows)):
            raise Failure("packets were lost during the call: " + ", ".join(f"{flow} arrived" for flow in flows))

    def expect_none(self, *flows):
        """Throws Failure if a packet of these flows has arrived."""
        for flow in flows:
            if flow.arrived:
                raise Failure(f"{flow} packets arrived that no call allows")
