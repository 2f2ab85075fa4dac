"""QUIC with another stack: aioquic as the agent of a simco-middlebox and as the middlebox of simcoctl, first as it is,
then with frames that it would not send. Each row: the program goes on, or says why it ends the connection.

SIMCO_MIDDLEBOX and SIMCO_CTL name the programs; scripts/setup --tests installs aioquic."""

import asyncio
import os
import re
import ssl
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import aioquic.asyncio
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived
from aioquic.tls import Epoch

HANG_LIMIT_S = 120
STREAMS = 16
SE = bytes.fromhex("01010008 00000001 0001000403000000")
AST = bytes.fromhex("04020000 00000010")  # on the stream of the SE
SE_REPLY = bytes.fromhex("0201000c 00000001 0004000880ff000000015180")
PER = bytes.fromhex("01120030 00000002 000b000403030000 0009000c01201100138c00020a000005"
                    "0009000c012011031770 0002c0000207 000700040000003c")

GOES_ON = None


def transport(code):
    return "transport", code


def application(code):
    return "application", code


WRONG_FRAME, CRYPTO_BUFFER, INTERNAL = transport(0x07), transport(0x0D), transport(0x01)
UNEXPECTED_MESSAGE = transport(0x010A)
DROPPED = application(1)


def identifier(number, retired_before, size=8):
    octet = f"{number + 1:02x}"  # of the identifier and its token
    return f"18{number:02x}{retired_before:02x}{size:02x}" + (size + 16) * octet


# What ngtcp2 0.12.1 would retire twice.
STOPS = identifier(2, 2) + identifier(1, 0) + identifier(1, 0)
FIN = "0f{open}0000"  # STREAM with offset, length and FIN, empty
TLS = "060004040000ff"  # CRYPTO
TLS_FAR = "0680010000 0161"

# Name, frames of a packet, and how a middlebox and an agent take it. {open} is the 7th stream of the end that sends
# it, {peers} the first of the other.
ROWS = [
    ("what stops ngtcp2, behind a stream", FIN + STOPS, INTERNAL, INTERNAL),
    ("the same behind an identifier", FIN + identifier(1, 0) + STOPS, INTERNAL, INTERNAL),
    ("identifiers that are replaced, behind a stream",
     FIN + identifier(1, 0) + identifier(2, 2) + identifier(1, 0), INTERNAL, INTERNAL),
    ("what stops ngtcp2", STOPS, INTERNAL, INTERNAL),
    ("what stops ngtcp2, behind a ping", "01" + STOPS, INTERNAL, INTERNAL),
    ("what stops ngtcp2, in the middle", FIN + "01" + STOPS + "0100", INTERNAL, INTERNAL),
    ("retiring", identifier(2, 1), INTERNAL, INTERNAL),
    ("retiring more than there is", identifier(1, 2), WRONG_FRAME, WRONG_FRAME),
    ("an identifier", identifier(1, 0), GOES_ON, GOES_ON),
    ("identifiers behind a stream and before a ping", FIN + identifier(7, 0) + identifier(8, 0) + "01",
     GOES_ON, GOES_ON),
    ("an identifier that is too long", identifier(1, 0, 21), WRONG_FRAME, WRONG_FRAME),
    ("an identifier that is empty", identifier(1, 0, 0), WRONG_FRAME, WRONG_FRAME),
    ("an identifier that is cut off", identifier(1, 0)[:-2], WRONG_FRAME, WRONG_FRAME),
    ("an unknown type", "21", WRONG_FRAME, WRONG_FRAME),
    ("an unknown type behind a stream", FIN + "21", WRONG_FRAME, WRONG_FRAME),
    ("an unknown type behind a ping", "0121", WRONG_FRAME, WRONG_FRAME),
    ("an unknown type in the middle", "0121" + FIN, WRONG_FRAME, WRONG_FRAME),
    ("an unknown type that looks like a stream", "3f{open}0000", WRONG_FRAME, WRONG_FRAME),
    ("a datagram", "3000", WRONG_FRAME, WRONG_FRAME),
    ("a ping in two octets", "4001", WRONG_FRAME, WRONG_FRAME),
    ("an unknown type in two octets", "4021", WRONG_FRAME, WRONG_FRAME),
    ("an unknown type in eight octets", "c000000000000021", WRONG_FRAME, WRONG_FRAME),
    ("a stream that is cut off", "0f{open}0002", WRONG_FRAME, WRONG_FRAME),
    ("a window that is cut off", "1040", WRONG_FRAME, WRONG_FRAME),
    ("an acknowledgement that is cut off", "0205000100", WRONG_FRAME, WRONG_FRAME),
    ("TLS", TLS, UNEXPECTED_MESSAGE, GOES_ON),
    ("TLS behind a stream", FIN + TLS, UNEXPECTED_MESSAGE, GOES_ON),
    ("TLS in the middle", "01" + TLS + "01", UNEXPECTED_MESSAGE, GOES_ON),
    ("TLS that is cut off", "06000504", WRONG_FRAME, WRONG_FRAME),
    ("TLS too far ahead", TLS_FAR, UNEXPECTED_MESSAGE, CRYPTO_BUFFER),
    ("a stream that is given up", "04{open}0000", DROPPED, DROPPED),
    ("a stream that is refused", "05{peers}00", DROPPED, DROPPED),
]
# In packets of the handshake there is room for no more than what they replace.
ROWS = [(name, Epoch.ONE_RTT, *row) for name, *row in ROWS] + [
    ("an unknown type", Epoch.HANDSHAKE, "21", WRONG_FRAME, WRONG_FRAME),
    ("an unknown type behind a ping", Epoch.HANDSHAKE, "0121", WRONG_FRAME, WRONG_FRAME),
    ("TLS too far ahead", Epoch.HANDSHAKE, TLS_FAR, CRYPTO_BUFFER, CRYPTO_BUFFER),
    # Anyone could have made it, so it is lost, and comes again.
    ("an unknown type in an Initial packet", Epoch.INITIAL, "21", GOES_ON, GOES_ON),
]


