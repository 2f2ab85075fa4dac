"""Writes captures of SIMCO messages, each in an IPv4 packet of its own, as tcpdump would."""
import struct

LINKTYPE_RAW = 101  # packets begin with their IP header
SIMCO_PORT = 7626
FIRST_CLIENT_PORT = 10000
PROTOCOL_TCP, PROTOCOL_SCTP = 6, 132
SIMCO_PAYLOAD_PROTOCOL = 15  # IANA, SCTP payload protocol identifiers


def tcp(source, destination, octets):
    header_words, push_and_ack = 5, 0x18
    return struct.pack("!HHIIBBHHH", source, destination, 1, 1, header_words << 4, push_and_ack, 65535, 0, 0) + octets


def sctp(source, destination, octets, payload_protocol):
    """A packet with one DATA chunk that has a whole user message (RFC 4960, 3.3.1); no checksum."""
    whole, stream, sequence = 3, 0, 0
    chunk = struct.pack("!BBHIHHI", 0, whole, 16 + len(octets), 1, stream, sequence, payload_protocol) + octets
    return struct.pack("!HHII", source, destination, 1, 0) + chunk + b"\0" * (-len(octets) % 4)


def ipv4(protocol, payload):
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0,
                       bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])) + payload


def write(path, packets):
    with open(path, "wb") as out:
        out.write(struct.pack("!IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, LINKTYPE_RAW))
        for second, packet in enumerate(packets):
            out.write(struct.pack("!IIII", second, 0, len(packet), len(packet)) + packet)


def ports(number, from_agent, middlebox_port=SIMCO_PORT):
    """A connection of its own for each message, so that none is taken for a retransmission."""
    client = FIRST_CLIENT_PORT + number
    return (client, middlebox_port) if from_agent else (middlebox_port, client)


def over_tcp(number, octets, from_agent):
    return ipv4(PROTOCOL_TCP, tcp(*ports(number, from_agent), octets))


def over_sctp(number, octets, from_agent, middlebox_port, payload_protocol):
    return ipv4(PROTOCOL_SCTP, sctp(*ports(number, from_agent, middlebox_port), octets, payload_protocol))
