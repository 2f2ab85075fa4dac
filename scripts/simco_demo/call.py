"""A call of two SIP phones through Kamailio on the router, with the configuration that its package has, simco-ng and
the middlebox: what arrives before, during and after it."""

import pathlib
import re
import socket
import subprocess
import tempfile
import time

from .flows import Exchange, Flow
from .middlebox import ROUTER, Middlebox, command
from .namespace import Failure
from .packets import OUTSIDE, PEER, PHONE
from .process import GUARD, Process

PACKAGES = {"/usr/sbin/kamailio": "kamailio", "/etc/kamailio/kamailio.cfg": "kamailio", "rtpengine.so":
            "kamailio-extra-modules", "/usr/bin/sipp": "sip-tester"}
SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "integration" / "router" / "sip"
STRANGER = "198.51.100.99"
PROXY = ("10.20.0.1", 5060)  # Kamailio; phones on both sides reach it
CALL_ID = "call-1@phone"
PHONE_RTP, PEER_RTP = (PHONE, 6000), (PEER, 7000)  # as the scenarios' SDPs have them
POOL = "30000-30001"
NAT = ("--mode", "nat", "--outside", OUTSIDE, "--ports", POOL)
PACKETS = 75  # of each flow before and after the call: 1.5 s
PACKETS_OF_CALL = 150
COLUMNS = ("phone to peer", "peer to phone", "RTCP to peer", "RTCP to phone", "stranger to phone")
INTRODUCTION = f"""
phone {PHONE} --- (int0) router (ext0) --- peer {PEER}, stranger {STRANGER}
On the router: simco-middlebox, simco-ng, and Kamailio with the configuration of its package.
"""


def show(screen, programs, network):
    """Shows a call on a firewall and one on a NAT. Throws Failure if a packet is where it must not be."""
    screen.say(INTRODUCTION)
    for options in ((), NAT):
        call = Call(screen, programs, network, *options)
        call.show()
        call.close()
        screen.say()


def missing():
    """Returns the Debian packages that a call takes and that are not installed."""
    modules = pathlib.Path("/usr/lib").glob("*/kamailio/modules/rtpengine.so")
    found = {path: pathlib.Path(path).exists() for path in PACKAGES} | {"rtpengine.so": any(modules)}
    return sorted({PACKAGES[path] for path, there in found.items() if not there})


def next_to(address):
    return address[0], address[1] + 1


class Kamailio(Process):
    """In a PID namespace of its own: all its processes end with the first."""

    def __init__(self, namespace, folder):
        super().__init__(namespace, "unshare", "--pid", "--fork", "--kill-child=KILL", "/usr/sbin/kamailio", "-f",
                         "/etc/kamailio/kamailio.cfg", "-A", "WITH_NAT", "-A", "WITH_RTPENGINE", "-DD", "-E", "-l",
                         f"udp:{PROXY[0]}:{PROXY[1]}", "-n", "2", "-m", "64", "-M", "8", "-Y", folder, "-P",
                         f"{folder}/pid")
        self.name = "kamailio"


class UserAgent(Process):
    """SIPp with a scenario."""

    def __init__(self, host, scenario, address, port, folder):
        self.host, self.address = host, (address, port)
        self.messages = pathlib.Path(folder) / f"{scenario}.log"
        super().__init__(host, "env", "TERM=dumb", "/usr/bin/sipp", f"{PROXY[0]}:{PROXY[1]}", "-sf",
                         str(SCENARIOS / f"{scenario}.xml"), "-i", address, "-p", str(port), "-m", "1", "-cid_str",
                         CALL_ID, "-nostdin", "-trace_logs", "-log_file", str(self.messages), folder=folder)
        self.name = "sipp"

    def sends_to(self):
        """Waits for the other one's SDP, and returns where it says that media go."""
        found = None

        def has_sdp():
            nonlocal found
            text = self.messages.read_text() if self.messages.exists() else ""
            found = re.search(r"IP4 ([\d.]+) m=audio (\d+)\n", text)
            return found

        self.wait_for(has_sdp, "gets no SDP")
        return found[1], int(found[2])

    def hang_up(self):
        """Has it end the call, with an INFO that its scenario waits for."""
        with self.host.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            control.sendto(f"INFO sip:a@{self.address[0]} SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:1;branch=z9hG4bKdemo\r\n"
                           "From: <sip:demo@demo>;tag=d\r\nTo: <sip:a@demo>\r\n"
                           f"Call-ID: {CALL_ID}\r\nCSeq: 1 INFO\r\nContent-Length: 0\r\n\r\n".encode(), self.address)


def register(peer, contact, proxy):
    """Registers sip:bob at `contact`, again until the proxy has started."""
    with peer.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.bind(contact)
        phone.settimeout(0.2)
        end = time.monotonic() + GUARD
        sequence = 0
        while time.monotonic() < end:
            sequence += 1
            proxy.expect_running()
            at = f"{contact[0]}:{contact[1]}"
            phone.sendto(f"REGISTER sip:{PROXY[0]} SIP/2.0\r\nVia: SIP/2.0/UDP {at};branch=z9hG4bKr{sequence}\r\n"
                         f"From: <sip:bob@{PROXY[0]}>;tag=r\r\nTo: <sip:bob@{PROXY[0]}>\r\nCall-ID: register\r\n"
                         f"CSeq: {sequence} REGISTER\r\nContact: <sip:bob@{at}>\r\nMax-Forwards: 70\r\n"
                         "Expires: 3600\r\nContent-Length: 0\r\n\r\n".encode(), PROXY)
            try:
                if phone.recv(65535).startswith(b"SIP/2.0 200"):
                    return
            except TimeoutError:
                pass
    raise Failure("the proxy does not register the peer:\n" + proxy.text())