def shell(*words):
    return subprocess.run(words, check=True, capture_output=True, timeout=HANG_LIMIT_S)


class Peer(aioquic.asyncio.QuicConnectionProtocol):
    """One end of a connection. `forged`, in a packet of `epoch`, takes the place of what it would send first."""

    forged, epoch = None, Epoch.ONE_RTT

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.messages = asyncio.Queue()
        self.end = self._loop.create_future()

    def transmit(self):
        if self.forged is not None and self.epoch != Epoch.ONE_RTT:
            self.forge()
        super().transmit()

    def forge(self):
        """Puts the frames into the next packet of the epoch, once it has keys."""
        crypto, forged = self._quic._cryptos.get(self.epoch), self.forged
        if crypto is None or not crypto.send.is_valid():
            return
        self.forged, seal = None, crypto.encrypt_packet

        def sealed(header, frames, number):
            crypto.encrypt_packet = seal
            # A long header has the length; a packet of two octets can be sealed.
            size = 2 if self.epoch == Epoch.ONE_RTT else len(frames)
            return seal(header, forged.ljust(size, b"\0"), number)
        crypto.encrypt_packet = sealed

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted) and self.forged is not None and self.epoch == Epoch.ONE_RTT:
            self.transmit()
            self.forge()
            self._quic.send_ping(0)
            self.transmit()
        elif isinstance(event, StreamDataReceived):
            if event.data:
                self.messages.put_nowait(event.data)
        elif isinstance(event, ConnectionTerminated) and not self.end.done():
            self.end.set_result((application if event.frame_type is None else transport)(event.error_code))

    def send(self, message):
        """On the stream of its TID, in the order in which the streams are opened."""
        stream = 4 * (int.from_bytes(message[4:8]) % STREAMS) + (2 if self._quic.configuration.is_client else 3)
        self._quic.send_stream_data(stream, message)
        self.transmit()

    async def ask(self, request):
        self.send(request)
        reply = await self.messages.get()
        assert reply[0] == 2 and reply[4:8] == request[4:8], reply.hex()


class Agent(Peer):
    async def session(self, moves):
        await self.ask(SE)
        if moves:  # as behind a NAT that changes the port
            self._transport.close()
            await self._loop.create_datagram_endpoint(lambda: self, local_addr=("::", 0))
        await self.ask(PER)


class Box(Peer):
    """A middlebox that has no rules. If the connection is to end it says nothing."""

    answers = True
    leaves = False  # AST overtakes the last reply, on another stream

    def quic_event_received(self, event):
        super().quic_event_received(event)
        while self.answers and not self.messages.empty():
            request = self.messages.get_nowait()
            if request[1] == 1:
                self.send(SE_REPLY[:4] + request[4:8] + SE_REPLY[8:])
            else:
                if self.leaves:
                    self.send(AST)
                self.send(bytes([2, request[1], 0, 0]) + request[4:8])


class QuicForeignTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.own, cls.key = (str(Path(cls.folder.name) / name) for name in ("own.pem", "own.key"))
        shell("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
              "2", "-subj", "/CN=both", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", cls.key, "-out", cls.own)
        cls.files = ["--tls-certificate", cls.own, "--tls-key", cls.key, "--tls-ca", cls.own]

    def configuration(self, agent):
        result = QuicConfiguration(alpn_protocols=["simco"], is_client=agent, server_name="127.0.0.1",
                                   cafile=self.own, verify_mode=ssl.CERT_REQUIRED if agent else ssl.CERT_NONE)
        result.load_cert_chain(self.own, self.key)
        return result

    def run_agent(self, port, frames="", epoch=Epoch.ONE_RTT, end=GOES_ON, moves=False):
        """A connection to a middlebox, which serves a session or ends it."""
        class Attacker(Agent):
            pass
        Attacker.forged, Attacker.epoch = forged(frames, "1a", "03"), epoch

        async def body():
            async with aioquic.asyncio.connect("127.0.0.1", port, configuration=self.configuration(True),
                                               create_protocol=Attacker, wait_connected=False) as agent:
                agent.transmit()
                if end is not GOES_ON:
                    return self.assertEqual(await agent.end, end)
                talking = asyncio.ensure_future(agent.session(moves))
                await asyncio.wait([talking, agent.end], return_when=asyncio.FIRST_COMPLETED)
                self.assertFalse(agent.end.done(), agent.end)
                talking.result()
                self.assertIsNone(agent.forged)
            agent._transport.close()
        asyncio.run(asyncio.wait_for(body(), HANG_LIMIT_S))

    def run_box(self, frames="", epoch=Epoch.ONE_RTT, end=GOES_ON, ticket_handler=None, leaves_early=False,
                to_the_end=False):
        """A connection of simcoctl, which lists the rules or ends it."""
        peers = []

        class Attacker(Box):
            answers = end is GOES_ON
            leaves = leaves_early

            def __init__(self, *arguments, **named):
                super().__init__(*arguments, **named)
                peers.append(self)
        Attacker.forged, Attacker.epoch = forged(frames, "1b", "02"), epoch

        async def body():
            server = await aioquic.asyncio.serve("127.0.0.1", 0, configuration=self.configuration(False),
                                                 create_protocol=Attacker, session_ticket_handler=ticket_handler)
            port = server._transport.get_extra_info("sockname")[1]
            ctl = await asyncio.create_subprocess_exec(
                os.environ["SIMCO_CTL"], "--transport", "quic", "--connect", f"127.0.0.1:{port}", *self.files, "list",
                stderr=subprocess.PIPE)
            said = (await ctl.communicate())[1].decode()
            if end is GOES_ON:
                self.assertIn("there are no rules", said)
                self.assertEqual(ctl.returncode, 0)
                self.assertIsNone(peers[-1].forged)
            else:
                self.assertEqual(ctl.returncode, 1, said)
                self.assertEqual(await peers[-1].end, end)
            ended = await peers[-1].end if to_the_end else None
            server.close()
            return ended
        return asyncio.run(asyncio.wait_for(body(), HANG_LIMIT_S))

    def test_agents(self):
        with subprocess.Popen([os.environ["SIMCO_MIDDLEBOX"], "--port", "0", "--transport", "quic", *self.files],
                              stderr=subprocess.PIPE, text=True) as box:
            try:
                port = int(next(filter(None, (re.search(r"listening on quic .*:(\d+)", line)
                                              for line in box.stderr)))[1])
                threading.Thread(target=box.stderr.read).start()  # so that the log never waits
                self.run_agent(port)
                self.run_agent(port, moves=True)
                for name, epoch, frames, end, _ in ROWS:
                    with self.subTest(name, epoch=epoch.name):
                        self.run_agent(port, frames, epoch, end)
                        self.run_agent(port)
            finally:
                box.terminate()
        self.assertEqual(box.returncode, 0)

    def test_middleboxes(self):
        self.run_box()
        for name, epoch, frames, _, end in ROWS:
            with self.subTest(name, epoch=epoch.name):
                self.run_box(frames, epoch, end)

    def test_a_reply_that_comes_behind_the_end_of_the_session(self):
        self.run_box(leaves_early=True)

    def test_simcoctl_ends_the_connection_before_it_leaves(self):
        """Unless a slow machine takes more than the two seconds that it waits."""
        self.assertIn(application(0), (self.run_box(to_the_end=True) for _ in range(3)))

    def test_a_middlebox_that_sends_tickets(self):
        tickets = []
        self.run_box(ticket_handler=tickets.append)
        self.assertTrue(tickets)


def forged(frames, own_stream, peers_stream):
    return bytes.fromhex(frames.format(open=own_stream, peers=peers_stream)) if frames else None


if __name__ == "__main__":
    unittest.main()
