"""Three Ethernets (in, out, sync) as bridges in a namespace of their own, two routers and two hosts."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from simco_demo.namespace import Failure, Namespace  # noqa: E402

__all__ = ["Failure", "Namespace", "Ethernets", "LINKS", "host"]

LINKS = {"in": "int0", "out": "ext0", "sync": "sync0"}  # of a router


class Ethernets:
    def __init__(self):
        self.switches = Namespace()
        self.switches.shell(
            "for b in in out sync; do ip link add br-$b type bridge forward_delay 0 mcast_snooping 0 && "
            "ip link set br-$b up; done; nft 'add table bridge loss; "
            "add chain bridge loss forward { type filter hook forward priority 0; }'")

    def wire(self, namespace, name, bridge, port):
        self.switches.shell(f"ip link add {port} type veth peer name {name} netns {namespace.path} && "
                            f"ip link set {port} master br-{bridge} up")

    # Of router `number`. A silent cut leaves the carrier on, as a switch does that has lost its way.

    def cut(self, number, link, silent):
        change = "nomaster" if silent else "down"
        self.switches.shell(f"ip link set {self.port(number, link)} {change}")

    def mend(self, number, link):
        self.switches.shell(f"ip link set {self.port(number, link)} master br-{link} up")

    def lose(self, number, link, percent):
        port = self.port(number, link)
        self.switches.shell("".join(
            f"nft add rule bridge loss forward {way} {port} numgen random mod 100 '<' {percent} drop;"
            for way in ("iifname", "oifname")))

    def keep(self):
        """Loses nothing any longer, on any link."""
        self.switches.shell("nft flush chain bridge loss forward")

    @staticmethod
    def port(number, link):
        return f"{link}{number}"


def host(ethernets, bridge, address, gateway):
    namespace = Namespace()
    ethernets.wire(namespace, "eth0", bridge, bridge + "-host")
    namespace.shell(f"ip link set eth0 up; ip addr add {address}/24 dev eth0; ip route add default via {gateway}; "
                    # By either box alone, for packets with its number as their mark.
                    + "".join(f"ip rule add fwmark {box} table 10{box}; ip route add default via {gateway}{box} "
                              f"table 10{box}; " for box in (1, 2)) +
                    # An address that moves is told by one packet, which may be lost: ask again soon.
                    "echo 1000 >/proc/sys/net/ipv4/neigh/eth0/base_reachable_time_ms; "
                    "echo 1 >/proc/sys/net/ipv4/neigh/eth0/delay_first_probe_time")
    return namespace
