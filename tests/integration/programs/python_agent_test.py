"""The Python package against a real middlebox. SIMCO_MIDDLEBOX names the program."""

import asyncio
import os
import re
import subprocess
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import simco
from simco._library import lib


class Middlebox:
    """A middlebox on the loopback address, by default on a free port."""

    def __init__(self, *options, port=0):
        self.process = subprocess.Popen([os.environ["SIMCO_MIDDLEBOX"], "--port", str(port), *options],
                                        stderr=subprocess.PIPE, text=True)
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            listening = re.search(r"listening on \w+ 127\.0\.0\.1:(\d+)", line)
            if listening:
                self.address = f"127.0.0.1:{listening[1]}"
                return
        raise AssertionError("".join(self.said))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()


def certificate(folder):
    """Makes a certificate that serves both ends, and returns its options and the client's arguments."""
    own, key = str(Path(folder) / "own.pem"), str(Path(folder) / "own.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=both", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                    "-out", own], check=True, stderr=subprocess.DEVNULL)
    return (["--tls-certificate", own, "--tls-key", key, "--tls-ca", own],
            {"tls_certificate": own, "tls_key": key, "tls_authority": own})


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


class AgentTest(unittest.TestCase):
    def test_over_quic(self):
        async def body(box, arguments):
            async with simco.Client(box.address, transport="quic", streams=4, **arguments) as client:
                rules = [await client.enable(f"10.0.0.5:{port}", "192.0.2.7:6000", lifetime=60)
                         for port in range(5000, 5010)]
                self.assertEqual(await client.list(), [rule.pid for rule in rules])
            with self.assertRaises(simco.SessionEnded):
                await client.list()

        with self.assertRaisesRegex(ValueError, "QUIC"):
            simco.Client("127.0.0.1:1", transport="quic")
        with tempfile.TemporaryDirectory() as folder:
            options, arguments = certificate(folder)
            try:
                simco.Client("127.0.0.1:1", transport="quic", **arguments)
            except ValueError as absent:
                self.assertIn("built without QUIC", str(absent))
                return
            with Middlebox("--transport", "quic", *options) as box:
                run(body(box, arguments))

    def test_the_life_of_a_rule(self):
        async def body(box):
            async with simco.Client(box.address) as client:
                rule = await client.enable("10.0.0.5:5004/2", "192.0.2.7:6000/2", lifetime=60)
                self.assertEqual(rule.lifetime, 60)
                self.assertEqual(str(rule.outside), "10.0.0.5:5004/2")
                self.assertEqual(await client.list(), [rule.pid])
                status = await client.status(rule.pid)
                self.assertEqual(status.kind, simco.RuleKind.ENABLED)
                self.assertEqual(status.direction, simco.Direction.BIDIRECTIONAL)
                self.assertEqual(status.external.address, bytes([192, 0, 2, 7]))
                self.assertEqual(status.owner, "anonymous@127.0.0.1")
                self.assertEqual(await client.change_lifetime(rule.pid, 90), 90)
                await client.remove(rule.pid)
                with self.assertRaises(simco.Refused) as caught:
                    await client.status(rule.pid)
                self.assertEqual(caught.exception.code, 0x0343)
                self.assertEqual(str(caught.exception), "specified policy rule does not exist (0x0343)")

        with Middlebox() as box:
            run(body(box))

    def test_reservation_ipv6_and_disable(self):
        async def body(box):
            async with simco.Client(box.address) as client:
                held = await client.reserve(lifetime=60, ports=2, parity=simco.Parity.EVEN, ip_version=6)
                rule = await client.enable("[2001:db8::5]:5004/2", "[2001:db8:1::7]:6000/2", lifetime=60,
                                           reservation=held.pid)
                self.assertEqual(rule.pid, held.pid)
                async with simco.Client(box.address) as other:
                    block = await other.disable("[2001:db8::5]:5004/2", "[2001:db8:1::7]:6000/2", lifetime=30)
                    self.assertEqual((await other.status(block.pid)).kind, simco.RuleKind.DISABLED)
                    events = {}
                    while rule.pid not in events:
                        event = await client.next_event()
                        events[event.pid] = event
                    self.assertEqual((events[rule.pid].lifetime, events[rule.pid].lost), (0, 0))

        with Middlebox() as box:
            run(body(box))

    def test_many_at_once(self):
        async def body(box):
            async with simco.Client(box.address) as client:
                rules = await asyncio.gather(*(client.enable(f"10.0.0.5:{port}", f"192.0.2.7:{port}", lifetime=60)
                                               for port in range(1, 501)))
                self.assertEqual(len({rule.pid for rule in rules}), 500)

        with Middlebox() as box:
            run(body(box))

    def test_events_that_nobody_dispatches_are_bounded(self):
        async def body(box):
            async with simco.Client(box.address) as busy, simco.Client(box.address) as witness:
                idle = simco.Client(box.address)
                await idle.open()
                loop, descriptor = asyncio.get_running_loop(), lib.simco_client_fd(idle._client)
                loop.remove_reader(descriptor)
                rules = await asyncio.gather(*(busy.enable(f"10.0.0.5:{port}", f"192.0.2.7:{port}", lifetime=60)
                                               for port in range(1, 1001)))
                for _ in rules:
                    await witness.next_event()
                await witness.list()
                self.assertLessEqual(lib.simco_client_dispatch(idle._client), 256)
                loop.add_reader(descriptor, idle._dispatch)
                events = [await idle.next_event() for _ in rules]
                self.assertEqual([event.pid for event in events], [rule.pid for rule in rules])
                self.assertEqual(sum(event.lost for event in events), 0)
                # It hears of the end though it looks away when that comes.
                loop.remove_reader(descriptor)
                await asyncio.gather(*(busy.remove(rule.pid) for rule in rules))
                for _ in rules:
                    await witness.next_event()
                box.process.terminate()
                box.process.wait()
                loop.add_reader(descriptor, idle._dispatch)
                events = [await idle.next_event() for _ in rules]
                self.assertEqual(events[-1].pid, rules[-1].pid)
                with self.assertRaisesRegex(simco.SessionEnded, "ended"):
                    await idle.next_event()
                idle.free()

        with Middlebox() as box:
            run(body(box))

    def test_events_that_are_dropped_are_counted(self):
        async def body(box):
            async with simco.Client(box.address) as busy, simco.Client(box.address) as slow:
                rules = [await busy.enable(f"10.0.0.5:{port}", "192.0.2.7:1", lifetime=60) for port in range(1, 11)]
                while sum(1 + event.lost for event in slow._events) < len(rules):
                    await asyncio.sleep(0.01)
                events = [await slow.next_event() for _ in range(4)]
                self.assertEqual([event.pid for event in events], [rule.pid for rule in rules[-4:]])
                self.assertEqual([event.lost for event in events], [6, 0, 0, 0])

        with Middlebox() as box, unittest.mock.patch("simco.client._EVENTS_MAX", 4):
            run(body(box))

    def test_authentication_both_ways(self):
        async def body(box):
            async with simco.Client(box.address, name="proxy", secret=b"s3cret", middlebox_secret=b"b0x") as client:
                rule = await client.enable("10.0.0.5:5004", "192.0.2.7:6000", lifetime=60)
                self.assertEqual((await client.status(rule.pid)).owner, "proxy")
            with self.assertRaises(simco.SessionEnded):
                async with simco.Client(box.address):
                    pass
            with self.assertRaises(simco.SimcoError):
                async with simco.Client(box.address, name="proxy", secret=b"s3cret", middlebox_secret=b"other"):
                    pass

        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "box.toml"
            config.write_text('secret = "b0x"\n[[agent]]\nname = "proxy"\nsecret = "s3cret"\n')
            with Middlebox("--config", str(config)) as box:
                run(body(box))

    def test_no_middlebox(self):
        async def body():
            with self.assertRaisesRegex(simco.SessionEnded, "refused"):
                async with simco.Client("127.0.0.1:1"):
                    pass

        run(body())

    def test_the_middlebox_goes(self):
        async def body():
            with Middlebox() as box:
                client = simco.Client(box.address)
                await client.open()
            with self.assertRaises(simco.SessionEnded):
                await client.next_event()
            with self.assertRaises(simco.SimcoError):
                await client.list()
            client.free()

        run(body())

    def test_bad_arguments(self):
        with self.assertRaisesRegex(ValueError, "unknown transport 'dccp'"):
            simco.Client("127.0.0.1", transport="dccp")
        with self.assertRaisesRegex(ValueError, "both a name .* and a secret"):
            simco.Client("127.0.0.1", name="proxy")

        async def body(box):
            async with simco.Client(box.address) as client:
                with self.assertRaisesRegex(ValueError, "'10.0.0' is not an endpoint"):
                    await client.enable("10.0.0", "any", lifetime=60)
                with self.assertRaisesRegex(ValueError, "unknown protocol 'tpc'"):
                    await client.enable("10.0.0.1", "any", lifetime=60, protocol="tpc")

        with Middlebox() as box:
            run(body(box))


class ExamplesTest(unittest.TestCase):
    """The examples in C, as shipped. SIMCO_EXAMPLES is their folder."""

    def example(self, name, *arguments):
        path = Path(os.environ["SIMCO_EXAMPLES"]) / name
        return subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60, check=False)

    def test_pinhole(self):
        with Middlebox() as box:
            done = self.example("pinhole", box.address, "10.0.0.5:5004/2", "192.0.2.7:6000/2")
            self.assertEqual(done.stderr, "")
            self.assertRegex(done.stdout, r"^rule \d+: external hosts send to 10\.0\.0\.5:5004/2 for 60 s\nclosed\n$")
            self.assertEqual(done.returncode, 0)

    def test_own_loop(self):
        with Middlebox() as box:
            host, port = box.address.split(":")
            done = self.example("own_loop", host, port)
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("0 rules\n", "", 0))

    def test_without_a_middlebox(self):
        done = self.example("pinhole", "127.0.0.1:1", "10.0.0.5", "192.0.2.7")
        self.assertEqual((done.stderr, done.returncode), ("pinhole: Connection refused\n", 1))


if __name__ == "__main__":
    unittest.main()
