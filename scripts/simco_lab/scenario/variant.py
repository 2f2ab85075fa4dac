"""Variants: a transport with its number of streams or connections. A scenario names a variant in a word such as
tcp-4 or sctp-16, which is taken apart and put together here only."""

from dataclasses import dataclass

from .catalogue import CONGESTION, TRANSPORTS, Transport, check_congestion, number, words

UNORDERED = "unordered"
WITH = "@"  # between a variant and its congestion control
FORMS = words([form for transport in TRANSPORTS.values() for form in transport.forms])
CONTROLLED = words([transport.label for transport in TRANSPORTS.values() if transport.congestion])


@dataclass(frozen=True)
class Variant:
    """A transport with its number of streams or of parallel connections. `str` returns the name that
    scenarios and result files use."""

    transport: Transport
    streams: int = 1
    connections: int = 1
    unordered: bool = False
    congestion: str = ""  # a row of CONGESTION, or that of the profile

    @classmethod
    def parse(cls, name):
        """Returns the variant of that name. Raises ValueError."""
        if isinstance(name, str):
            plain, at, control = name.partition(WITH)
            word, dash, rest = plain.partition("-")
            transport = TRANSPORTS.get(word)
            if at and transport:
                if not transport.congestion:
                    raise ValueError(f"{name!r}: only {CONTROLLED} can have another congestion control")
                check_congestion(name, control)
            chosen = {"congestion": control}
            if transport and not dash and transport.plain:
                return cls(transport, **chosen)
            if transport and transport.unordered and rest == UNORDERED:
                return cls(transport, unordered=True, **chosen)
            if transport and (count := number(rest, transport.number_max)):
                return cls(transport, **{transport.number: count}, **chosen)
        raise ValueError(f"unknown variant {name!r}; expected {FORMS}")

    def _suffix(self, before_unordered):
        if self.unordered:
            return before_unordered + UNORDERED
        count = getattr(self, self.transport.number)
        return "" if self.transport.plain and count == 1 else f"-{count}"

    def __str__(self):
        return self.transport.name + self._suffix("-") + (WITH + self.congestion if self.congestion else "")

    @property
    def label(self):
        """Its name in figures and reports: TCP-4, SCTP unordered."""
        control = f" {CONGESTION[self.congestion].label}" if self.congestion else ""
        return self.transport.label + self._suffix(" ") + control

    @property
    def sweeps_streams(self):
        """Whether it belongs to a curve over the number of streams."""
        return self.transport.number == "streams" and not self.unordered

    def options(self):
        """Returns the programs' options that select it, without --connections, which the server does not know."""
        streams = ["--streams", str(self.streams)] if self.transport.number == "streams" else []
        stack = ["--sctp-stack", self.transport.stack] if self.transport.stack else []
        return ["--transport", self.transport.program_name, *stack, *streams]
