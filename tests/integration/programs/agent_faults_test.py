"""The agent library in C and in Python when the middlebox, the caller or the memory is at fault."""

import asyncio
import collections
import contextlib
import ctypes
import gc
import os
import resource
import signal
import socket
import struct
import subprocess
import unittest
from pathlib import Path

import simco
from simco import _requests
from simco._library import ffi, lib
from python_agent_test import Middlebox, run

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


async def with_client(body, answer=lambda sub, tid: message(POSITIVE, PRL, tid)):
    """Runs `body(client)` with a session to a Peer."""
    async with Peer(answer) as peer:
        client = simco.Client(peer.address)
        await client.open()
        await body(client)
        client.free()


class PythonTest(unittest.TestCase):
    def test_a_reply_to_another_request(self):
        async def body(client):
            for ask in (client.status(1), client.remove(1), client.reserve(lifetime=60),
                        client.enable("10.0.0.5:5004", "192.0.2.7:6000", lifetime=60)):
                with self.assertRaises(simco.SimcoError) as caught:
                    await ask
                self.assertEqual(caught.exception.code, lib.SIMCO_ERR_PROTOCOL)
            self.assertEqual(await client.list(), [])  # the session goes on

        run(with_client(body))

    def test_a_reply_that_cannot_be_converted(self):
        async def body(client):
            with self.assertRaises(ZeroDivisionError):
                await client._submit(_requests.list_all(), lambda reply: 1 // reply.pid_count)

        run(with_client(body))

    def test_a_reply_after_the_end_of_the_session(self):
        async def body(client):
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

        run(with_client(body))

    def test_waiting_for_events_that_do_not_come_leaves_nothing(self):
        async def body(client):
            def futures():
                gc.collect()
                return sum(isinstance(thing, asyncio.Future) for thing in gc.get_objects())

            before = futures()
            for _ in range(100):
                with self.assertRaises(TimeoutError):
                    await asyncio.wait_for(client.next_event(), 0.001)
            self.assertLess(futures(), before + 50)

        run(with_client(body, lambda sub, tid: b""))

    def test_closing_gives_up_opening(self):
        async def body():
            async with Peer(opens=False) as peer:
                client = simco.Client(peer.address)
                opening = asyncio.create_task(client.open())
                while not peer.writers:
                    await asyncio.sleep(0.01)
                await client.close()
                with self.assertRaises(simco.SessionEnded) as caught:
                    await opening
                self.assertEqual(caught.exception.code, lib.SIMCO_ERR_TERMINATED)
                peer.opens = True
                await client.open()
                client.free()

        run(body())

    def test_opening_that_times_out_is_no_session(self):
        async def body():
            async with Peer(opens=False) as peer:
                client = simco.Client(peer.address, timeout=0.1)
                with self.assertRaises(simco.SessionEnded):
                    await client.open()
                client.free()

        run(body())

    def test_the_ip_version_of_any(self):
        async def body(box):
            async with simco.Client(box.address) as client:
                versions = []
                for internal, external, more in (("2001:db8:1:2:3:4:5:6/128", "any:5004", {}),
                                                 ("any:5004", "2001:db8::7", {}), ("any", "10.0.0.0/24", {}),
                                                 ("any", "any:5004", {}), ("any", "any:5004", {"ip_version": 6})):
                    rule = await client.disable(internal, external, lifetime=60, **more)
                    status = await client.status(rule.pid)
                    versions.append((status.internal.ip_version, status.external.ip_version))
                self.assertEqual(versions, [(6, 6), (6, 6), (4, 4), (4, 4), (6, 6)])
                with self.assertRaisesRegex(ValueError, "ip_version 5"):
                    await client.disable("any", "any", lifetime=60, ip_version=5)

        with Middlebox() as box:
            run(body(box))

    def test_protocols_have_the_names_that_simcoctl_knows(self):
        async def body(box):
            async with simco.Client(box.address) as client:
                for name, number in (("gre", 47), ("esp", 50), ("ah", 51), ("icmpv6", 58)):
                    rule = await client.enable("10.0.0.5", "192.0.2.7", lifetime=60, protocol=name)
                    self.assertEqual((await client.status(rule.pid)).internal.protocol, number)

        with Middlebox() as box:
            run(body(box))

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

    def test_exhausted_memory(self):
        # In a process of its own, which may not get more than it has.
        child = os.fork()
        if child == 0:
            os._exit(self.exhaust_memory())
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def exhaust_memory(self):
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        ends = collections.Counter()
        request = ffi.new("simco_request *", {"type": lib.SIMCO_LIST})

        @ffi.callback("void(void *, int, const simco_reply *)")
        def done(_, error, reply):
            ends[error] += 1

        lib.simco_agent_submit(self.agent, request, 0, done, ffi.NULL)
        tid, = self.take()
        large = message(POSITIVE, PRL, tid, bytes.fromhex("0005 0004 00000001") * 8000)
        submitted, code = 1, lib.SIMCO_OK
        limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (0, limits[1]))
        while libc.malloc(16384):
            pass
        while True:
            code = lib.simco_agent_submit(self.agent, request, 0, done, ffi.NULL)
            if code != lib.SIMCO_OK:
                break
            submitted += 1
        self.feed(large)  # its PIDs find no room
        resource.setrlimit(resource.RLIMIT_AS, limits)
        expected = (lib.SIMCO_ERR_NO_MEMORY, [lib.SIMCO_ERR_NO_MEMORY], {lib.SIMCO_ERR_NO_MEMORY: submitted})
        if (code, self.ends, ends) == expected:
            return 0
        print((code, self.ends, ends), "instead of", expected, flush=True)
        return 1


