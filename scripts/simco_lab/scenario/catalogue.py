"""The catalogue of the laboratory: transports, workloads, the middlebox's backends, and profiles of the end systems.
Each is a row of a table here; no other module spells their names."""

from collections.abc import Callable
from dataclasses import dataclass


def table(*rows):
    """Returns {name: row}; the first row is the default."""
    return {row.name: row for row in rows}


def default(rows):
    return next(iter(rows))


def words(names):
    """Returns "a, b or c"."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def number(text, most):
    """Returns the number from 1 to `most` that `text` spells without leading zeros, or None."""
    good = text.isascii() and text.isdigit() and text[0] != "0" and int(text) <= most
    return int(text) if good else None


@dataclass(frozen=True)
class Transport:
    name: str  # of variants and, unless `option` has it, of the programs' --transport
    label: str  # in figures and reports
    number: str  # counted by N in the variant NAME-N: streams or connections
    sysctl_prefix: str  # sysctls of a profile that concern it
    counters: tuple  # of the kernel, reported if they moved
    routes: str  # those of a profile that concern it
    messages: str  # how it carries messages (parts.py)
    number_max: int = 0  # 0: NAME-N is not a variant
    plain: bool = True  # whether NAME alone is a variant, with N = 1
    unordered: bool = False  # whether NAME-unordered is
    options: bool = False  # whether a profile's SCTP options concern it
    option: str = ""  # of the programs' --transport
    stack: str = ""  # of the programs' --sctp-stack
    tls: bool = False  # whether the programs need a certificate
    own_tls: bool = False  # whether TLS is a part of it, so that all workloads have it
    proxied: bool = True  # whether it leads through proxies, too
    congestion: bool = False  # whether NAME@CC is a variant
    reliable: bool = True  # else the workload sends again
    rto_ms: Callable | None = None  # the retransmission timeout that the papers' model takes, by the RTT; None: it does not know it
    module: str | None = None  # of the kernel, which may lack it; None: it never does
    config: str = ""  # the kernel's option for it
    guest_modules: tuple = ()  # that the guest loads for it
    wrapper: tuple = ()  # the words before the programs that use it
    host_has: str = ""  # and the guest does not
    replays: bool = False  # whether the kernel of user-mode Linux can send and answer its messages itself
    multipath: bool = False  # whether a connection uses all paths that it knows
    path_commands: tuple = ()  # (end, command) that make a second path known, the box's address {second}
    needs: tuple = ()  # (command that works if the kernel has it, what that is)
    effort: str = ""  # what it takes to use it, in the profile "tuned"

    @property
    def program_name(self):
        """Its name in the programs' options and output."""
        return self.option or self.name

    @property
    def forms(self):
        """The forms of its variants' names."""
        return [*([self.name] if self.plain else []), *([f"{self.name}-N"] if self.number_max else []),
                *([f"{self.name}-unordered"] if self.unordered else [])]


TCP_COUNTERS = ("RetransSegs", "TCPTimeouts", "TCPLossProbes", "TCPFastRetrans", "TCPSlowStartRetrans",
                "TCPLostRetransmit", "TCPSpuriousRTOs", "TCPDSACKRecv")
