"""A foreign agent's part: two sessions with our middlebox, one that makes rules and one that hears of them."""

import asyncio
import collections

RULES = 70  # of three transactions each
AT_ONCE = 16
LIFETIME_S = 600


def attribute(name, **fields):
    return {"attribute": name, **fields}


def address_tuple(location, address, port):
    return attribute("address tuple", form="full addresses", ip_version="IPv4", prefix_length=32, protocol=17,
                     location=location, port=port, port_range=1, address=address)


def value(message, name):
    return next(one["value"] for one in message["attributes"] if one["attribute"] == name)


class Session:
    """Transactions of which each has exactly one reply."""

    def __init__(self, connection):
        self.connection, self.next_tid = connection, 0
        self.replies, self.notifications = {}, asyncio.Queue()
        self.reader = asyncio.ensure_future(self.read())
        self.answered = 0

    async def read(self):
        while message := await self.connection.arrived.get():
            if message["message"].endswith("notification"):
                self.notifications.put_nowait(message)
            elif message["tid"] in self.replies:
                self.replies.pop(message["tid"]).set_result(message)
                self.answered += 1
            else:
                self.connection.end(f"nobody asked for {message}")
        reason = self.connection.ended.result()
        self.notifications.put_nowait({"message": f"nothing but the end: {reason}"})
        for waiting in self.replies.values():
            waiting.set_exception(AssertionError(f"the connection ended: {reason}"))

    async def ask(self, name, reply, *attributes):
        self.next_tid += 1
        tid = self.next_tid
        waiting = self.replies[tid] = asyncio.get_running_loop().create_future()
        self.connection.send({"message": f"{name} request", "tid": tid, "attributes": list(attributes)})
        message = await waiting
        assert message["message"] == f"{reply} positive reply", message
        return message

    async def open(self):
        reply = await self.ask("SE", "SE", attribute("protocol version", major=3, minor=0))
        assert "packet filter" in reply["attributes"][0]["middlebox_type"], reply

    async def end(self):
        """The middlebox closes the connection (RFC 4540 7.4)."""
        await self.ask("ST", "ST")
        await self.connection.orderly_end()

    def close(self):
        self.reader.cancel()


async def rule(session, number):
    """Made, looked at, deleted. Returns its PID."""
    internal = address_tuple("internal", "10.0.0.5", 6000 + number)
    external = address_tuple("external", "192.0.2.7", 7000 + number)
    made = await session.ask("PER", "PER", attribute("PER parameter set", parity="any", direction="inbound"),
                             internal, external, attribute("policy rule lifetime", value=LIFETIME_S))
    pid = value(made, "policy rule identifier")
    status = await session.ask("PRS", "PES", attribute("policy rule identifier", value=pid))
    assert value(status, "policy rule identifier") == pid, status
    assert [internal, external] == [one for one in status["attributes"]
                                    if one.get("location") in ("internal", "external")], status
    await session.ask("PLC", "PRD", attribute("policy rule identifier", value=pid),
                      attribute("policy rule lifetime", value=0))
    return pid


async def make_rules(session):
    """Returns the PIDs."""
    numbers, pids = collections.deque(range(RULES)), []

    async def some():
        while numbers:
            pids.append(await rule(session, numbers.popleft()))
    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    assert len(set(pids)) == RULES, "a PID twice"
    return pids


async def hear(session, pids):
    """Of each rule its start and its end."""
    expected = collections.Counter((pid, alive) for pid in pids for alive in (True, False))
    for _ in range(expected.total()):
        message = await session.notifications.get()
        assert message["message"] == "ARE notification", message
        lifetime = value(message, "policy rule lifetime")
        expected.subtract([(value(message, "policy rule identifier"), lifetime > 0)])
    assert not any(expected.values()), expected


async def play(peer, cleanup, before_end, end_middlebox):
    """`before_end` is called before a connection ends. Returns how many transactions and notifications there were."""
    worker, watcher = [cleanup(Session(await peer.connect())) for _ in range(2)]
    await worker.open()
    await watcher.open()
    pids = await make_rules(worker)
    await hear(watcher, pids)
    assert not (await worker.ask("PRL", "PRL"))["attributes"]
    assert worker.notifications.empty(), "an ARE about the session's own request"
    assert len(peer.streams_used) == peer.streams, peer.streams_used
    before_end()
    await worker.end()
    end_middlebox()
    message = await watcher.notifications.get()
    assert message["message"] == "AST notification", message
    await watcher.connection.orderly_end()
    return worker.answered + watcher.answered, 2 * RULES
