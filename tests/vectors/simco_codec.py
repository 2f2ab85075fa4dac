"""SIMCO messages (RFC 4540) to octets and back, written from the text of the RFC alone.

It shares nothing with the codec in simco/wire/: each checks the other through the vectors of this
folder. A message is a dictionary as README.md describes it. Standard library only.
"""
import ipaddress

HEADER_SIZE = 8  # figure 2
PAYLOAD_MAX = 65536 - HEADER_SIZE  # 8.7: a message has 65,536 octets at most
SECRET_MAX = 4096  # 4.3: challenge and token
OWNER_MAX = 255

REQUEST, POSITIVE, NEGATIVE, NOTIFICATION = 1, 2, 3, 4  # 4.2.1

SUB_TYPES = {  # 4.2.2
    0x01: "SE", 0x02: "SA", 0x03: "ST", 0x11: "PRR", 0x12: "PER", 0x13: "PEA", 0x14: "PDR",
    0x15: "PLC", 0x16: "PRD", 0x21: "PRS", 0x22: "PRL", 0x23: "PES", 0x24: "PDS",
}
REPLY_ONLY = {"PRD", "PES", "PDS"}
REQUEST_ONLY = {"PEA"}
NOTIFICATIONS = {0x01: "BFM", 0x02: "AST", 0x03: "ARE"}  # 4.2.4
NEGATIVE_REPLIES = {  # 4.2.3
    0x10: "wrong basic request message type",
    0x11: "wrong request message sub-type",
    0x12: "badly formed request",
    0x13: "reply message too big",
    0x20: "request not applicable",
    0x21: "lack of resources",
    0x22: "protocol version mismatch",
    0x23: "authentication failed",
    0x24: "no authorization",
    0x25: "transport protocol problem",
    0x26: "security of underlying protocol layers insufficient",
    0x40: "transaction not supported",
    0x41: "agent not authorized for this transaction",
    0x42: "no resources available for this transaction",
    0x43: "specified policy rule does not exist",
    0x44: "specified policy rule group does not exist",
    0x45: "not authorized for accessing specified policy",
    0x46: "not authorized for accessing specified group",
    0x47: "requested address space not available",
    0x48: "lack of IP addresses",
    0x49: "lack of port numbers",
    0x4A: "middlebox configuration failed",
    0x4B: "inconsistent request",
    0x4C: "requested wildcarding not supported",
    0x4D: "protocol type doesn't match",
    0x4E: "NAT mode not supported",
    0x4F: "IP version mismatch",
    0x50: "conflict with existing rule",
    0x51: "not authorized to change lifetime",
    0x52: "lifetime can't be extended",
    0x53: "illegal IP Address",
    0x54: "protocol type not supported",
    0x55: "illegal port number",
    0x56: "illegal number of subsequent ports (NOSP)",
    0x57: "already enable PID",
    0x58: "parity doesn't match",
}

ATTRIBUTES = {  # 4.3
    0x0001: "protocol version", 0x0002: "authentication challenge", 0x0003: "authentication token",
    0x0004: "middlebox capabilities", 0x0005: "policy rule identifier", 0x0006: "group identifier",
    0x0007: "policy rule lifetime", 0x0008: "policy rule owner", 0x0009: "address tuple",
    0x000A: "PRR parameter set", 0x000B: "PER parameter set",
}

FORM = {0: "full addresses", 1: "protocols only"}
IP_VERSION = {1: "IPv4", 2: "IPv6"}
LOCATION = {0: "internal", 1: "inside", 2: "outside", 3: "external"}
NAT_MODE = {1: "traditional", 2: "twice"}
PRR_PARITY = {0: "any", 1: "odd", 2: "even"}
PRR_IP_VERSION = {0: "any", 1: "IPv4", 2: "IPv6"}
PER_PARITY = {0: "any", 3: "same"}
DIRECTION = {1: "inbound", 2: "outbound", 3: "bi-directional"}

# 4.3.3, from the highest bit down: of the octet "MB type" and of the one behind it.
MB_TYPE = {0x80: "packet filter", 0x40: "NAT", 0x10: "PDR", 0x04: "twice NAT",
           0x02: "protocol translation", 0x01: "port translation"}
