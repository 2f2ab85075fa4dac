"""What the Python package does by itself, against a real middlebox: pinholes that last as long as a block, events, and
what it refuses before anything is sent. SIMCO_MIDDLEBOX and SIMCO_CTL name the programs."""

import asyncio
import os
import select
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import simco
from python_agent_test import Middlebox, certificate, run
from simco._library import lib

ENDS = "10.0.0.5:5004/2", "192.0.2.7:6000/2"
CHECKERS = Path("/usr/local/lib/simco-tests")  # where scripts/setup installs them
TREE = Path(__file__).resolve().parents[3]


class Broken(Exception):
    pass


async def heard(witness, pid):
    """The next lifetime of the rule that another agent hears of."""
    async for event in witness:
        if event.pid == pid:
            return event.lifetime


async def heard_the_end(witness, pid):
    while await heard(witness, pid) != 0:
        pass


class PinholeTest(unittest.TestCase):
    def with_two(self, body):
        async def both(box):
            async with simco.Client(box.address) as client, simco.Client(box.address) as witness:
                await body(client, witness)

        with Middlebox() as box:
            run(both(box))

    def test_it_is_renewed_beyond_its_lifetime_and_ends_with_the_block(self):
        async def outlives(client, witness, lifetime):
            async with client.pinhole(*ENDS, lifetime=lifetime) as pinhole:
                pid = pinhole.rule.pid
                self.assertEqual(str(pinhole.rule.outside), "10.0.0.5:5004/2")
                waiting = asyncio.create_task(pinhole.lost())
                for _ in range(4):  # the grant, and renewals after a half, one, and one and a half lifetimes
                    if (left := await heard(witness, pid)) == 0:
                        return False
                    self.assertEqual(left, lifetime)
            self.assertEqual(await witness.list(), [])
            if await waiting is not None:
                return False
            await heard_the_end(witness, pid)
            return True

        async def body(client, witness):
            for lifetime in (2, 8, 32):  # a slow machine may be too late to renew the shorter ones
                if await outlives(client, witness, lifetime):
                    return
            self.fail("no pinhole outlived its lifetime")

        self.with_two(body)

    def test_it_ends_with_an_exception_of_the_block(self):
        async def body(client, witness):
            with self.assertRaises(Broken):
                async with client.pinhole(*ENDS):
                    raise Broken
            self.assertEqual(await witness.list(), [])
            with self.assertRaises(Broken):
                async with client.pinhole(*ENDS):
                    await client.close()
                    raise Broken

        self.with_two(body)

    def test_a_reservation_becomes_one(self):
        async def body(client, _):
            reservation = await client.reserve(ports=2)
            self.assertEqual(reservation.lifetime, 120)
            async with client.pinhole(*ENDS, reservation=reservation.pid) as pinhole:
                self.assertEqual((pinhole.rule.pid, pinhole.rule.lifetime), (reservation.pid, 120))
            self.assertEqual(await client.list(), [])
            with self.assertRaises(simco.Refused) as caught:
                async with client.pinhole(*ENDS, reservation=reservation.pid):
                    pass
            self.assertEqual(caught.exception.code, 0x0343)

        self.with_two(body)

    def test_it_is_lost(self):
        async def body(client, witness):
            async with client.pinhole(*ENDS) as pinhole:
                waiting = asyncio.create_task(pinhole.lost())
                await witness.remove(pinhole.rule.pid)
                self.assertEqual(await waiting, simco.Loss.ENDED)
                self.assertEqual(await pinhole.lost(), simco.Loss.ENDED)
            async with client.pinhole(*ENDS) as pinhole:
                await client.remove(pinhole.rule.pid)

        self.with_two(body)

    def test_the_client_is_freed_first(self):
        async def body(client, _):
            with self.assertRaises(simco.SessionEnded):
                async with client.pinhole(*ENDS) as pinhole:
                    waiting = asyncio.create_task(pinhole.lost())
                    await asyncio.sleep(0)
                    client.free()
                    self.assertIsNone(await waiting)
                    await client.list()
            with self.assertRaises(simco.SessionEnded):
                async with client.pinhole(*ENDS):
                    pass

        self.with_two(body)

    def test_nobody_waits_for_it_any_longer(self):
        async def cancelled(client, witness, replied):
            async def block():
                async with client.pinhole(*ENDS):
                    self.fail("entered")

            loop, descriptor = asyncio.get_running_loop(), lib.simco_client_fd(client._client)
            loop.remove_reader(descriptor)
            entering = asyncio.create_task(block())
            await asyncio.sleep(0)
            if replied:
                while not any(hold.future.done() for hold in client._pending) and client._pending:
                    select.select([descriptor], [], [])
                    client._dispatch()
            entering.cancel()
            loop.add_reader(descriptor, client._dispatch)
            with self.assertRaises(asyncio.CancelledError):
                await entering
            pid = (await witness.next_event()).pid
            await heard_the_end(witness, pid)

        async def body(client, witness):
            for replied in (False, True):
                await cancelled(client, witness, replied)

        self.with_two(body)

    def test_a_middlebox_that_restarts(self):
        async def body(port, state):
            with Middlebox("--state", state, port=port) as first:
                async with simco.Client(first.address, reconnect=True) as client, client.pinhole(*ENDS) as pinhole:
                    first.process.kill()
                    first.process.wait()
                    with Middlebox("--state", state, port=port) as second:
                        async with client.pinhole("10.0.0.6:5004", "192.0.2.7:6000"):
                            self.assertEqual(len(await client.list()), 2)
                        async with simco.Client(second.address) as other:
                            self.assertEqual(await other.list(), [pinhole.rule.pid])
                        waiting = asyncio.create_task(pinhole.lost())
                        second.process.kill()
                        second.process.wait()
                    self.assertFalse(waiting.done())
                    with Middlebox(port=port):  # which knows of no rules
                        self.assertEqual(await waiting, simco.Loss.ENDED)

        with tempfile.TemporaryDirectory() as folder, socket.socket() as reserved:
            # Bound and not listening: nobody else gets the port while the middlebox is away.
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            run(body(reserved.getsockname()[1], str(Path(folder) / "rules.db")))

    def test_another_session(self):
        async def body(client, witness):
            async with client.pinhole(*ENDS) as pinhole:
                self.assertEqual(await heard(witness, pinhole.rule.pid), 120)
                await client.close()
                await client.open()
                self.assertEqual(await heard(witness, pinhole.rule.pid), 120)  # found and renewed
            self.assertEqual(await witness.list(), [])

        self.with_two(body)

    def test_the_middlebox_is_gone_at_the_end(self):
        async def body(box):
            async with simco.Client(box.address) as client:
                with self.assertRaises(simco.SessionEnded):
                    async with client.pinhole(*ENDS):
                        box.process.terminate()
                        with self.assertRaises(simco.SessionEnded):
                            await client.next_event()

        with Middlebox() as box:
            run(body(box))


