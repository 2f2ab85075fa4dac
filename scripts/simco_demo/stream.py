"""An RTP stream, each packet of which is accounted for, and its bars."""

import time

from .flows import Exchange, Flow
from .namespace import Failure

GROUP = 5  # packets of a bar


class Stream(Flow):
    """A flow by itself, which is answered."""

    def __init__(self, sender, target, receiver):
        super().__init__(sender, target, receiver, answers=True)
        self.exchange = Exchange(self)
        self.step = self.exchange.step

    def count(self, first, end):
        """Returns how many of the packets from `first` until before `end` have arrived."""
        return sum(number in self.arrived for number in range(first, end))

    def expect_all(self, first, end):
        """Waits until all those packets have arrived. Throws Failure if one is lost."""
        if not self.exchange.until(lambda: self.count(first, end) == end - first):
            raise Failure(f"{end - first - self.count(first, end)} of {end - first} packets were lost")

    def expect_answer(self):
        """Waits until an answer has arrived. Throws Failure if none does."""
        if not self.exchange.until(lambda: self.answered_from):
            raise Failure("no answer arrived")


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
               and (wait := self.stream.exchange.due - time.monotonic()) > 0):
            self.stream.exchange.receive(wait)

    def show_packets(self, count):
        end = self.stream.sent + count
        self.show(lambda: self.stream.sent >= end)
