"""The sizes that SIP's messages can have; the numbers are those of the programs' texts (loadgen/sip)."""

MESSAGE_MAX = 65536
RESPONSE_MAX = 8192
DATAGRAM_MAX = 65507
UDP_REQUEST_MAX = 1300  # RFC 3261 18.1.1: longer ones not over UDP
INVITE_LEAST = 392  # the header of an INVITE, without the transport's name in it
RESPONSE_LEAST = {"100": 263, "180": 298}  # by the response that ends a transaction
CHUNK_OCTETS_MAX = 1452  # of a message in one chunk: a packet of 1500 octets without the headers of IP, SCTP and the chunk


def invite_fault(transport, octets, over_udp):
    """Returns why INVITEs of that size do not go over the transport, or nothing. `over_udp`: whether long ones may go over one
    that is not reliable."""
    least = INVITE_LEAST + len(transport.label)
    if octets < least:
        return f"an INVITE over {transport.label} has at least {least} octets"
    if octets > MESSAGE_MAX:
        return f"a message has at most {MESSAGE_MAX} octets"
    if transport.reliable:
        return ""
    if octets > DATAGRAM_MAX:
        return f"a datagram carries at most {DATAGRAM_MAX} octets"
    if octets > UDP_REQUEST_MAX and not over_udp:
        return f"INVITEs of more than {UDP_REQUEST_MAX} octets over {transport.label} need 'large_over_udp'"
    return ""


def response_of(transport, response):
    """Returns the response that is waited for: over a transport that loses messages each needs one."""
    return "100" if response == "none" and not transport.reliable else response


def response_fault(transport, response, octets):
    """Returns why responses of that size do not go over the transport, or nothing."""
    response = response_of(transport, response)
    least = RESPONSE_LEAST.get(response, 0)
    if octets < least:
        return f"a {response} response has at least {least} octets"
    return f"a response has at most {RESPONSE_MAX} octets" if octets > RESPONSE_MAX else ""


def capture_fault(transport, connections, octets, mtu):
    """Returns why the parts of the delay of such messages cannot be told, or an empty text. `mtu` is that of a link that
    shrinks, 0 if none does."""
    if transport.messages == "stream" and connections > 1:
        return "cannot tell messages of several TCP connections apart: take one"
    room = min(CHUNK_OCTETS_MAX, mtu - (1500 - CHUNK_OCTETS_MAX)) if mtu else CHUNK_OCTETS_MAX
    if transport.messages == "chunks" and octets > room:
        return f"needs an SCTP message in one packet: 'invite_size' must be {room:g} at most"
    return ""
