"""A phone behind a router, and packets for it: blocked, allowed by a rule for its lifetime, translated, and not
lost when the middlebox is killed."""

import re
import signal
import socket
import subprocess
import tempfile

from .middlebox import ROUTER, Middlebox, command
from .namespace import Failure, Namespace
from .stream import Bars, Stream

PHONE, PEER, OUTSIDE = "10.20.0.5", "198.51.100.77", "198.51.100.1"
PHONE_PORT, PEER_PORT = 5004, 6000
LOGGED = ("audit", "event", "pid", "protocol", "internal", "external")
PACKETS = 75  # of a part that no event ends: 1.5 s
LIFETIME = 3  # seconds


class Network:
    """phone - (int0) router (ext0) - peer, each in a namespace of its own."""

    def __init__(self):
        self.phone, self.router, self.peer = Namespace(), Namespace(), Namespace()
        links = (("int0", self.phone, PHONE, "10.20.0.1"), ("ext0", self.peer, PEER, OUTSIDE))
        for name, host, address, gateway in links:
            self.router.shell(f"ip link add {name} type veth peer name eth0 && ip link set eth0 netns {host.path} && "
                              f"ip addr add {gateway}/24 dev {name} && ip link set {name} up")
            host.shell(f"ip addr add {address}/24 dev eth0 && ip link set eth0 up && "
                       f"ip route add default via {gateway}")
        self.router.shell("echo 1 >/proc/sys/net/ipv4/ip_forward && "
                          "for i in int0 ext0; do echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter; done")

    def stream(self, target):
        """Returns a stream from the peer to `target`, with the phone as its receiver."""
        sockets = []
        for host, address in ((self.peer, (PEER, PEER_PORT)), (self.phone, (PHONE, PHONE_PORT))):
            sockets.append(host.socket(socket.AF_INET, socket.SOCK_DGRAM))
            sockets[-1].bind(address)
        return Stream(sockets[0], target, sockets[1])


class Story:
    """The scenes with one middlebox on the router."""

    def __init__(self, screen, programs, network):
        self.screen, self.programs, self.network = screen, programs, network

    def start(self, *options, folder=None):
        self.screen.command(command(bool(options), *options))
        return Middlebox(self.programs, self.network.router, *ROUTER, *options, folder=folder)

    def simcoctl(self, port, *words, beside=None):
        """Runs simcoctl while the stream `beside` goes on, shows what it prints, and returns it."""
        self.screen.command(" ".join(("simcoctl", *words)))
        command = [f"{self.programs}/simcoctl", "--connect", f"127.0.0.1:{port}", *words]
        process = subprocess.Popen(self.network.router.words(*command), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while process.poll() is None:
            if beside:
                beside.step()
            else:
                process.wait()
        text = process.stdout.read()
        process.stdout.close()
        self.screen.write(text)
        if process.returncode != 0:
            raise Failure(f"simcoctl ended with exit status {process.returncode}")
        return text

    def firewall(self):
        """Blocked, a rule, passing, its lifetime over, blocked."""
        with self.start() as middlebox:
            port, = middlebox.listening("tcp")
            stream = self.network.stream((PHONE, PHONE_PORT))
            bars = Bars(self.screen, stream)
            self.screen.label("blocked")
            bars.show_packets(PACKETS)
            self.count(stream, 0, stream.sent, all_of_them=False)

            began = stream.sent
            self.simcoctl(port, "enable", "--internal", f"{PHONE}:{PHONE_PORT}", "--external", f"{PEER}:{PEER_PORT}",
                          "--udp", "--lifetime", str(LIFETIME), beside=stream)
            self.screen.label("passing")
            bars.show(lambda: middlebox.has_logged("event=expire"))
            end = stream.sent
            self.screen.say(f"  {stream.count(began, end)} of {end - began} packets arrived")
            self.log(middlebox, "event=expire")

            self.screen.label("lifetime over")
            bars.show_packets(PACKETS)
            self.count(stream, end, stream.sent, all_of_them=False)
            check_one_window(stream, began)
            for one in (stream.sender, stream.receiver):  # the next stream has their addresses
                one.close()

    def nat(self):
        """A binding of a NAT; and a middlebox that is killed while packets flow."""
        with tempfile.TemporaryDirectory(prefix="simco-demo-") as folder:
            options = ["--mode", "nat", "--outside", OUTSIDE, "--state", "rules.db"]
            with self.start(*options, folder=folder) as middlebox:
                port, = middlebox.listening("tcp")
                text = self.simcoctl(port, "enable", "--internal", f"{PHONE}:{PHONE_PORT}", "--external",
                                     f"{PEER}:{PEER_PORT}", "--udp", "--lifetime", "600")
                printed = re.search(r"outside ([\d.]+):(\d+)", text)
                if not printed:
                    raise Failure("simcoctl does not print the outside address")
                outside = printed[1], int(printed[2])
                stream = self.network.stream(outside)
                bars = Bars(self.screen, stream)
                self.screen.label("translated")
                bars.show_packets(PACKETS)
                self.count(stream, 0, stream.sent, all_of_them=True)
                self.check_translation(stream, outside)
                self.screen.command("pkill -9 simco-middlebox")
                middlebox.stop(signal.SIGKILL)
                began = stream.sent
                self.screen.label("no middlebox")
                bars.show_packets(PACKETS)
                self.count(stream, began, stream.sent, all_of_them=True)
            began = stream.sent
            with self.start(*options, folder=folder) as middlebox:
                self.screen.label("running again")
                bars.show(lambda: "tcp" in middlebox.ports())
                bars.show_packets(PACKETS)
                self.count(stream, began, stream.sent, all_of_them=True)
                self.screen.say(f"{stream.sent} packets sent, {len(stream.arrived)} arrived: none was lost.")

    def check_translation(self, stream, outside):
        stream.expect_answer()
        if stream.answered_from != {outside}:
            raise Failure(f"the phone's answers came from {stream.answered_from}, not from {outside}")
        self.screen.say(f"{'':>20}and its answers reached the peer from {outside[0]}:{outside[1]}")

    def log(self, middlebox, event):
        line = next(line for line in middlebox.text().splitlines() if event in line)
        shown = (word for word in line.split() if word.partition("=")[0] in LOGGED)
        self.screen.say("log: ... " + " ".join(shown) + " ...", "faint")

    def count(self, stream, first, end, *, all_of_them):
        """Shows how many of these packets arrived. Throws Failure if it is not all or none of them."""
        if all_of_them:
            stream.expect_all(first, end)
        arrived = stream.count(first, end)
        if not all_of_them and arrived:
            raise Failure(f"{arrived} packets arrived that no rule allowed")
        self.screen.say(f"  {arrived} of {end - first} packets arrived")


def check_one_window(stream, first):
    """Throws Failure unless the packets from `first` on that arrived are one sequence without a gap."""
    arrived = sorted(number for number in stream.arrived if number >= first)
    if not arrived:
        raise Failure("no packet arrived while the rule lived; is this machine extremely busy?")
    if arrived[-1] - arrived[0] + 1 != len(arrived):
        raise Failure("packets were lost while the rule lived")
