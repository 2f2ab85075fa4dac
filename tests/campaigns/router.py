"""What campaigns about packets share: network namespaces without names, a router between two hosts, a
middlebox on it, and an agent. Standard library only; needs root (or a user namespace), ip and nft.

Namespaces go with the process that made them, whatever becomes of it.
"""
import os
import pathlib
import select
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import middlebox  # noqa: E402
import simco_demo.middlebox  # noqa: E402
from middlebox import Fault, Session, change, number, value_of  # noqa: E402
from simco_demo.namespace import Failure, Namespace  # noqa: E402

GUARD = 60.0  # seconds until a campaign takes the middlebox for hanging
if os.geteuid() != 0:  # namespaces take rights, which a user has in a namespace of users
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", sys.executable, "-B", *sys.argv])


class Network:
    """An internal host, a router, and an external host."""

    def __init__(self):
        self.router, self.inside, self.outside = Namespace(), Namespace(), Namespace()
        for name, host in (("int0", self.inside), ("ext0", self.outside)):
            self.router.shell(f"ip link add {name} type veth peer name eth0 && "
                              f"ip link set eth0 netns {host.path} && ip link set {name} up")
            host.shell("ip link set eth0 up")
        self.router.shell(
            "ip addr add 10.0.0.1/24 dev int0; ip addr add 2001:db8:1::1/64 dev int0 nodad;"
            "ip addr add 192.0.2.1/24 dev ext0; ip addr add 2001:db8:2::1/64 dev ext0 nodad;"
            "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding;"
            "for i in all int0 ext0; do echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter; done")
        self.inside.shell(
            "for a in 10.0.0.2/24 10.0.0.3/24; do ip addr add $a dev eth0; done;"
            "for a in 2001:db8:1::2/64 2001:db8:1::3/64; do ip addr add $a dev eth0 nodad; done;"
            "ip route add default via 10.0.0.1; ip -6 route add default via 2001:db8:1::1")
        self.outside.shell(
            "for a in 192.0.2.2/24 192.0.2.3/24; do ip addr add $a dev eth0; done;"
            "for a in 2001:db8:2::2/64 2001:db8:2::3/64; do ip addr add $a dev eth0 nodad; done;"
            "ip route add default via 192.0.2.1; ip -6 route add default via 2001:db8:2::1")
        # Nothing asks for a neighbour while the link-local address is tentative (0x40).
        for namespace in (self.router, self.inside, self.outside):
            namespace.shell("while cut -d' ' -f5 /proc/net/if_inet6 | grep -q '^[4567c]0$'; do sleep 0.01; done")


    def make_fast(self):
        """Has the veths take and send packets as network cards do."""
        for host in (self.inside, self.outside):
            host.shell("ethtool -K eth0 gro on tx off txvlan off tx-vlan-stag-hw-insert off >/dev/null")
        for name in ("int0", "ext0"):
            self.router.shell(f"ethtool -K {name} rxvlan off rx-vlan-stag-hw-parse off >/dev/null")

    def in_stack(self):
        """Packets that the router's stack has forwarded."""
        def read():
            with open("/proc/thread-self/net/snmp") as four, open("/proc/thread-self/net/snmp6") as six:
                names, values = [line.split() for line in four if line.startswith("Ip:")]
                return int(dict(zip(names, values))["ForwDatagrams"]) + next(
                    int(line.split()[1]) for line in six if line.startswith("Ip6OutForwDatagrams"))
        return self.router.run(read)


