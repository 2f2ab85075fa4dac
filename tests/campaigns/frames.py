"""Packets, octet by octet, for the campaign `packets`: IPv4 and IPv6 with what may stand before UDP, TCP,
SCTP and ICMP. Checksums are right: connection tracking looks at them."""
import ipaddress
import struct

TCP, UDP, SCTP, DCCP, UDPLITE, ICMP, ICMPV6, AH, ESP, GRE = 6, 17, 132, 33, 136, 1, 58, 51, 50, 47
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60


def packed(address):
    return ipaddress.ip_address(address).packed


def is_ipv6(address):
    return ":" in address


def checksum(octets):
    if len(octets) % 2:
        octets += b"\0"
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def pseudo(source, target, protocol, size):
    if is_ipv6(source):
        return packed(source) + packed(target) + struct.pack("!IHBB", size, 0, 0, protocol)
    return packed(source) + packed(target) + struct.pack("!BBH", 0, protocol, size)


def transport(protocol, source, target, ports, data, flags=0x02):
    """A header of `protocol` with `ports` (source, target) and `data`. TCP: `flags`."""
    if protocol == TCP:
        head = struct.pack("!HHIIBBHHH", *ports, 1000, 1001 if flags & 0x10 else 0, 5 << 4, flags, 8192, 0, 0)
        total = checksum(pseudo(source, target, TCP, len(head) + len(data)) + head + data)
        return head[:16] + struct.pack("!H", total) + head[18:] + data
    if protocol in (UDP, UDPLITE):
        head = struct.pack("!HHHH", *ports, 8 + len(data), 0)
        total = checksum(pseudo(source, target, protocol, len(head) + len(data)) + head + data)
        return head[:6] + struct.pack("!H", total or 0xFFFF) + data
    if protocol == SCTP:
        padded = data + b"\0" * (-len(data) % 4)
        chunk = struct.pack("!BBHIIHHI", 1, 0, 20 + 4 + len(padded), 7, 65536, 1, 1, 9)
        chunk += struct.pack("!HH", 0x8008, 4 + len(padded)) + padded  # INIT with a parameter
        head = struct.pack("!HHI", *ports, 0)
        return head + struct.pack("<I", crc32c(head + b"\0\0\0\0" + chunk)) + chunk
    if protocol == DCCP:
        head = struct.pack("!HHBBHBBHI", *ports, 5, 0, 0, 1, 0, 1, 2) + struct.pack("!I", 42)
        total = checksum(pseudo(source, target, DCCP, len(head) + len(data)) + head + data)
        return head[:6] + struct.pack("!H", total) + head[8:] + data
    # The others have no ports; what looks like them is there all the same.
    return struct.pack("!HHHH", *ports, 8 + len(data), 0) + data


def icmp(source, target, kind, code, rest, data):
    head = struct.pack("!BBHI", kind, code, 0, rest)
    octets = head + data
    if is_ipv6(source):
        octets = pseudo(source, target, ICMPV6, len(octets)) + octets
    return head[:2] + struct.pack("!H", checksum(octets)) + head[4:] + data


def extension(kind, following):
    """An IPv6 extension header that says nothing, in front of the protocol `following`."""
    if kind == AH:
        return struct.pack("!BBHII", following, 4, 0, 1, 1) + b"\0" * 12
    if kind == ROUTING:
        return struct.pack("!BBBBI", following, 0, 253, 0, 0)  # no segments left
    return struct.pack("!BB", following, 0) + b"\1\4\0\0\0\0"  # PadN


def ip(source, target, protocol, payload, options=b"", headers=(), fragment=None, ttl=64):
    """A packet. `options` of IPv4; `headers`: kinds of extension headers of IPv6 (of IPv4: AH alone);
    `fragment`: (identifier, first octet, more follow)."""
    first, chain = protocol, b""
    for kind in reversed(headers):
        chain = extension(kind, first) + chain
        first = kind
    if is_ipv6(source):
        if fragment:
            identifier, offset, more = fragment
            # What is in front of the fragment header is not fragmented; here there is nothing.
            chain = struct.pack("!BBHI", first, 0, offset | (1 if more else 0), identifier)
            first = FRAGMENT
            return struct.pack("!IHBB", 6 << 28, len(chain) + len(payload), first, ttl) + packed(
                source) + packed(target) + chain + payload
        body = chain + payload
        return struct.pack("!IHBB", 6 << 28, len(body), first, ttl) + packed(source) + packed(target) + body
    identifier, offset, more = fragment or (1, 0, False)
    body = chain + payload
    head = struct.pack("!BBHHHBBH", 0x45 + len(options) // 4, 0, 20 + len(options) + len(body), identifier,
                       (0x2000 if more else 0) | offset // 8, ttl, first, 0)
    head += packed(source) + packed(target) + options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def correct(packet):
    """Makes the checksum of a header without options right, if it is IPv4's."""
    if packet[0] >> 4 == 4 and len(packet) >= 20:
        packet[10:12] = b"\0\0"
        packet[10:12] = struct.pack("!H", checksum(bytes(packet[:(packet[0] & 15) * 4])))


def with_option(source, target, protocol, payload, data):
    """The packet with an option that nobody knows and everybody skips, which holds up to 12 octets of `data`."""
    data = data[:12].ljust(12, b"\0")
    if is_ipv6(source):
        return ip(source, target, DESTINATION, struct.pack("!BBBB", protocol, 1, 0x1E, 12) + data + payload)
    return ip(source, target, protocol, payload, options=b"\x9e\x0e" + data + b"\0\0")


def fragments(source, target, protocol, payload, at, identifier, headers=()):
    """The packet in two pieces, cut at `at` (a multiple of 8)."""
    first, chain = protocol, b""
    for kind in reversed(headers):
        chain = extension(kind, first) + chain
        first = kind
    whole = chain + payload
    at += len(chain)
    return [ip(source, target, first, whole[:at], fragment=(identifier, 0, True)),
            ip(source, target, first, whole[at:], fragment=(identifier, at, False))]


def ends_of(packet):
    """(source, target, protocol, source port, target port) of a packet without extension headers."""
    if packet[0] >> 4 == 4:
        size = (packet[0] & 15) * 4
        source, target, protocol = packet[12:16], packet[16:20], packet[9]
    else:
        size, source, target, protocol = 40, packet[8:24], packet[24:40], packet[6]
    ports = struct.unpack_from("!HH", packet, size) if len(packet) >= size + 4 else (0, 0)
    return (str(ipaddress.ip_address(source)), str(ipaddress.ip_address(target)), protocol, *ports)
