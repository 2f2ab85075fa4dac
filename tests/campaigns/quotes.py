"""Rows of the campaign `packets` about ICMP errors and what they quote: from each side, about the other direction,
about nothing, with forged, cut and fragmented quotations. A firewall judges them by the flow (--tracking all) or
by the quotation; where that makes a difference, `case.tracks` says so."""
import frames
from frames import TCP, UDP

SYN, SYN_ACK = 0x02, 0x12


class Began:
    """A row that is sent first: a packet of the flow, from `side`."""

    def __init__(self, side, source, target, protocol=UDP, flags=SYN):
        self.side = side
        self.make = lambda data: [frames.ip(source[0], target[0], protocol, frames.transport(
            protocol, source[0], target[0], (source[1], target[1]), data, flags))]


def add_rows(case):
    unreachable = (3, 3) if case.version == 4 else (1, 4)
    directions(case, unreachable)
    forged(case, unreachable)
    shapes(case, unreachable)
    connections(case, unreachable)


def directions(case, kind):
    a = case.a
    for name, host, peer, begins, from_outside, from_inside in (
            ("both ways", (a.host, 5004), (a.peer, 6004), "inside", True, True),
            ("inbound", (a.host, 5010), (a.peer, 6010), "outside", False, True),
            ("outbound", (a.host, 5012), (a.peer, 6012), "inside", True, False)):
        source, target = (host, peer) if begins == "inside" else (peer, host)
        before = (Began(begins, source, target),)
        case.error(f"{name}: error from outside about what came from inside", *kind, a.peer2, (host, peer),
                   from_outside, before=before)
        case.error(f"{name}: error from inside about what came from outside", *kind, a.host2, (peer, host),
                   from_inside, side="inside", before=before)
        case.error(f"{name}: error from outside about what came from outside", *kind, a.peer, (peer, host), False,
                   receiver=a.host, before=before)
        case.error(f"{name}: error from inside about what came from inside", *kind, a.host, (host, peer), False,
                   receiver=a.peer, side="inside", before=before)
    quiet = ((a.host, 5014), (a.peer, 6014))
    case.enable((*quiet[0], 1), (*quiet[1], 1))
    case.error("about a rule without a packet so far", *kind, a.peer, quiet, not case.tracks)


def forged(case, kind):
    a = case.a
    host, peer = (a.host, 5004), (a.peer, 6004)
    before = (Began("inside", host, peer),)
    for name, about, receiver in (
            ("another host, to the host of the rule", ((a.host2, 5004), peer), a.host),
            ("the host of the rule, to another", (host, peer), a.host2),
            ("another host, to itself", ((a.host2, 5004), peer), a.host2),
            ("ports crossed", ((a.host, 6004), (a.peer, 5004)), a.host),
            ("another peer", (host, (a.peer2, 6004)), a.host),
            ("the router", ((a.router_in, 5004), peer), a.host)):
        case.error(f"forged quotation: {name}", *kind, a.peer, about, False, receiver=receiver, before=before)
    case.error("forged quotation: another protocol", *kind, a.peer, (host, peer), False, quoted=TCP, before=before)
    case.error("from inside, forged quotation: another peer", *kind, a.host, ((a.peer2, 6004), host), False,
               receiver=a.peer, side="inside", before=before)


def shapes(case, kind):
    a = case.a
    host, peer = (a.host, 5004), (a.peer, 6004)
    header = 20 if case.version == 4 else 40
    before = (Began("inside", host, peer),)

    def quote(name, passes, shape, **more):
        case.error(f"quotation {name}", *kind, a.peer, (host, peer), passes, shape=shape, before=before, **more)

    def whole(source, target, load, data, **more):
        return frames.ip(source, target, UDP, load, **more)

    for name, size, passes in (("cut behind eight octets of UDP", header + 8, True), ("without ports", header + 3, False),
                               ("without the second address", header - 4, False), ("of nothing", 0, False)):
        quote(name, passes, lambda *packet, size=size: whole(*packet)[:size], marked=True)
    # Connection tracking looks for ports where the length of the header says.
    quote("of another version", case.tracks,
          lambda *packet: bytes([0x65 if case.version == 4 else 0x45]) + whole(*packet)[1:])
    quote("of a first fragment", True, lambda *packet: whole(*packet, fragment=(7, 0, True)))
    quote("of a later fragment", False, lambda *packet: whole(*packet, fragment=(7, 64, True)))
    quote("of a packet with options", case.tracks, lambda *packet: whole(
        *packet, **({"options": b"\1\1\1\0"} if case.version == 4 else {"headers": (frames.DESTINATION,)})))
    for at in (8, 32, 56):
        quote(f"in an error that comes in pieces, cut at {at}", True, whole, split=at)


def connections(case, kind):
    """TCP that begins outside: connection tracking says which packets belong to such a connection."""
    a = case.a
    server = (a.host, 8080)
    for port, began in ((2345, True), (2346, False)):
        client = (a.peer, port)
        before = (Began("outside", client, server, TCP),) if began else ()
        word = "a connection" if began else "no connection"
        case.error(f"TCP: error from inside about {word}", *kind, a.host, (client, server), began, quoted=TCP,
                   side="inside", before=before)
        before += (Began("inside", server, client, TCP, SYN_ACK),) if began else ()
        case.error(f"TCP: error from outside about {word}", *kind, a.peer, (server, client), began, quoted=TCP,
                   before=before)
