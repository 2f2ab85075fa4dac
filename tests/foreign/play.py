"""One cell of the matrix: a foreign stack and our program with a path between them. Returns a line about it."""

import asyncio
import json
import re

import agent_side
import middlebox_side
import relay
from peers import Peer
from process import Process

LOAD = 250  # transactions of simco-loadgen
KEPT = 20  # rules that it leaves
CALLS = 60
PATIENCE = ("--timeout", 600)  # seconds
AGENTS = """
[[agent]]
name = "both"  # of the certificate
certificate = true
see = ["*"]

[[agent]]
name = "anonymous"
see = ["*"]
"""


class Setting:
    """The programs and files of all cells."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.own, self.key = folder / "own.pem", folder / "own.key"
        self.agents = folder / "agents.toml"
        self.agents.write_text(AGENTS)

    def peer(self, cell, *words):
        return Peer.start(cell.stack, cell.streams, "--certificate", self.own, "--key", self.key,
                          "--authority", self.own, *words)

    def transport(self, cell, encapsulation):
        """The words for a program of ours; `encapsulation` is SCTP's UDP port."""
        tls = ["--tls-certificate", self.own, "--tls-key", self.key, "--tls-ca", self.own]
        return {"quic": ["--transport", "quic", "--quic-idle-timeout", 600_000, "--streams", cell.streams, *tls],
                "sctp": ["--transport", "sctp", "--sctp-stack", "userland", "--streams", cell.streams,
                         "--udp-encaps", encapsulation],
                "tls": tls, "ng": []}[cell.stack.transport]

    def start(self, name, *words):
        return Process.start(self.programs / name, *words)


async def listening(program):
    def port(program):
        lines = (re.search(r"listening on \w+ \S*:(\d+)", line) for line in program.errors)
        return next((int(found[1]) for found in lines if found), None)
    return await program.until(port)


def path_to(cell, port, seed):
    if cell.stack.transport == "tls":
        return relay.Pieces.open(port, seed, cell.disturbance is relay.NONE)
    return relay.Path.open(port, cell.disturbance, seed)


async def ended_well(program):
    status = await program.status()
    assert status == 0, f"{program.name} ended with {status}: {program.tail()}"


PION_PORT = 5000  # SCTP's port of both ends: pion has no other


async def foreign_agent(cell, setting, seed, cleanup):
    sctp = cell.stack.transport == "sctp"
    encapsulation = free_udp_port() if sctp else 0
    box = cleanup(await setting.start("simco-middlebox", "--config", setting.agents, "--listen", "127.0.0.1",
                                      "--port", PION_PORT if sctp else 0, *setting.transport(cell, encapsulation)))
    port = await listening(box)
    path = cleanup(await path_to(cell, encapsulation or port, seed))
    peer = cleanup(await setting.peer(cell, "--connect", f"127.0.0.1:{path.port}"))
    asked, heard = await agent_side.play(peer, cleanup, path.calm, box.terminate)
    await ended_well(box)
    await peer.leave()
    return f"{asked} transactions, {heard} notifications", path.count


async def foreign_middlebox(cell, setting, seed, cleanup):
    peer = cleanup(await setting.peer(cell))
    path = cleanup(await path_to(cell, await peer.port(), seed))
    to = ["--connect", f"127.0.0.1:{PION_PORT if cell.stack.transport == 'sctp' else path.port}",
          *setting.transport(cell, path.port)]
    middlebox = cleanup(middlebox_side.Middlebox(peer))
    watch = cleanup(await setting.start("simcoctl", *to, *PATIENCE, "watch"))
    await middlebox.has_sessions(1)
    load = cleanup(await setting.start("simco-loadgen", *to, "--rate", 500, "--count", LOAD, "--rules", KEPT,
                                       "--abort-lag", 600, *PATIENCE, "--json", "-"))
    await ended_well(load)
    counts = json.loads("\n".join(load.said))["transactions"]
    assert counts["completed"] == LOAD, counts
    rules = cleanup(await setting.start("simcoctl", *to, *PATIENCE, "list", "--pids"))
    await ended_well(rules)
    assert sorted(map(int, rules.said)) == sorted(middlebox.rules), rules.said
    assert len(peer.streams_used) == cell.streams, peer.streams_used
    path.calm()
    await watch.until(lambda program: len(program.said) >= middlebox.notifications)
    middlebox.end()
    status = await watch.status()
    assert status == 1 and "the middlebox ended the session" in watch.errors[-1], watch.tail()
    assert len(watch.said) == middlebox.notifications, watch.tail()
    reliable = cell.disturbance is relay.NONE or cell.stack.transport == "tls"
    for connection in peer.connections if reliable else peer.connections[:1]:  # the others' ends may be lost
        await connection.orderly_end(crossing="abort chunk" if cell.stack.transport == "sctp" else None)
    middlebox.check()
    await peer.leave()
    return f"{middlebox.requests} transactions, {middlebox.notifications} notifications", path.count


async def foreign_proxy(cell, setting, seed, cleanup):
    box = cleanup(await setting.start("simco-middlebox", "--port", 0))
    to = f"127.0.0.1:{await listening(box)}"
    ng = cleanup(await setting.start("simco-ng", "--listen", "127.0.0.1:0", "--middlebox", to,
                                     "--internal", "10.0.0.0/8"))
    path = cleanup(await path_to(cell, await listening(ng), seed))
    calls = cleanup(await Process.start(*cell.stack.words, path.port, CALLS))

    async def rules():
        listed = cleanup(await setting.start("simcoctl", "--connect", to, "list", "--pids"))
        await ended_well(listed)
        return len(listed.said)
    await calls.until(lambda program: "up" in program.said)
    assert await rules() == CALLS
    calls.child.stdin.write(b"\n")
    await ended_well(calls)
    while await rules():  # simco-ng answers before the middlebox has ended them
        pass
    for program in (ng, box):
        program.terminate()
        await ended_well(program)
    asked, again, _ = calls.said[-1].split()[1:]
    return f"{asked} requests, {again} of them again", path.count


def free_udp_port():
    import socket
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def play(cell, setting, seed, limit_s):
    """Ends whatever it has started."""
    started = []

    def cleanup(one):
        started.append(one)
        return one
    part = foreign_proxy if cell.stack.transport == "ng" else (
        foreign_agent if cell.side == "agent" else foreign_middlebox)
    try:
        async with asyncio.timeout(limit_s):
            did, count = await part(cell, setting, seed, cleanup)
            return did + "".join(f", {number} {word}" for word, number in count.items() if number), count
    except TimeoutError:
        said = "; ".join(f"{one.name}: {one.tail()}" for one in started if isinstance(one, Process))
        raise AssertionError(f"hangs: {said}") from None
    finally:
        for one in reversed(started):
            if isinstance(one, Process):
                await one.end()
            else:
                one.close()