TRANSPORTS = table(
    Transport(
        name="tcp", label="TCP", number="connections", number_max=9999, sysctl_prefix="net.ipv4.tcp_", routes="tcp",
        messages="stream", replays=True, congestion=True, rto_ms=lambda rtt_ms: rtt_ms + 200.0, counters=TCP_COUNTERS,  # as Linux has it
        effort="the system's defaults"),
    Transport(
        name="mptcp", label="MPTCP", option="tcp", number="connections", sysctl_prefix="net.mptcp.", routes="tcp", messages="stream",
        proxied=False, wrapper=("mptcpize", "run"), host_has="mptcpize", multipath=True,
        needs=(("ip mptcp limits show", "MPTCP (CONFIG_MPTCP)"),),
        path_commands=(("agent", "ip mptcp limits set subflows 1 add_addr_accepted 1"), ("box", "ip mptcp limits set subflows 1"),
                       ("box", "ip mptcp endpoint add {second} signal")),
        counters=("MPCapableSYNTX", "MPCapableFallbackACK", "MPJoinSynAckRx", "MPTCPRetrans", "SubflowStale", "SubflowRecover",
                  *TCP_COUNTERS)),
    Transport(
        name="sctp", label="SCTP", number="streams", number_max=99999, plain=False, unordered=True, options=True, multipath=True,
        replays=True,
        sysctl_prefix="net.sctp.", routes="sctp", messages="chunks", rto_ms=lambda _: 1000.0,  # RFC 2960's RTO.Min
        counters=("SctpT3RtxExpireds", "SctpT3Retransmits", "SctpFastRetransmits", "SctpDelaySackExpireds",
                  "SctpInPktBacklog", "SctpInDataChunkDiscards"),
        module="sctp", config="CONFIG_IP_SCTP",
        guest_modules=("crc32c_generic", "sctp", "sctp_diag", "udp_tunnel", "ip6_udp_tunnel"),
        effort="this project's defaults and two sysctls at both ends (doc/sctp.md)"),
    Transport(
        name="usrsctp", label="usrsctp", option="sctp", stack="userland", number="streams", number_max=1024, plain=False,
        proxied=False, options=True, host_has="libusrsctp2", sysctl_prefix="net.ipv4.udp_", routes="udp", messages="packets",
        rto_ms=lambda _: 1000.0, counters=("RcvbufErrors", "SndbufErrors")),
    Transport(
        name="tls", label="TLS", option="tcp", tls=True, proxied=False, number="connections", sysctl_prefix="net.ipv4.tcp_",
        routes="tcp", messages="records", congestion=True, counters=TCP_COUNTERS),
    Transport(
        name="quic", label="QUIC", tls=True, own_tls=True, proxied=False, number="streams", number_max=1024, plain=False,
        sysctl_prefix="net.ipv4.udp_", routes="udp", messages="packets", counters=("RcvbufErrors", "SndbufErrors"),
        effort="programs of this project and certificates at both ends (doc/quic.md); 1.7 times TCP's instructions"),
    Transport(
        name="udp", label="UDP", number="connections", sysctl_prefix="net.ipv4.udp_", routes="udp", messages="datagrams",
        replays=True, reliable=False, counters=("NoPorts", "RcvbufErrors", "SndbufErrors"),
        effort="the system's defaults; a lost message waits for T1, 500 ms"),
)


@dataclass(frozen=True)
class Workload:
    """The traffic of simco-loadgen, and the program that answers."""

    name: str  # of simco-loadgen's --workload
    server: str  # a program
    server_options: tuple = ()
    backend: bool = False  # whether the server has --backend
    network: str = "line"  # unless a scenario says otherwise
    octets: int = 0  # of a message; 0: they vary
    # Whether it is SIP: a scenario's keys for SIP concern it, it sends again what gets lost, its server notes arrivals.
    sip: bool = False
    replays: bool = False  # whether the kernel of user-mode Linux can send and answer its messages, over transports that have it, too
    always_ordered: str = ""  # why there are no unordered variants; empty: there are


WORKLOADS = table(
    Workload("per", server="simco-middlebox", server_options=("--allow-anonymous",), backend=True, replays=True,
             always_ordered="SIMCO's messages are ordered"),
    Workload("echo", server="simco-echo", octets=64, replays=True),
    Workload("sip", server="simco-sip", server_options=("--samples", "$out/arrived.csv", "--json", "$out/server.json"),
             network="dumbbell", sip=True, replays=True),
)


@dataclass(frozen=True)
class Backend:
    name: str  # of simco-middlebox's --backend
    options: tuple = ()
    guest_modules: tuple = ()
    replays: bool = False  # whether the kernel of user-mode Linux can stand for it


BACKENDS = table(
    Backend("null", replays=True),
    Backend("nftables", options=("--internal-if", "inner", "--external-if", "right", "--keep-rules=false"),
            guest_modules=("nft_objref", "nft_ct", "nf_conntrack")),
)


@dataclass(frozen=True)
class Route:
    """Words of `ip route` for the ways of these end systems, for transports that name it: with {octets} of a message,
    and {chunk_packet} of a packet of SCTP with one message."""

    name: str
    words: str
    ends: tuple = ("agent", "box")
    cross: bool = False  # whether it is one of the ends of competing traffic, too


@dataclass(frozen=True)
class Congestion:
    name: str
    label: str
    sysctls: tuple  # (key, value)
    guest_modules: tuple = ()


def check_congestion(name, control):
    """Raises ValueError unless the congestion control of the variant or traffic of that name is a row."""
    if control not in CONGESTION:
        raise ValueError(f"{name!r}: unknown congestion control {control!r}; expected {words(CONGESTION)}")


def congestion(algorithm, sack):
    return (("net.ipv4.tcp_congestion_control", algorithm), ("net.ipv4.tcp_sack", str(int(sack))))


