"""The matrix: foreign stacks against our programs. README.md has it as a table, which `run --table` prints."""

import dataclasses
import os
from pathlib import Path

import relay

HERE = Path(__file__).resolve().parent
STREAMS = (1, 4, 16)
DATAGRAMS = (relay.NONE, relay.LOSS, relay.ORDER, relay.REPEATS, relay.ALL)
PIECES = relay.Disturbance("pieces")


@dataclasses.dataclass(frozen=True)
class Stack:
    name: str
    transport: str
    words: tuple
    streams: tuple
    disturbances: tuple
    environment: dict = dataclasses.field(default=None, hash=False, compare=False)
    tool: str = ""  # its programs are made by it


@dataclasses.dataclass(frozen=True)
class Cell:
    stack: Stack
    side: str  # of the foreign stack
    streams: int
    disturbance: relay.Disturbance

    @property
    def name(self):
        return f"{self.stack.name} {self.stack.transport} {self.side} N={self.streams} {self.disturbance.name}"


def stacks(made):
    """`made` is the folder with what `made.py` has built."""
    go = (made / "peer",)
    python = ("/usr/bin/python3", "-B", HERE / "python" / "peer.py")
    modules = {**os.environ, "PYTHONPATH": "/usr/local/lib/simco-tests"}
    return [
        Stack("aioquic", "quic", python, STREAMS, DATAGRAMS, modules),
        Stack("quic-go", "quic", go, STREAMS, DATAGRAMS, tool="go"),
        Stack("pion", "sctp", go, STREAMS, DATAGRAMS, tool="go"),
        Stack("OpenSSL", "tls", python, (1,), (relay.NONE, PIECES)),
        Stack("Go", "tls", go, (1,), (relay.NONE, PIECES), tool="go"),
        Stack("rtpengine-client", "ng", ("node", made / "ng" / "calls.js"), (1,), DATAGRAMS, tool="npm"),
    ]


def cells(made):
    for stack in stacks(made):
        for side in ("agent", "middlebox"):
            if (stack.transport, side) == ("ng", "middlebox"):
                continue  # the npm package is a client
            for streams in stack.streams:
                for disturbance in stack.disturbances:
                    yield Cell(stack, side, streams, disturbance)


def table(chosen):
    """A row for each stack: sides, streams and disturbances."""
    rows = {}
    for cell in chosen:
        row = rows.setdefault(cell.stack, [[], [], [], 0])
        for column, value in zip(row, (cell.side, str(cell.streams), cell.disturbance.name)):
            if value not in column:
                column.append(value)
        row[3] += 1
    lines = ["| stack | transport | side | streams | path | cells |", "|---|---|---|---|---|---|"]
    for stack, (*columns, count) in rows.items():
        words = [stack.name, stack.transport, *(", ".join(column) for column in columns), str(count)]
        lines.append(f"| {' | '.join(words)} |")
    return "\n".join(lines)
