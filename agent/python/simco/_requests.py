"""Requests of RFC 4540 section 5.3, from Python's values. Whatever can be checked without a session is checked here, before
anything is sent: by the rules of simcoctl, with ValueError."""

from typing import Any

from ._library import ffi, lib
from .values import Direction, Location, Parity

MOST = 0xFFFF_FFFF  # of lifetimes, PIDs and GIDs

PROTOCOLS = {"any": 0, "icmp": 1, "tcp": 6, "udp": 17, "dccp": 33, "gre": 47, "esp": 50, "ah": 51, "icmpv6": 58,
             "sctp": 132, "udplite": 136}
_WITH_PORTS = {PROTOCOLS[name] for name in ("tcp", "udp", "dccp", "sctp", "udplite")}
_ALL_PORTS = 0xFFFF  # a port range that fits any other


def whole(name: str, value: int, least: int, most: int = MOST) -> int:
    if not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")
    return int(value)


def seconds(name: str, value: float, least: float, most: float) -> float:
    if not isinstance(value, (int, float)) or not least <= value <= most:
        raise ValueError(f"{name}: expected seconds from {least} to {most}, got {value!r}")
    return value


def text(name: str, value: str) -> bytes:
    """The octets of a text for C, which ends with the first NUL."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{name}: expected a text, got {value!r}")
    return value.encode()


def enable(internal: str, external: str, *, lifetime: int, protocol: int | str, direction: Direction | None,
           same_parity: bool, group: int, reservation: int, ip_version: int) -> Any:
    """PER or, with a reservation, PEA."""
    request = _with_tuples(lib.SIMCO_ENABLE, internal, external, protocol, lifetime, ip_version)
    wild = _is_wild(request.internal) or _is_wild(request.external)
    usual = Direction.INBOUND if wild else Direction.BIDIRECTIONAL
    request.direction = Direction(usual if direction is None else direction)
    if wild and request.direction == Direction.BIDIRECTIONAL:
        raise ValueError("direction: BIDIRECTIONAL needs one address and, if the protocol has ports, ports at both ends")
    sizes = {side.port_range for side in (request.internal, request.external) if side.port and side.protocol}
    if len(sizes) > 1 and _ALL_PORTS not in sizes:
        raise ValueError(f"'{internal}' and '{external}' need the same number of ports")
    request.same_parity = bool(same_parity)
    request.group = whole("group", group, 0)
    if whole("reservation", reservation, 0):
        if group:
            raise ValueError("group cannot be used with reservation: the reservation already has a group")
        request.type, request.pid = lib.SIMCO_ENABLE_RESERVED, reservation
    return request


def disable(internal: str, external: str, *, lifetime: int, protocol: int | str, ip_version: int) -> Any:
    return _with_tuples(lib.SIMCO_DISABLE, internal, external, protocol, lifetime, ip_version)


def reserve(*, lifetime: int, protocol: int | str, ports: int, parity: Parity, ip_version: int, twice_nat: bool,
            group: int) -> Any:
    request = _with_lifetime(lib.SIMCO_RESERVE, lifetime)
    request.protocol, request.parity = _protocol_number(protocol), Parity(parity)
    request.port_range = whole("ports", ports, 0, 0xFFFF)
    request.inside_version = request.outside_version = _one_of("ip_version", ip_version, (4, 6, 0))
    request.twice_nat, request.group = bool(twice_nat), whole("group", group, 0)
    return request


def about(kind: int, pid: int, lifetime: int = 0) -> Any:
    """STATUS or CHANGE_LIFETIME."""
    return ffi.new("simco_request *", {"type": kind, "pid": whole("pid", pid, 1),
                                       "lifetime": whole("lifetime", lifetime, 0)})


def list_all() -> Any:
    return ffi.new("simco_request *", {"type": lib.SIMCO_LIST})


# --- Parts -----------------------------------------------------------------------------------------


def _with_lifetime(kind: int, lifetime: int) -> Any:
    return ffi.new("simco_request *", {"type": kind, "lifetime": whole("lifetime", lifetime, 1)})


def _with_tuples(kind: int, internal: str, external: str, protocol: int | str, lifetime: int, ip_version: int) -> Any:
    request = _with_lifetime(kind, lifetime)
    number = _protocol_number(protocol)
    ip_version = _one_of("ip_version", ip_version, (4, 6))
    ends = (("internal", internal, Location.INTERNAL), ("external", external, Location.EXTERNAL))
    for field, words, location in sorted(ends, key=lambda end: _is_any(end[1])):  # "any" takes the other's version
        parsed = ffi.addressof(request, field)
        if lib.simco_tuple_parse(parsed, text(field, words), ip_version, number, location) != lib.SIMCO_OK:
            raise ValueError(f"{field}: '{words}' is not an endpoint: expected 10.0.0.5:5004/2, 10.0.0.0/24,"
                             " [2001:db8::5]:5004 or any")
        if parsed.port and not number:
            raise ValueError(f"{field}: '{words}' has a port, so the protocol cannot be any")
        ip_version = parsed.ip_version
    return request


def _protocol_number(protocol: int | str) -> int:
    if not isinstance(protocol, str):
        return whole("protocol", protocol, 0, 255)
    if protocol not in PROTOCOLS:
        raise ValueError(f"unknown protocol '{protocol}'; give its IANA number")
    return PROTOCOLS[protocol]


def _one_of(name: str, value: int, choices: tuple[int, ...]) -> int:
    if not isinstance(value, int) or value not in choices:
        raise ValueError(f"unknown {name} {value!r}; use one of {', '.join(map(str, choices))}")
    return value


def _is_any(words: str) -> bool:
    """Whether the endpoint has no address, and so no IP version of its own."""
    return isinstance(words, str) and words.partition(":")[0] == "any"


def _is_wild(side: Any) -> bool:
    """Whether a tuple means several addresses, or all ports of a protocol that has ports."""
    bits = 32 if side.ip_version == 4 else 128
    return bool(side.prefix_length < bits or (side.protocol in _WITH_PORTS and not side.port))