# Reno and Vegas without selective acknowledgements, as the simulators have them; sack is Reno with them.
CONGESTION = table(
    Congestion("reno", "Reno", congestion("reno", sack=False)),
    Congestion("sack", "SACK", congestion("reno", sack=True)),
    Congestion("vegas", "Vegas", congestion("vegas", sack=False), guest_modules=("tcp_vegas",)),
    Congestion("cubic", "CUBIC", congestion("cubic", sack=True)),
    Congestion("bbr", "BBR", congestion("bbr", sack=True), guest_modules=("tcp_bbr",)),
    Congestion("bic", "BIC", congestion("bic", sack=True), guest_modules=("tcp_bic",)),
)


@dataclass(frozen=True)
class Profile:
    """Settings of the end systems. A job leaves out those that do not concern its transport."""

    name: str
    sysctls: tuple = ()  # (key, value)
    routes: tuple = ()
    sctp_options: str = ""  # of both programs
    needs: tuple = ()  # (command that works if the kernel has it, what that is)
    guest_modules: tuple = ()
    one_size: bool = False  # whether its routes need messages of one size
    cross_sysctls: tuple = ()  # of the ends of competing traffic, besides `sysctls`


# The kernel's SCTP parameters: what a program gets that sets none of its own.
KERNEL_SCTP = ("--sctp-rto-initial 3000 --sctp-rto-min 1000 --sctp-sack-delay 200"
               " --sctp-heartbeat 30000 --sctp-buffer 106496 --sctp-i-bit false")
PROFILES = table(
    # The distribution's defaults.
    Profile("modern", sctp_options=KERNEL_SCTP),
    # The same, but a path is left after six timeouts in a row, as RFC 4960 has it, instead of the first (RFC 7829).
    Profile("no-pf", sysctls=(("net.sctp.pf_enable", "0"),), sctp_options=KERNEL_SCTP),
    # As modern, with another scheduler of SCTP's streams.
    Profile("round-robin", sctp_options=f"{KERNEL_SCTP} --sctp-scheduler rr"),
    # As close to Linux 2.6.16 as this kernel gets: no RACK, no tail-loss probe, BIC.
    Profile(
        "2006",
        sysctls=(("net.ipv4.tcp_recovery", "0"),
                 ("net.ipv4.tcp_early_retrans", "0"),
                 ("net.ipv4.tcp_frto", "0"),
                 ("net.ipv4.tcp_autocorking", "0"),
                 ("net.ipv4.tcp_ecn", "0"),
                 ("net.ipv4.tcp_no_metrics_save", "1"),
                 ("net.ipv4.tcp_slow_start_after_idle", "1"),
                 ("net.ipv4.tcp_congestion_control", "bic")),
        routes=(Route("tcp", "initcwnd 3", cross=True),),
        cross_sysctls=(("net.ipv4.tcp_rmem", "4096 87380 174760"), ("net.ipv4.tcp_wmem", "4096 16384 131072")),
        sctp_options=KERNEL_SCTP, guest_modules=("tcp_bic",),
        needs=(("sysctl -w net.ipv4.tcp_congestion_control=bic", "BIC (CONFIG_TCP_CONG_BIC)"),)),
    # As near to the simulators ns and ns-2 as this kernel gets: a packet carries one message, and has a SACK of its own.
    Profile(
        "ns2",
        sysctls=(("net.ipv4.tcp_recovery", "0"),
                 ("net.ipv4.tcp_early_retrans", "0"),
                 ("net.ipv4.tcp_frto", "0"),
                 ("net.ipv4.tcp_autocorking", "0"),
                 ("net.ipv4.tcp_timestamps", "0"),
                 ("net.ipv4.tcp_no_metrics_save", "1")),
        routes=(Route("tcp", "advmss {octets} initcwnd 2 quickack 1", ends=("agent",)),
                Route("tcp", "advmss {octets} quickack 1", ends=("box",)),
                Route("sctp", "mtu lock {chunk_packet}")),
        sctp_options=KERNEL_SCTP.replace("--sctp-sack-delay 200", "--sctp-sack-delay 0"), one_size=True),
    # Our programs' defaults, with the sysctls that doc/sctp.md recommends.
    Profile("tuned", sysctls=(("net.sctp.rto_alpha_exp_divisor", "1"), ("net.sctp.rto_beta_exp_divisor", "0"))),
    # The like for TCP: a least RTO of 40 ms instead of 200, and one packet beyond a hole makes it a loss.
    Profile("tuned-tcp", sysctls=(("net.ipv4.tcp_reordering", "1"),), routes=(Route("tcp", "rto_min 40ms"),),
            sctp_options=KERNEL_SCTP),
)

CROSS_PROGRAM = "simco-cross"  # competing traffic
PROGRAMS = ("simco-loadgen", *(workload.server for workload in WORKLOADS.values()), "simcoctl", CROSS_PROGRAM)
REPLAY_PROGRAM = "simco-replay"  # both ends of a point whose messages the kernel sends and answers
