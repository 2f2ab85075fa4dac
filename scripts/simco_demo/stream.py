"""An RTP stream: 50 packets a second from one socket to another, each of which is accounted for."""

import select
import time

from .flows import HEADER, INTERVAL, PATIENCE, rtp
from .namespace import Failure

GROUP = 5  # packets of a bar
SOURCE = 0x51AC0


class Stream:
    """Sends from `sender` to the address `target`; `receiver` answers each packet to where it came from, so that
    the sender sees what address the answers have."""

    def __init__(self, sender, target, receiver):
        self.sender, self.target, self.receiver = sender, target, receiver
        self.sent = 0
        self.arrived = {}  # number of a packet: the address that it came from
        self.answered_from = set()  # addresses
        self.due = time.monotonic()
        for socket in (sender, receiver):
            socket.setblocking(False)

    def step(self):
        """Sends the next packet when it is due."""
        while (wait := self.due - time.monotonic()) > 0:
            self.receive(wait)
        # After a pause, the rate is kept; what was missed is not made up for.
        self.due = max(self.due, time.monotonic() - INTERVAL) + INTERVAL
        self.sender.sendto(rtp(self.sent, SOURCE), self.target)
        self.sent += 1

    def receive(self, wait):
        """Takes what has arrived, or arrives within `wait` seconds."""
        ready, _, _ = select.select([self.receiver, self.sender], [], [], max(wait, 0))
        for socket in ready:
            packet, source = socket.recvfrom(2048)
            number = self._number(packet)
            if socket is self.sender:
                self.answered_from.add(source)
            else:
                self.arrived[number] = source
                socket.sendto(packet, source)

    def _number(self, packet):
        """Returns the number of the packet: the latest with its 16 bits."""
        bits = HEADER.unpack_from(packet)[2]
        return self.sent - 1 - ((self.sent - 1 - bits) & 0xFFFF)

    def count(self, first, end):
        """Returns how many of the packets from `first` until before `end` have arrived."""
        return sum(number in self.arrived for number in range(first, end))

    def expect_all(self, first, end):
        """Waits until all those packets have arrived. Throws Failure if one is lost."""
        if not self._until(lambda: self.count(first, end) == end - first):
            raise Failure(f"{end - first - self.count(first, end)} of {end - first} packets were lost")

    def expect_answer(self):
        """Waits until an answer has arrived. Throws Failure if none does."""
        if not self._until(lambda: self.answered_from):
            raise Failure("no answer arrived")

    def _until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition() and time.monotonic() < deadline:
            self.receive(0.1)
        return condition()


class Bars:
    """Shows a stream as bars, one for each GROUP of packets, so that no packet is left out."""

    def __init__(self, screen, stream):
        self.screen, self.stream = screen, stream
        self.shown = stream.sent

    def show(self, done):
        """Sends and shows packets until `done()` is true at the end of a bar."""
        while True:
            while self.stream.sent < self.shown + GROUP:
                self.stream.step()
            self._settle()
            self.screen.bar(self.stream.count(self.shown, self.shown + GROUP), GROUP)
            self.shown += GROUP
            if done():
                return

    def _settle(self):
        """Gives the last packets of a bar until the next one is due."""
        while (self.stream.count(self.shown, self.shown + GROUP) < GROUP
               and (wait := self.stream.due - time.monotonic()) > 0):
            self.stream.receive(wait)

    def show_packets(self, count):
        end = self.stream.sent + count
        self.show(lambda: self.stream.sent >= end)