class ArgumentsTest(unittest.TestCase):
    """The functions of the library, given what they cannot use."""

    def test_a_secret_that_fits_in_no_memory(self):
        secret = ffi.new("char[1]")
        config = ffi.new("simco_client_config *", {"agent": {"name": secret, "secret": secret, "secret_size": 1 << 62}})
        error = ffi.new("char[64]")
        self.assertEqual(lib.simco_client_new(config, ffi.NULL, ffi.NULL, error, len(error)), ffi.NULL)
        self.assertEqual(ffi.string(error), b"out of memory")
        config_of_agent = ffi.addressof(config, "agent")
        self.assertEqual(lib.simco_agent_new(config_of_agent, ffi.NULL, ffi.NULL, 0), ffi.NULL)

    def test_no_address(self):
        client = lib.simco_client_new(ffi.NULL, ffi.NULL, ffi.NULL, ffi.NULL, 0)
        self.assertEqual(lib.simco_client_open(client, ffi.NULL), lib.SIMCO_ERR_INVALID)
        self.assertEqual(lib.simco_client_close(client), lib.SIMCO_ERR_NOT_OPEN)
        lib.simco_client_free(client)

    def test_endpoints(self):
        parsed = ffi.new("simco_tuple *")

        def version(text, ip_version):
            code = lib.simco_tuple_parse(parsed, text, ip_version, 17, lib.SIMCO_INTERNAL)
            return parsed.ip_version if code == lib.SIMCO_OK else code

        self.assertEqual(version(b"10.0.0.5:5004", 0), 4)
        self.assertEqual(version(b"10.0.0.5:5004", 6), 4)
        self.assertEqual(version(b"[2001:db8::5]:5004", 0), 6)
        self.assertEqual([version(b"any:5004", number) for number in (4, 6)], [4, 6])
        self.assertEqual(version(b"any:5004", 0), lib.SIMCO_ERR_INVALID)
        self.assertEqual(version(ffi.NULL, 4), lib.SIMCO_ERR_INVALID)


class ExamplesTest(unittest.TestCase):
    """The examples in C. SIMCO_EXAMPLES is their folder."""

    def test_own_loop_survives_a_connection_that_is_closed(self):
        listener = socket.create_server(("127.0.0.1", 0))
        host, port = listener.getsockname()
        example = subprocess.Popen([Path(os.environ["SIMCO_EXAMPLES"]) / "own_loop", host, str(port)],
                                   stderr=subprocess.PIPE, text=True)
        connection, _ = listener.accept()
        tid = struct.unpack(">BBHI", connection.recv(8, socket.MSG_WAITALL))[-1]
        # While it is stopped: the session opens, and the connection is closed and reset.
        example.send_signal(signal.SIGSTOP)
        os.waitpid(example.pid, os.WUNTRACED)
        connection.sendall(se_reply(tid))
        connection.shutdown(socket.SHUT_WR)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        listener.close()
        example.send_signal(signal.SIGCONT)
        _, said = example.communicate(timeout=60)
        lost = "own_loop: lost the connection to the middlebox\n"
        self.assertEqual((said, example.returncode), (lost + lost, 1))  # of its request, and of the session


if __name__ == "__main__":
    unittest.main()