MB_FLAGS = {0x80: "internal address wildcards", 0x40: "external address wildcards",
            0x20: "port wildcards", 0x10: "persistent storage"}

# The figures of section 5: attributes in their order; "?" an optional one, "*" any number of them.
RULE = ["policy rule identifier", "group identifier"]
LIFETIME = "policy rule lifetime"
TUPLE = "address tuple"
FIGURES = {
    "SE request": ["protocol version", "authentication challenge?"],
    "SE positive reply": ["middlebox capabilities"],
    "SA positive reply": ["authentication challenge?", "authentication token?"],
    "SA request": ["authentication token?"],
    "ST request": [],
    "ST positive reply": [],
    "PRR request": ["PRR parameter set", LIFETIME, "group identifier?"],
    "PER request": ["PER parameter set", TUPLE, TUPLE, LIFETIME, "group identifier?"],
    "PEA request": ["PER parameter set", TUPLE, TUPLE, LIFETIME, "policy rule identifier"],
    "PLC request": ["policy rule identifier", LIFETIME],
    "PRS request": ["policy rule identifier"],
    "PRL request": [],
    "PDR request": [TUPLE, TUPLE, LIFETIME],
    "PRR positive reply": RULE + [LIFETIME, TUPLE, TUPLE + "?"],
    # 8.3.3: "The address tuple (inside) is only returned if the middlebox is a twice NAT".
    "PER positive reply": RULE + [LIFETIME, TUPLE, TUPLE + "?"],
    "PLC positive reply": [LIFETIME],
    "PRD positive reply": [],
    "PRS positive reply": RULE + [LIFETIME, TUPLE, TUPLE + "?", "policy rule owner"],
    "PES positive reply": RULE + ["PER parameter set", TUPLE, TUPLE, TUPLE, TUPLE, LIFETIME,
                                  "policy rule owner"],
    "PDS positive reply": ["policy rule identifier", TUPLE, TUPLE, LIFETIME, "policy rule owner"],
    "PRL positive reply": ["policy rule identifier*"],
    "PDR positive reply": ["policy rule identifier", LIFETIME],
    "BFM notification": [],
    "AST notification": [],
    "ARE notification": ["policy rule identifier", LIFETIME],
}


class FormatError(Exception):
    """Octets that are no message; `step` is the step of section 6 that finds it."""

    def __init__(self, step, reason):
        super().__init__(f"step {step}: {reason}")
        self.step = step


def key_of(table, value):
    """The number that `table` calls `value`."""
    for number, name in table.items():
        if name == value:
            return number
    raise ValueError(f"'{value}' is none of {', '.join(table.values())}")


def number(octets):
    return int.from_bytes(octets, "big")


def defined(table, value, what):
    if value not in table:
        raise FormatError(5, f"{what}: {value} is not defined")
    return table[value]


# --- Attributes (4.3): for each, its value to a dictionary and back --------------------------------


def sized(octets, size):
    if len(octets) != size:
        raise FormatError(5, f"an attribute of {len(octets)} octets instead of {size}")


def read_version(octets):
    sized(octets, 4)
    return {"major": octets[0], "minor": octets[1]}


def write_version(value):
    return bytes([value["major"], value["minor"], 0, 0])


def bounded(limit):
    def read(octets):
        if len(octets) > limit:
            raise FormatError(5, f"an attribute of more than {limit} octets")
        return {"value": octets.hex()}

    return read, lambda value: bytes.fromhex(value["value"])


def read_capabilities(octets):
    sized(octets, 8)
    for versions in (octets[1] >> 2 & 3, octets[1] & 3):
        if versions == 0:
            raise FormatError(5, "4.3.3 allows 1, 2 and 3 for IP versions, not 0")
    return {
        "middlebox_type": [name for bit, name in MB_TYPE.items() if octets[0] & bit],
        "flags": [name for bit, name in MB_FLAGS.items() if octets[1] & bit],
        "internal_ip_versions": octets[1] >> 2 & 3,
        "external_ip_versions": octets[1] & 3,
        "max_lifetime": number(octets[4:8]),
    }


