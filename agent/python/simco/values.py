"""Values of RFC 4540 section 4.3 and results of the transactions of section 5.3."""

import enum
from dataclasses import dataclass
from typing import Any

from ._library import ffi, lib


class Location(enum.IntEnum):
    INTERNAL = 0
    INSIDE = 1
    OUTSIDE = 2
    EXTERNAL = 3


class Direction(enum.IntEnum):
    INBOUND = 1
    OUTBOUND = 2
    BIDIRECTIONAL = 3


class Parity(enum.IntEnum):
    ANY = 0
    ODD = 1
    EVEN = 2


class RuleKind(enum.IntEnum):
    RESERVED = 1
    ENABLED = 2
    DISABLED = 3


class Loss(enum.IntEnum):
    """Why a pinhole could not be kept."""

    ENDED = 1  # the rule does not exist, or the middlebox announced its end
    EXPIRED = 2  # its lifetime ran out before a renewal succeeded
    NOT_OURS = 3  # its PID denotes another rule, for example after a restart of the middlebox


@dataclass(frozen=True)
class Tuple:
    """An address tuple (4.3.8) as the middlebox reported it."""

    text: str  # "192.0.2.1:5004/2"
    ip_version: int  # 4 or 6
    prefix_length: int
    protocol: int  # IANA number; 0 is any
    location: Location
    port: int  # first port; 0 is any
    port_range: int
    address: bytes  # 4 or 16 octets

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Capabilities:
    """The middlebox's capabilities (4.3.3), for this agent."""

    packet_filter: bool
    nat: bool
    disable_rules: bool
    port_translation: bool
    protocol_translation: bool
    twice_nat: bool
    internal_wildcards: bool
    external_wildcards: bool
    port_wildcards: bool
    persistent: bool
    internal_versions: int  # bit 0: IPv4, bit 1: IPv6
    external_versions: int
    lifetime_max: int  # seconds


@dataclass(frozen=True)
class Rule:
    """A new reserve, enable or disable rule."""

    pid: int
    group: int  # 0: in none
    lifetime: int  # granted, seconds; may be less than requested
    outside: Tuple | None  # where external hosts send to
    inside: Tuple | None  # where the internal host sends to; a traditional NAT has none


@dataclass(frozen=True)
class Status:
    """The status of a rule (5.3.13 to 5.3.15)."""

    kind: RuleKind
    pid: int
    group: int
    lifetime: int  # left, seconds
    direction: Direction | None  # of an enabled rule
    internal: Tuple | None
    inside: Tuple | None
    outside: Tuple | None
    external: Tuple | None
    owner: str


@dataclass(frozen=True)
class Event:
    """A change of a rule that this agent did not ask for (ARE, 5.3.19)."""

    pid: int
    lifetime: int  # seconds; 0: the rule is gone
    lost: int  # events dropped before this one because none were taken


def tuple_of(pointer: Any) -> Tuple | None:
    if pointer == ffi.NULL:
        return None
    text = ffi.new("char[128]")
    lib.simco_tuple_format(pointer, text, len(text))
    octets = bytes(ffi.buffer(pointer.address))
    return Tuple(ffi.string(text).decode(), pointer.ip_version, pointer.prefix_length, pointer.protocol,
                 Location(pointer.location), pointer.port, pointer.port_range,
                 octets if pointer.ip_version == 6 else octets[:4])


def capabilities_of(pointer: Any) -> Capabilities:
    fields = Capabilities.__dataclass_fields__
    return Capabilities(**{name: bool(getattr(pointer, name)) if field.type is bool else getattr(pointer, name)
                           for name, field in fields.items()})


def rule_of(reply: Any) -> Rule:
    return Rule(reply.pid, reply.group, reply.lifetime, tuple_of(reply.outside), tuple_of(reply.inside))


def status_of(reply: Any) -> Status:
    owner = ffi.buffer(reply.owner, reply.owner_size)[:].decode(errors="replace") if reply.owner_size else ""
    return Status(RuleKind(reply.kind), reply.pid, reply.group, reply.lifetime,
                  Direction(reply.direction) if reply.direction else None, tuple_of(reply.internal),
                  tuple_of(reply.inside), tuple_of(reply.outside), tuple_of(reply.external), owner)