class EventsTest(unittest.TestCase):
    def test_until_close(self):
        async def body(box):
            async with simco.Client(box.address) as client, simco.Client(box.address) as other:
                seen = []

                async def listen():
                    async for event in client:
                        seen.append(event.lifetime)
                        if event.lifetime == 0:
                            await client.close()

                listening = asyncio.create_task(listen())
                await other.remove((await other.enable(*ENDS)).pid)
                await listening
                self.assertEqual(seen, [120, 0])

        with Middlebox() as box:
            run(body(box))

    def test_until_the_session_is_lost(self):
        async def body(box):
            async with simco.Client(box.address) as client:
                box.process.terminate()
                with self.assertRaises(simco.SessionEnded) as caught:
                    async for _ in client:
                        self.fail("there is no event")
                self.assertEqual(caught.exception.code, lib.SIMCO_ERR_MIDDLEBOX_TERMINATED)

        with Middlebox() as box:
            run(body(box))


class WrongValuesTest(unittest.TestCase):
    """ValueError, not SessionEnded, from a client that has no session: it is raised before anything is sent."""

    def refused(self, method, *words, says, **more):
        async def body():
            client = simco.Client("127.0.0.1:1")
            try:
                called = getattr(client, method)(*words, **more)
                with self.assertRaisesRegex(ValueError, says):
                    if method == "pinhole":
                        async with called:
                            pass
                    else:
                        await called
            finally:
                client.free()

        with self.subTest(method=method, words=words, **more):
            run(body())

    def simcoctl_refuses(self, *words):
        done = subprocess.run([os.environ["SIMCO_CTL"], "--connect", "127.0.0.1:1", *words], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, (words, done.stderr))

    def test_rules(self):
        inner, outer = ENDS
        rows = (((inner, "192.0.2.7:6000/4"), {}, "same number of ports"),
                (("10.0.0", outer), {}, "internal: '10.0.0' is not an endpoint"),
                ((inner, "192.0.2.7:6000-6001"), {}, "external: .* is not an endpoint"),
                (("10.0.0.5:0", outer), {}, "is not an endpoint"),
                (("10.0.0.5:65535/2", outer), {}, "is not an endpoint"),
                ((inner, outer), {"lifetime": 0}, "lifetime: expected a whole number from 1 to 4294967295, got 0"),
                ((inner, outer), {"lifetime": -1}, "lifetime"),
                ((inner, outer), {"lifetime": 1 << 32}, "lifetime"),
                ((inner, outer), {"lifetime": 1.5}, "lifetime: .* got 1.5"),
                ((inner, outer), {"protocol": "tpc"}, "unknown protocol 'tpc'"),
                ((inner, outer), {"protocol": 256}, "protocol"),
                ((inner, outer), {"protocol": "any"}, "has a port, so the protocol cannot be any"),
                (("10.0.0.5", outer), {"direction": simco.Direction.BIDIRECTIONAL}, "direction: BIDIRECTIONAL needs"),
                (("10.0.0.0/24:5004/2", outer), {"direction": simco.Direction.BIDIRECTIONAL}, "direction"),
                ((inner, outer), {"group": 7, "reservation": 3}, "group cannot be used with reservation"),
                ((inner, outer), {"group": -1}, "group"),
                ((inner, outer), {"reservation": 1 << 32}, "reservation"))
        options = {"lifetime": "--lifetime", "protocol": "--protocol", "group": "--group", "reservation": "--after"}
        for words, more, says in rows:
            for method in ("enable", "pinhole"):
                self.refused(method, *words, says=says, **more)
            told = [word for name, value in more.items() if name in options for word in (options[name], str(value))]
            told += ["--direction", "both"] if "direction" in more else []
            told += [] if "protocol" in more else ["--udp"]
            self.simcoctl_refuses("enable", "--internal", words[0], "--external", words[1], *told)

    def test_what_only_python_can_say(self):
        inner, outer = ENDS
        for method in ("enable", "pinhole"):
            self.refused(method, 5, "x", says="internal: expected a text, got 5")
            self.refused(method, inner, None, says="external: expected a text")
            self.refused(method, "10.0.0.5\0:5004/2", outer, says="internal")
            self.refused(method, inner, outer, direction=4, says="Direction")
            self.refused(method, inner, outer, protocol=None, says="protocol")
            self.refused(method, "any", "any", ip_version=5, says="ip_version 5")

    def test_other_requests(self):
        self.refused("disable", "10.0.0", "any", says="is not an endpoint")
        self.refused("disable", "10.0.0.5", "any", lifetime=0, says="lifetime")
        self.refused("reserve", ports=65536, says="ports")
        self.refused("reserve", parity=3, says="Parity")
        self.refused("reserve", ip_version=5, says="ip_version")
        self.refused("reserve", lifetime=True - 1, says="lifetime")
        self.refused("change_lifetime", 1, -1, says="lifetime")
        for method in ("remove", "status"):
            self.refused(method, 0, says="pid: expected a whole number from 1")
        self.simcoctl_refuses("reserve", "--ports", "65536")
        self.simcoctl_refuses("status", "0")
        self.simcoctl_refuses("lifetime", "1", "-1")

    def test_clients(self):
        for more, says in (({"transport": "udp"}, "unknown transport 'udp'"), ({"name": "proxy"}, "both a name"),
                           ({"name": "", "secret": b"s"}, "name"), ({"name": "proxy", "secret": b""}, "secret"),
                           ({"name": "proxy", "secret": "s3cret"}, "secret"), ({"timeout": 0}, "timeout"),
                           ({"timeout": float("nan")}, "timeout"), ({"streams": 0}, "streams"),
                           ({"udp_encaps": 65536}, "udp_encaps"), ({"tls_name": "box"}, "TLS name"),
                           ({"tls_authority": "/nowhere"}, "/nowhere")):
            with self.subTest(**more), self.assertRaisesRegex(ValueError, says):
                simco.Client("127.0.0.1:1", **more)
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "TLS needs the transport tcp"):
            simco.Client("127.0.0.1:1", transport="sctp", **certificate(folder)[1])

        async def body(middlebox):
            client = simco.Client(middlebox)
            with self.assertRaisesRegex(ValueError, "is not HOST, HOST:PORT"):
                await client.open()
            client.free()

        for middlebox in ("127.0.0.1:0", "127.0.0.1:x", "2001:db8::7:7626", ":7626"):
            run(body(middlebox))
            self.simcoctl_refuses("--connect", middlebox, "list")

    def test_wildcards_are_inbound_unless_told(self):
        async def body(box):
            async with simco.Client(box.address) as client, client.pinhole("10.0.0.5:5060", "any") as pinhole:
                self.assertEqual((await client.status(pinhole.rule.pid)).direction, simco.Direction.INBOUND)

        with Middlebox() as box:
            run(body(box))


class PackageTest(unittest.TestCase):
    def python(self, *words, **environment):
        return subprocess.run([sys.executable, "-B", *words], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, **environment})

    def test_without_the_library(self):
        done = self.python("-c", "import simco", SIMCO_AGENT_LIBRARY="/nowhere.so")
        self.assertEqual(done.stderr.count("Traceback"), 1)
        self.assertRegex(done.stderr, r"\nImportError: simco: cannot load the C library: .*/nowhere\.so.*\n$")

    def test_types(self):
        files = [str(TREE / "agent/python/simco"), str(TREE / "agent/examples/pinhole.py")]
        for checker, options in (("mypy", ["--strict", "--cache-dir", os.devnull]),
                                 ("pyright", ["--pythonpath", sys.executable])):
            path = f"{CHECKERS}:{os.environ['PYTHONPATH']}"
            with self.subTest(checker=checker):
                if not (CHECKERS / checker).exists():
                    self.skipTest("scripts/setup --tests installs it")
                done = self.python("-m", checker, *options, *files, PYTHONPATH=path, PYRIGHT_PYTHON_IGNORE_WARNINGS="1")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
