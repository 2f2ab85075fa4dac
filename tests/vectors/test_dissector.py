"""The dissector for Wireshark, run by tshark, against the vectors: it shows every field of every
message, whatever the transport, and takes none of them for malformed."""
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

import capture
import simco_codec as codec
import vectors

SCRIPT = vectors.FOLDER.parents[1] / "scripts" / "wireshark" / "simco.lua"
HANG_LIMIT_S = 300

# What the dissector adds to what is in the octets.
GENERATED = {"simco.message", "simco.request_in", "simco.reply_in", "simco.time"}
MARKS = {"simco.malformed", "simco.refused"}
OTHER_PORT = 5000  # no port of SIMCO's


def value_fields(attribute):
    """Name and value of each field of an attribute, in the order of the octets."""
    name = attribute["attribute"]
    key = {**attribute}.__getitem__
    if name == "protocol version":
        return [("version.major", key("major")), ("version.minor", key("minor"))]
    simple = {"authentication challenge": "challenge", "authentication token": "token",
              "policy rule owner": "owner", "policy rule identifier": "pid", "group identifier": "gid",
              "policy rule lifetime": "lifetime"}
    if name in simple:
        return [] if key("value") == "" else [(simple[name], key("value"))]
    if name == "middlebox capabilities":
        fields = {"packet filter": "packet_filter", "NAT": "nat", "PDR": "disable_rules", "twice NAT": "twice_nat",
                  "protocol translation": "protocol_translation", "port translation": "port_translation",
                  "internal address wildcards": "internal_wildcards",
                  "external address wildcards": "external_wildcards", "port wildcards": "port_wildcards",
                  "persistent storage": "persistent"}
        there = key("middlebox_type") + key("flags")
        result = [(field, int(word in there)) for word, field in fields.items()]
        result += [("internal_versions", key("internal_ip_versions")),
                   ("external_versions", key("external_ip_versions")), ("lifetime_max", key("max_lifetime"))]
        return [("capabilities." + field, value) for field, value in result]
    if name == "address tuple":
        result = [("form", codec.key_of(codec.FORM, key("form"))),
                  ("ip_version", codec.key_of(codec.PRR_IP_VERSION, key("ip_version"))),
                  ("prefix_length", key("prefix_length")), ("protocol", key("protocol")),
                  ("location", codec.key_of(codec.LOCATION, key("location")))]
        if key("form") == "full addresses":
            result += [("port", key("port")), ("port_range", key("port_range")),
                       (key("ip_version").lower(), key("address"))]
        return [("tuple." + field, value) for field, value in result]
    if name == "PRR parameter set":
        return [("prr.nat_mode", codec.key_of(codec.NAT_MODE, key("nat_mode"))),
                ("prr.parity", codec.key_of(codec.PRR_PARITY, key("parity"))),
                ("prr.inside_ip_version", codec.key_of(codec.PRR_IP_VERSION, key("inside_ip_version"))),
                ("prr.outside_ip_version", codec.key_of(codec.PRR_IP_VERSION, key("outside_ip_version"))),
                ("prr.protocol", key("protocol")), ("prr.port_range", key("port_range"))]
    return [("per.parity", codec.key_of(codec.PER_PARITY, key("parity"))),
            ("per.direction", codec.key_of(codec.DIRECTION, key("direction")))]


def expected_fields(message, octets):
    basic, sub = codec.types_of(message)
    fields = [("basic_type", basic), ("sub_type", sub), ("length", len(octets) - codec.HEADER_SIZE),
              ("tid", message["tid"])]
    payload = octets[codec.HEADER_SIZE:]
    for attribute in message["attributes"]:
        length = codec.number(payload[2:4])
        fields += [("attribute", codec.key_of(codec.ATTRIBUTES, attribute["attribute"])), ("attribute.length", length)]
        fields += value_fields(attribute)
        payload = payload[4 + length:]
    return [("simco." + name, value) for name, value in fields]


def shown(element, like):
    """What the dissector shows, as a value of the kind that is expected."""
    text = element.get("show")
    if isinstance(like, int):
        return {"True": 1, "False": 0}[text] if text in ("True", "False") else int(text, 0)
    return text.replace(":", "") if element.get("name") in ("simco.challenge", "simco.token") else text


class Dissector(unittest.TestCase):
    def dissect(self, packets):
        """The elements with SIMCO's names of each packet, in their order."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "vectors.pcap"
            capture.write(file, packets)
            # As root, Wireshark 4.4 takes no such script; in there it does not know that it is.
            run = subprocess.run(
                ["unshare", "--user", "tshark", "-n", "-r", file, "-X", f"lua_script:{SCRIPT}", "-T", "pdml"],
                capture_output=True, timeout=HANG_LIMIT_S, env={**os.environ, "HOME": folder})
        errors = run.stderr.decode()
        self.assertEqual(run.returncode, 0, errors)
        self.assertNotIn("Lua", errors)
        frames = xml.fromstring(run.stdout).findall("packet")
        self.assertEqual(len(frames), len(packets))
        return [[one for one in frame.iter("field") if one.get("name", "").startswith("simco.")]
                for frame in frames]

    def check(self, all_vectors, packet_of):
        packets = [packet_of(number, vectors.octets_of(vector), vector["from"] == "agent")
                   for number, (_, vector) in enumerate(all_vectors)]
        for (name, vector), elements in zip(all_vectors, self.dissect(packets)):
            with self.subTest(name):
                expected = expected_fields(vector["message"], vectors.octets_of(vector))
                fields = [one for one in elements if one.get("name") not in GENERATED | MARKS]
                self.assertEqual([one.get("name") for one in fields], [name for name, _ in expected])
                self.assertEqual([shown(one, like) for one, (_, like) in zip(fields, expected)],
                                 [value for _, value in expected])
                marks = {one.get("name") for one in elements} & MARKS
                refused = vector["message"]["message"] == "negative reply"
                self.assertEqual(marks, {"simco.refused"} if refused else set())

    def test_every_message_over_tcp(self):
        self.check(list(vectors.every_message()), capture.over_tcp)

    def test_every_message_over_sctp_by_its_payload_protocol(self):
        """IANA's identifier is enough, whatever the port; so is the port, whatever the identifier."""
        for port, identifier in ((OTHER_PORT, capture.SIMCO_PAYLOAD_PROTOCOL), (capture.SIMCO_PORT, 0),
                                 (capture.SIMCO_PORT, capture.SIMCO_PAYLOAD_PROTOCOL)):
            self.check(list(vectors.every_message()),
                       lambda number, octets, from_agent: capture.over_sctp(
                           number, octets, from_agent, port, identifier))

    def test_other_payload_protocols_at_other_ports_are_left_alone(self):
        octets = vectors.octets_of(vectors.messages()[0])
        self.assertEqual(self.dissect([capture.over_sctp(0, octets, True, OTHER_PORT, 16)]), [[]])

    def test_malformed_ones_are_dissected_without_an_error(self):
        """None makes the dissector fail, and of each it shows the header where there is one."""
        all_vectors = [one for one in vectors.malformed() if one["step"] >= 3]
        packets = [capture.over_sctp(number, vectors.octets_of(one), one["from"] == "agent", OTHER_PORT,
                                     capture.SIMCO_PAYLOAD_PROTOCOL) for number, one in enumerate(all_vectors)]
        for vector, elements in zip(all_vectors, self.dissect(packets)):
            with self.subTest(vector["name"]):
                names = [one.get("name") for one in elements]
                self.assertIn("simco.tid", names)
                if vector["step"] < 5:  # no such message
                    self.assertIn("simco.malformed", names)