class Call:
    """A call while the middlebox has `options`."""

    def __init__(self, screen, programs, network, *options):
        self.screen, self.programs, self.network = screen, programs, network
        self.options = options
        self.nat = options == NAT
        network.peer.shell(f"ip addr replace {STRANGER}/24 dev eth0")
        self.sockets = {}
        ends = ((network.phone, PHONE_RTP), (network.peer, PEER_RTP), (network.peer, (STRANGER, PEER_RTP[1])))
        for host, rtp in ends:
            for address in (rtp, next_to(rtp)):
                self.sockets[address] = host.socket(socket.AF_INET, socket.SOCK_DGRAM)
                self.sockets[address].bind(address)
        self.rows = []

    def close(self):
        for one in self.sockets.values():
            one.close()

    def packets(self, label, count, phone_at, arrive):
        """Sends packets of all flows to where the parties are told that the phone and the peer are."""
        at = self.sockets
        phone, peer, stranger = at[PHONE_RTP], at[PEER_RTP], at[(STRANGER, PEER_RTP[1])]
        phone_rtcp, peer_rtcp = at[next_to(PHONE_RTP)], at[next_to(PEER_RTP)]
        flows = [Flow(phone, PEER_RTP, peer), Flow(peer, phone_at, phone),
                 Flow(phone_rtcp, next_to(PEER_RTP), peer_rtcp), Flow(peer_rtcp, next_to(phone_at), phone_rtcp),
                 Flow(stranger, phone_at, phone)]
        exchange = Exchange(*flows)
        for _ in range(count):
            exchange.step()
        if arrive:
            exchange.expect_all(*flows[:-1])
        exchange.expect_none(*(flows[-1:] if arrive else flows))
        self.rows.append((label, *map(str, flows)))

    def table(self):
        self.screen.say("\n" + " " * 18 + "  ".join(COLUMNS))
        for label, *cells in self.rows:
            self.screen.write(f"{label:<16}")
            for column, cell in zip(COLUMNS, cells):
                none = cell.startswith("0 ")
                self.screen.write(f"{cell:>{len(column) + 2}}", "bad" if none else "good")
            self.screen.say()

    def show(self):
        """Throws Failure if a packet is where it must not be."""
        with tempfile.TemporaryDirectory(prefix="simco-demo-") as folder:
            self.screen.command(command(bool(self.options), *self.options))
            with Middlebox(self.programs, self.network.router, *ROUTER, *self.options) as middlebox:
                port, = middlebox.listening("tcp")
                self.screen.command("simco-ng --internal 10.20.0.0/24")
                with Process(self.network.router, str(pathlib.Path(self.programs).resolve() / "simco-ng"), "--middlebox",
                             f"127.0.0.1:{port}", "--internal", "10.20.0.0/24") as ng:
                    ng.wait_for(lambda: ng.has_logged("session with the middlebox"), "has no session")
                    self.screen.command("kamailio -A WITH_NAT -A WITH_RTPENGINE")
                    with Kamailio(self.network.router, folder) as proxy:
                        self.one_call(port, ng, proxy, folder)
        self.table()

    def one_call(self, port, ng, proxy, folder):
        phone_at = (OUTSIDE, int(POOL.partition("-")[0])) if self.nat else PHONE_RTP
        self.packets("before the call", PACKETS, phone_at, arrive=False)
        register(self.network.peer, (PEER, 5062), proxy)
        self.screen.say("The phone calls the peer.")
        with UserAgent(self.network.peer, "uas", PEER, 5062, folder) as callee, \
                UserAgent(self.network.phone, "uac", PHONE, 5061, folder) as caller:
            if callee.sends_to() != phone_at or caller.sends_to() != PEER_RTP:
                raise Failure(f"the peer is told {callee.sends_to()}, the phone {caller.sends_to()}")
            shown = self.log(ng, 0)
            self.rules(port, lambda text: PEER in text)
            self.packets("during the call", PACKETS_OF_CALL, phone_at, arrive=True)
            caller.hang_up()
            for agent in (caller, callee):
                if agent.process.wait(GUARD) != 0:
                    raise Failure(f"the call failed:\n{agent.text()}")
        self.screen.say("The phone hangs up.")
        ng.wait_for(lambda: re.search(r"rule \d+ ended", ng.text()), "does not end the rule")
        self.log(ng, shown)
        # The proxy has its reply first, then the rule ends.
        self.rules(port, lambda text: "no rules" in text)
        self.packets("after the call", PACKETS, phone_at, arrive=False)

    def rules(self, port, condition):
        """Shows the rules of the middlebox, once `condition` holds for what simcoctl prints of them."""
        words = [f"{self.programs}/simcoctl", "--connect", f"127.0.0.1:{port}", "list"]
        done, end = None, time.monotonic() + GUARD
        while done is None or done.returncode != 0 or not condition(done.stdout):
            if time.monotonic() > end:
                raise Failure(f"not the rules of the call:\n{done.stdout}")
            done = subprocess.run(self.network.router.words(*words), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        self.screen.command("simcoctl list")
        self.screen.write(done.stdout)

    def log(self, ng, first):
        """Shows what simco-ng says of the call, from line `first` on. Returns the number of lines."""
        lines = [line for line in ng.text().splitlines() if " call " in line]
        for line in lines[first:]:
            self.screen.say("log: ... call " + line.partition(" call ")[2], "faint")
        return len(lines)
