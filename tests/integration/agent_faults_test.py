"""The agent library in C and in Python when the middlebox, the caller or the memory is at fault."""

import asyncio
import contextlib
import gc
import struct
import unittest

import simco
from simco._library import ffi, lib
from python_agent_test import run

REQUEST, POSITIVE = 1, 2
SE, ST, PRD, PRL, ARE = 0x01, 0x03, 0x16, 0x22, 0x03


def message(basic, sub, tid, payload=b""):
    return struct.pack(">BBHI", basic, sub, len(payload), tid) + payload


def se_reply(tid):
    """Opens a session with a firewall that grants lifetimes of up to an hour."""
    return message(POSITIVE, SE, tid, bytes.fromhex("0004 0008 80ff 0000 00000e10"))


class Peer:
    """A middlebox in the hands of the test: opens sessions, and answers what follows with `answer(sub_type, tid)`,
    which may be nothing."""

    def __init__(self, answer=lambda sub, tid: b"", opens=True):
        self.answer, self.opens = answer, opens
        self.writers = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        host, port = self.server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for writer in self.writers:
            writer.close()

    async def serve(self, reader, writer):
        self.writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                _, sub, size, tid = struct.unpack(">BBHI", await reader.readexactly(8))
                await reader.readexactly(size)
                writer.write(self.answer(sub, tid) if sub != SE else se_reply(tid) if self.opens else b"")


class PythonTest(unittest.TestCase):
    def test_a_reply_to_another_request(self):
        async def body():
            async with Peer(lambda sub, tid: message(POSITIVE, PRL, tid)) as peer:
                client = simco.Client(peer.address)
                await client.open()
                for ask in (client.status(1), client.remove(1), client.reserve(lifetime=60),
                            client.enable("10.0.0.5:5004", "192.0.2.7:6000", lifetime=60)):
                    with self.assertRaises(simco.SimcoError) as caught:
                        await ask
                    self.assertEqual(caught.exception.code, lib.SIMCO_ERR_PROTOCOL)
                self.assertEqual(await client.list(), [])  # the session goes on
                client.free()

        run(body())

    def test_a_reply_that_cannot_be_converted(self):
        async def body():
            async with Peer(lambda sub, tid: message(POSITIVE, PRL, tid)) as peer:
                client = simco.Client(peer.address)
                await client.open()
                with self.assertRaises(ZeroDivisionError):
                    await client._submit(client._request(lib.SIMCO_LIST, 0), lambda reply: 1 // reply.pid_count)
                client.free()

        run(body())


    def test_a_reply_after_the_end_of_the_session(self):
        async def body():
            async with Peer(lambda sub, tid: message(POSITIVE, PRL, tid)) as peer:
                client = simco.Client(peer.address)
                await client.open()
                loop, descriptor = asyncio.get_running_loop(), lib.simco_client_fd(client._client)
                loop.remove_reader(descriptor)
                asked = asyncio.create_task(client.list())
                await asyncio.sleep(0)
                client._end(simco.SessionEnded(lib.SIMCO_ERR_CONNECTION_LOST))
                with self.assertRaises(simco.SessionEnded):
                    await asked
                # The C library calls back for it all the same.
                del asked
                gc.collect()
                self.assertEqual(len(client._pending), 1)
                loop.add_reader(descriptor, client._dispatch)
                while client._pending:
                    await asyncio.sleep(0.01)
                client.free()

        run(body())

    def test_waiting_for_events_that_do_not_come_leaves_nothing(self):
        async def body():
            async with Peer() as peer:
                client = simco.Client(peer.address)
                await client.open()

                def futures():
                    gc.collect()
                    return sum(isinstance(thing, asyncio.Future) for thing in gc.get_objects())

                before = futures()
                for _ in range(100):
                    with self.assertRaises(TimeoutError):
                        await asyncio.wait_for(client.next_event(), 0.001)
                self.assertLess(futures(), before + 50)
                client.free()

        run(body())

    def test_all_who_wait_for_an_event_learn_of_the_end(self):
        async def body():
            async with Peer() as peer:
                client = simco.Client(peer.address)
                await client.open()
                waiting = [asyncio.create_task(client.next_event()) for _ in range(3)]
                await asyncio.sleep(0)
                peer.writers[0].write(message(4, ARE, 1, bytes.fromhex("0005 0004 00000007 0007 0004 00000000")))
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                self.assertEqual([task.result().pid for task in done], [7])
                peer.writers[0].close()
                for task in waiting:
                    with self.assertRaises(simco.SessionEnded):
                        await task
                client.free()

        run(body())


class StreamAgentTest(unittest.TestCase):
    """Level one of the library, whose octets the test carries."""

    def setUp(self):
        self.replies, self.ends = [], []
        self.on_reply = ffi.callback("void(void *, int, const simco_reply *)",
                                     lambda _, error, reply: self.replies.append(error))
        self.on_end = ffi.callback("void(void *, int)", lambda _, error: self.ends.append(error))
        self.callbacks = ffi.new("simco_callbacks *", {"on_end": self.on_end})
        self.agent = ffi.gc(lib.simco_agent_new(ffi.NULL, self.callbacks, ffi.NULL, 0), lib.simco_agent_free)
        self.feed(se_reply(self.take()[-1]))

    def feed(self, octets):
        lib.simco_agent_feed(self.agent, octets, len(octets))

    def take(self):
        """The TIDs of what the agent has to say."""
        octets = ffi.new("void **")
        size = lib.simco_agent_output(self.agent, octets)
        said = bytes(ffi.buffer(octets[0], size))
        lib.simco_agent_consume(self.agent, size)
        tids = []
        while said:
            _, _, size, tid = struct.unpack(">BBHI", said[:8])
            tids.append(tid)
            said = said[8 + size:]
        return tids

    def submit(self, kind):
        request = ffi.new("simco_request *", {"type": kind})
        return lib.simco_agent_submit(self.agent, request, 0, self.on_reply, ffi.NULL)

    def test_a_reply_to_another_request(self):
        for kind in (lib.SIMCO_STATUS, lib.SIMCO_LIST):
            self.assertEqual(self.submit(kind), lib.SIMCO_OK)
            self.feed(message(POSITIVE, PRL, *self.take()))
        self.assertEqual(self.replies, [lib.SIMCO_ERR_PROTOCOL, lib.SIMCO_OK])
        self.assertEqual(self.ends, [])


if __name__ == "__main__":
    unittest.main()