class Wire:
    """A host's end of its link to the router: packets out and in."""

    def __init__(self, host, router, interface):
        self.socket = host.socket(17, 3, 0x0300)  # AF_PACKET, SOCK_RAW, ETH_P_ALL in network order
        self.socket.bind(("eth0", 0x0003))
        self.socket.setsockopt(1, 8, 8 << 20)
        self.mac = self.address(host, "eth0")
        self.router_mac = self.address(router, interface)

    @staticmethod
    def address(namespace, interface):
        text = namespace.shell(f"ip link show {interface} | grep -o 'link/ether [^ ]*'").split()[1]
        return bytes.fromhex(text.replace(":", ""))

    def send(self, packet):
        kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
        self.socket.send(self.router_mac + self.mac + struct.pack("!H", kind) + packet)

    def frame(self, seconds):
        """The next frame of IP that comes in, or None."""
        while readable(self.socket, seconds):
            frame, (_, _, kind, *_) = self.socket.recvfrom(65536)
            if kind != 4 and frame[12:14] in (b"\x08\x00", b"\x86\xdd"):  # not what goes out
                return frame
        return None

    def receive(self, seconds):
        """The next packet that comes in, or None."""
        frame = self.frame(seconds)
        return frame and frame[14:]


class Middlebox(simco_demo.middlebox.Middlebox):
    """simco-middlebox with the nftables backend on `router`."""

    def __init__(self, folder, router, *options):
        super().__init__(folder, router, *simco_demo.middlebox.ROUTER, "--audit-rate", "0",
                         *options)
        self.router = router
        self.port, = self.listening("tcp")


def can_be_fast(folder):
    """Whether the middlebox is built with the fast path, and this process may load programs for it."""
    checked = subprocess.run([folder + "/simco-middlebox", "--check", "--backend", "nftables", "--internal-if", "lo",
                              "--external-if", "lo", "--fast-path", "xdp"], capture_output=True, text=True)
    with open("/proc/self/uid_map") as ids:
        real_root = int(ids.read().split()[2]) > 1
    return real_root and "this build has none" not in checked.stderr


def address_tuple(endpoint, protocol, location):
    """From (address[/length], port, ports), or from (version,) for any address of that version."""
    if len(endpoint) == 1:
        return {**middlebox.address_tuple(location, protocol=protocol), "ip_version": f"IPv{endpoint[0]}"}
    address, port, ports = endpoint
    address, _, length = address.partition("/")
    return middlebox.address_tuple(location, address, port, ports, protocol, int(length) if length else None)


class Agent(Session):
    """An open session from the router."""

    def __init__(self, box):
        box.router.run(lambda: super(Agent, self).__init__(box.port))
        self.open()

    @staticmethod
    def per(internal, external, protocol=17, direction="bi-directional", lifetime=3600):
        """The attributes of a PER request."""
        return middlebox.per(address_tuple(internal, protocol, "internal"), address_tuple(external, protocol, "external"),
                             lifetime, direction)

    def granted(self, reply):
        if "positive" not in reply["message"]:
            raise Failure(f"refused: {reply}")
        return reply

    def enable(self, *arguments, **named):
        """(PID, outside or inside tuples of the reply)"""
        reply = self.granted(self.ask("PER", self.per(*arguments, **named)))
        return pid_of(reply), tuples_of(reply)

    def enable_all(self, pairs, **named):
        """Rules between each of `pairs`, many in flight."""
        waiting = 0
        for internal, external in pairs:
            self.send("PER", self.per(internal, external, **named))
            waiting += 1
            if waiting == 200:
                self.granted(self.reply())
                waiting -= 1
        for _ in range(waiting):
            self.granted(self.reply())

    def disable(self, internal, external, protocol=17, lifetime=3600):
        return pid_of(self.granted(self.ask("PDR", [
            address_tuple(internal, protocol, "internal"), address_tuple(external, protocol, "external"),
            number("policy rule lifetime", lifetime)])))

    def remove(self, pid):
        self.granted(self.ask("PLC", change(pid, 0)))


def pid_of(reply):
    return value_of(reply, "policy rule identifier")


def tuples_of(reply):
    return [one for one in reply["attributes"] if one["attribute"] == "address tuple"]


def readable(one, seconds):
    return bool(select.select([one], [], [], seconds)[0])


def outcome(name, run, arguments):
    """Runs a campaign. Returns its exit status; a failure is printed with the seed that repeats it."""
    try:
        run(arguments)
    except (Failure, Fault) as failure:
        print(f"{name}: {failure} (seed {arguments.seed})", file=sys.stderr)
        return 1
    return 0