def write_capabilities(value):
    kind = sum(key_of(MB_TYPE, name) for name in value["middlebox_type"])
    flags = sum(key_of(MB_FLAGS, name) for name in value["flags"])
    flags |= value["internal_ip_versions"] << 2 | value["external_ip_versions"]
    return bytes([kind, flags, 0, 0]) + value["max_lifetime"].to_bytes(4, "big")


def read_number(octets):
    sized(octets, 4)
    return {"value": number(octets)}


def write_number(value):
    return value["value"].to_bytes(4, "big")


def read_owner(octets):
    if len(octets) > OWNER_MAX:
        raise FormatError(5, f"an owner of more than {OWNER_MAX} octets")
    return {"value": octets.decode("latin-1")}


def write_owner(value):
    return value["value"].encode("latin-1")


def read_tuple(octets):
    if len(octets) < 4:
        raise FormatError(5, "an address tuple of less than 4 octets")
    form = defined(FORM, octets[0] >> 4, "form")
    version = octets[0] & 15
    # 8.2.2 has a reply repeat IPo, which may be "any".
    versions = IP_VERSION if form == "full addresses" else PRR_IP_VERSION
    result = {
        "form": form,
        "ip_version": defined(versions, version, "IP version"),
        "prefix_length": octets[1],
        "protocol": octets[2],
        "location": defined(LOCATION, octets[3], "location"),
    }
    if form == "protocols only":
        sized(octets, 4)
        return result
    sized(octets, 12 if version == 1 else 24)
    result["port"] = number(octets[4:6])
    result["port_range"] = number(octets[6:8])
    result["address"] = str(ipaddress.ip_address(octets[8:]))
    return result


def write_tuple(value):
    full = value["form"] == "full addresses"
    version = key_of(PRR_IP_VERSION, value["ip_version"])
    octets = bytes([key_of(FORM, value["form"]) << 4 | version, value["prefix_length"],
                    value["protocol"], key_of(LOCATION, value["location"])])
    if not full:
        return octets
    octets += value["port"].to_bytes(2, "big") + value["port_range"].to_bytes(2, "big")
    return octets + ipaddress.ip_address(value["address"]).packed


def read_prr(octets):
    sized(octets, 4)
    return {
        "nat_mode": defined(NAT_MODE, octets[0] >> 6, "NAT mode"),
        "parity": defined(PRR_PARITY, octets[0] >> 4 & 3, "port parity"),
        "inside_ip_version": defined(PRR_IP_VERSION, octets[0] >> 2 & 3, "inside IP version"),
        "outside_ip_version": defined(PRR_IP_VERSION, octets[0] & 3, "outside IP version"),
        "protocol": octets[1],
        "port_range": number(octets[2:4]),
    }


def write_prr(value):
    first = key_of(NAT_MODE, value["nat_mode"]) << 6 | key_of(PRR_PARITY, value["parity"]) << 4
    first |= key_of(PRR_IP_VERSION, value["inside_ip_version"]) << 2
    first |= key_of(PRR_IP_VERSION, value["outside_ip_version"])
    return bytes([first, value["protocol"]]) + value["port_range"].to_bytes(2, "big")


def read_per(octets):
    sized(octets, 4)
    return {"parity": defined(PER_PARITY, octets[0], "port parity"),
            "direction": defined(DIRECTION, octets[1], "direction")}


def write_per(value):
    return bytes([key_of(PER_PARITY, value["parity"]), key_of(DIRECTION, value["direction"]), 0, 0])


VALUES = {
    "protocol version": (read_version, write_version),
    "authentication challenge": bounded(SECRET_MAX),
    "authentication token": bounded(SECRET_MAX),
    "middlebox capabilities": (read_capabilities, write_capabilities),
    "policy rule identifier": (read_number, write_number),
    "group identifier": (read_number, write_number),
    "policy rule lifetime": (read_number, write_number),
    "policy rule owner": (read_owner, write_owner),
    "address tuple": (read_tuple, write_tuple),
    "PRR parameter set": (read_prr, write_prr),
    "PER parameter set": (read_per, write_per),
}


# --- Messages (4.2, 5) ------------------------------------------------------------------------------


