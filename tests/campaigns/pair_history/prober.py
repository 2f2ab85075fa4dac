"""Sends a packet to each rule that was ever asked for, again and again, by the shared address and through either
box, and notes which ones pass."""
import collections
import select
import socket
import struct
import threading
import time

from .agents import INTERNAL_PORT

PERIOD = 0.008
RARELY = 6  # a port that has not passed for long gets only each so manieth round
WAYS = (0, 1, 2)  # the shared address, or the box of that number: marks by which the host outside routes
PACKET = struct.Struct("dB")  # when it was sent, and which way
DECOYS = (29001, 29002)  # which no agent asks for


class Prober:
    def __init__(self, inside, outside, book):
        self.inside, self.outside, self.book = inside, outside, book
        self.sockets = {}  # by external port
        self.receiver = inside.run(self.bind_receiver)
        self.passes = {}  # by external port: (sent, received)
        self.last = {}  # when the last packet that passed was sent, by external port and way
        self.turns = collections.Counter()  # of each external port
        self.sent = 0
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.send, self.receive)]

    def bind_receiver(self):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("10.0.0.2", INTERNAL_PORT))
        return one

    def bind_sender(self, port):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("192.0.2.2", port))
        one.setblocking(False)
        return one

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        for one in (self.receiver, *self.sockets.values()):
            one.close()

    def send(self):
        turn = 0
        while not self.stopping.wait(PERIOD):
            turn += 1
            now = time.time()
            for port in (*DECOYS, *range(20001, self.book.next_port)):
                seen = self.passes.get(port)
                asked = self.book.asked.get(port)
                fresh = (seen and now - seen[-1][1] < 2) or (asked and now - asked[0] < 2)
                if fresh or (turn + port) % RARELY == 0:
                    self.probe(port)

    def probe(self, port):
        if port not in self.sockets:
            self.sockets[port] = self.outside.run(lambda: self.bind_sender(port))
        try:
            self.turns[port] += 1
            way = WAYS[self.turns[port] % len(WAYS)]
            self.sockets[port].setsockopt(socket.SOL_SOCKET, socket.SO_MARK, way)
            self.sockets[port].sendto(PACKET.pack(time.time(), way), ("10.0.0.2", INTERNAL_PORT))
            self.sent += 1
        except OSError:  # no route, no neighbour
            pass

    def receive(self):
        while not self.stopping.is_set():
            if not select.select([self.receiver], [], [], 0.1)[0]:
                continue
            data, (_, port) = self.receiver.recvfrom(64)
            sent, way = PACKET.unpack(data)
            self.passes.setdefault(port, []).append((sent, time.time()))
            self.last[port, way] = sent

    def passed_since(self, port, time_sent, way):
        return self.last.get((port, way), float("-inf")) >= time_sent


def thinned(passes, instants):
    """Of the packets between two of `instants` the first and the last: the others decide nothing more."""
    result = {}
    ordered = sorted(instants)
    for port, times in passes.items():
        kept, group, at = [], [], 0
        for sent, got in sorted(times):
            moved = False
            while at < len(ordered) and ordered[at] <= sent:
                at, moved = at + 1, True
            if moved and group:
                kept.extend({group[0], group[-1]})
                group = []
            group.append((sent, got))
        if group:
            kept.extend({group[0], group[-1]})
        result[port] = sorted(kept)
    return result
