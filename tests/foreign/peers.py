"""A foreign stack's process, and its connections: whole messages on streams."""

import asyncio
import sys
from pathlib import Path

from process import Process

sys.path.append(str(Path(__file__).resolve().parents[1] / "vectors"))
import simco_codec  # it shares nothing with our programs

CONNECTS_MAX = 10  # a slow machine may miss our programs' time limit of a handshake


class Abrupt(AssertionError):
    """An end that is not orderly, as of a program of ours whose time limit for the end (2 s) has run out."""


class Connection:
    def __init__(self, peer, number, streams):
        self.peer, self.number, self.streams = peer, number, streams
        self.arrived = asyncio.Queue()
        self.ended = asyncio.get_running_loop().create_future()

    def send(self, message):
        """On stream TID modulo N."""
        octets = simco_codec.encode(message)
        self.peer.write("send", self.number, message["tid"] % self.streams, octets.hex())

    def take(self, stream, octets):
        message = simco_codec.decode(octets)
        assert stream == message["tid"] % self.streams, f"stream {stream} of {self.streams}: {message}"
        self.peer.streams_used.add(stream)
        self.arrived.put_nowait(message)

    def end(self, reason):
        if not self.ended.done():
            self.ended.set_result(reason)
            self.arrived.put_nowait(None)

    def close(self):
        self.peer.write("close", self.number)

    async def orderly_end(self, crossing=None):
        """`crossing` is how an end is seen, if both ends begin it at once."""
        reason = await self.ended
        if reason != "orderly" and (crossing is None or crossing not in reason):
            raise Abrupt(f"the connection ended: {reason}")


class Peer(Process):
    """Either end of a foreign stack. `accepted` are its connections in order."""

    @classmethod
    async def start(cls, stack, streams, *words):
        self = await super().start(*stack.words, "--stack", stack.transport, "--streams", streams, *words,
                                   environment=stack.environment)
        self.streams, self.connections, self.opened, self.faults = streams, [], asyncio.Queue(), []
        self.streams_used = set()
        return self

    def write(self, *words):
        self.child.stdin.write((" ".join(map(str, words)) + "\n").encode())

    def on_line(self, line):
        try:
            self.take(line)
        except (AssertionError, LookupError, ValueError, simco_codec.FormatError) as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}")
            for connection in self.connections:
                connection.end(self.faults[-1])

    def take(self, line):
        kind, *words = line.split(" ", 3)
        if kind == "open":
            self.connections.append(Connection(self, int(words[0]), self.streams))
            self.opened.put_nowait(self.connections[-1])
        elif kind == "refused":
            self.opened.put_nowait(None)
        elif kind == "got":
            self.connections[int(words[0])].take(int(words[1]), bytes.fromhex(words[2]))
        elif kind == "end":
            self.connections[int(words[0])].end(" ".join(words[1:]))
        elif kind == "failed":
            self.faults.append(line)

    async def connect(self):
        for _ in range(CONNECTS_MAX):
            self.write("connect")
            if connection := await self.opened.get():
                return connection
        raise AssertionError(f"no connection: {self.said[-1]}")

    async def port(self):
        return await self.until(lambda peer: next(
            (int(line.split()[1]) for line in peer.said if line.startswith("listening ")), None))

    async def leave(self):
        """The process ends when it is told nothing more."""
        self.child.stdin.close()
        await self.status()
        assert not self.faults, self.faults