def name_of(basic, sub):
    """What basic type and sub-type stand for; section 6, steps 3 and 4."""
    if basic in (REQUEST, POSITIVE):
        name = SUB_TYPES.get(sub)
        barred = REPLY_ONLY if basic == REQUEST else REQUEST_ONLY
        if name is None or name in barred:
            raise FormatError(4, f"sub-type 0x{sub:02x} is not defined for basic type {basic}")
        return name + (" request" if basic == REQUEST else " positive reply")
    if basic == NEGATIVE:
        if sub not in NEGATIVE_REPLIES:
            raise FormatError(4, f"negative reply 0x{sub:02x} is not defined")
        return "negative reply"
    if basic == NOTIFICATION:
        if sub not in NOTIFICATIONS:
            raise FormatError(4, f"notification 0x{sub:02x} is not defined")
        return NOTIFICATIONS[sub] + " notification"
    raise FormatError(3, f"basic type 0x{basic:02x} is not defined")


def types_of(message):
    name = message["message"]
    if name == "negative reply":
        return NEGATIVE, int(message["code"], 16) & 0xFF
    word, kind = name.split(" ", 1)
    if kind == "notification":
        return NOTIFICATION, key_of(NOTIFICATIONS, word)
    return (REQUEST if kind == "request" else POSITIVE), key_of(SUB_TYPES, word)


def figure_of(name, sub):
    if name != "negative reply":
        return FIGURES[name]
    return ["protocol version"] if sub == 0x22 else []  # figures 16, 22a, 22b and 39


def fits(names, figure):
    """Whether attributes called `names` are those of a figure. An optional attribute stands in front
    of another of its own kind nowhere, so that reading in order decides."""
    rest = list(names)
    for wanted in figure:
        kind = wanted.rstrip("?*")
        if wanted.endswith("*"):
            while rest and rest[0] == kind:
                rest.pop(0)
        elif rest and rest[0] == kind:
            rest.pop(0)
        elif not wanted.endswith("?"):
            return False
    return not rest


def read_attributes(payload):
    result = []
    while payload:
        if len(payload) < 4:
            raise FormatError(5, "the message ends inside an attribute's header")
        kind, size = number(payload[0:2]), number(payload[2:4])
        value, payload = payload[4:4 + size], payload[4 + size:]
        if len(value) != size:
            raise FormatError(5, "the message ends inside an attribute")
        if kind not in ATTRIBUTES:
            raise FormatError(5, f"attribute 0x{kind:04x} is not defined")
        result.append({"attribute": ATTRIBUTES[kind], **VALUES[ATTRIBUTES[kind]][0](value)})
    return result


def decode(octets):
    """The message that `octets` are, all of them; FormatError if they are none."""
    if len(octets) < HEADER_SIZE:
        raise FormatError(2, "no whole header")
    basic, sub, length = octets[0], octets[1], number(octets[2:4])
    if 0 < length < 4 or length > PAYLOAD_MAX:
        raise FormatError(1, f"no message has a length of {length}")
    if len(octets) > HEADER_SIZE + length:
        raise FormatError(1, "there are more octets than the header says")
    if len(octets) < HEADER_SIZE + length:
        raise FormatError(2, "there are fewer octets than the header says")
    name = name_of(basic, sub)
    attributes = read_attributes(octets[HEADER_SIZE:])
    if basic == REQUEST and any(one.get("ip_version") == "any" for one in attributes):
        raise FormatError(5, "IP version 0 is not defined")
    if not fits([one["attribute"] for one in attributes], figure_of(name, sub)):
        raise FormatError(5, f"these are not the attributes of: {name}")
    if name == "SA positive reply" and not attributes:
        raise FormatError(5, "5.2.3: at least one attribute must be present")
    message = {"message": name, "tid": number(octets[4:8]), "attributes": attributes}
    if basic == NEGATIVE:
        message["code"] = f"0x03{sub:02x}"
        message["meaning"] = NEGATIVE_REPLIES[sub]
    return message


def encode(message):
    """The octets of `message`: reserved bits 0, no padding."""
    basic, sub = types_of(message)
    payload = b""
    for attribute in message["attributes"]:
        name = attribute["attribute"]
        value = VALUES[name][1](attribute)
        payload += key_of(ATTRIBUTES, name).to_bytes(2, "big") + len(value).to_bytes(2, "big")
        payload += value
    return (bytes([basic, sub]) + len(payload).to_bytes(2, "big")
            + message["tid"].to_bytes(4, "big") + payload)
