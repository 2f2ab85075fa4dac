"""Variants: a transport with its number of streams or connections. A scenario names a variant in a word such as
tcp-4 or sctp-16; a new transport is one row of TRANSPORTS."""

import re
from dataclasses import dataclass

from . import model


@dataclass(frozen=True)
class Transport:
    """The properties of a transport that the laboratory needs."""

    name: str  # of the programs' --transport
    label: str  # in figures and reports
    sysctl_prefix: str  # sysctls of a profile that concern it
    counters: tuple  # of the kernel, reported if they moved
    options: bool  # whether a profile's SCTP options concern it
    initial_window: bool  # whether a profile's route does
    minimum_rto_ms: float = 0.0  # the paper's retransmission timeout: at least this,
    rto_over_rtt_ms: float | None = None  # or this much above the RTT
    module: str | None = None  # of the kernel, which may lack it; None: it never does
    config: str = ""  # the kernel's option for it

    def rto_ms(self, rtt_ms):
        """Returns the timeout that the papers assume."""
        return self.minimum_rto_ms if self.rto_over_rtt_ms is None else rtt_ms + self.rto_over_rtt_ms


TRANSPORTS = {transport.name: transport for transport in (
    Transport(
        name="tcp", label="TCP", sysctl_prefix="net.ipv4.tcp_", options=False, initial_window=True,
        rto_over_rtt_ms=model.RTO_TCP_EXTRA_MS,
        counters=("RetransSegs", "TCPTimeouts", "TCPLossProbes", "TCPFastRetrans", "TCPSlowStartRetrans",
                  "TCPLostRetransmit", "TCPSpuriousRTOs", "TCPDSACKRecv")),
    Transport(
        name="sctp", label="SCTP", sysctl_prefix="net.sctp.", options=True, initial_window=False,
        minimum_rto_ms=model.RTO_SCTP_MS, module="sctp", config="CONFIG_IP_SCTP",
        counters=("SctpT3RtxExpireds", "SctpT3Retransmits", "SctpFastRetransmits", "SctpDelaySackExpireds",
                  "SctpInPktBacklog", "SctpInDataChunkDiscards")),
)}

_NAME = re.compile(r"(?P<tcp>tcp)(?:-(?P<connections>[1-9]\d{0,3}))?"
                   r"|sctp-(?:(?P<streams>[1-9]\d{0,4})|(?P<unordered>unordered))")
FORMS = "tcp, tcp-N, sctp-N or sctp-unordered"


@dataclass(frozen=True)
class Variant:
    """A transport with its number of streams or of parallel connections. `str` returns the name that
    scenarios and result files use."""

    transport: Transport
    streams: int = 1
    connections: int = 1
    unordered: bool = False

    @classmethod
    def parse(cls, name):
        """Returns the variant of that name. Raises ValueError."""
        match = _NAME.fullmatch(name) if isinstance(name, str) else None
        if match is None:
            raise ValueError(f"unknown variant {name!r}; expected {FORMS}")
        if match["tcp"]:
            return cls(TRANSPORTS["tcp"], connections=int(match["connections"] or 1))
        return cls(TRANSPORTS["sctp"], streams=int(match["streams"] or 1), unordered=bool(match["unordered"]))

    @property
    def sweeps_streams(self):
        """Whether it belongs to a curve over the number of streams."""
        return self.transport.options and not self.unordered

    def __str__(self):
        if self.unordered:
            return f"{self.transport.name}-unordered"
        if self.transport.options:
            return f"{self.transport.name}-{self.streams}"
        return self.transport.name if self.connections == 1 else f"{self.transport.name}-{self.connections}"

    @property
    def label(self):
        """Its name in figures and reports: TCP-4, SCTP unordered."""
        if self.unordered:
            return f"{self.transport.label} unordered"
        return str(self).replace(self.transport.name, self.transport.label, 1)

    def options(self):
        """Returns the programs' options that select it, without --connections, which the server does not know."""
        words = ["--transport", self.transport.name]
        return words + (["--streams", str(self.streams)] if self.transport.options else [])
