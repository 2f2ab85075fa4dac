"""The codec that was written from the RFC alone, against the vectors."""
import unittest

import simco_codec as codec
import vectors
from simco_conformance.middlebox import agent_token, challenge_of


class Codec(unittest.TestCase):
    def test_every_message_both_ways(self):
        seen = set()
        for name, vector in vectors.every_message():
            with self.subTest(name):
                octets = vectors.octets_of(vector)
                message = codec.decode(octets)
                self.assertEqual(message, vector["message"])
                again = codec.encode(message)
                if vector.get("reserved_bits_set"):
                    self.assertNotEqual(again, octets)
                    self.assertEqual(codec.decode(again), message)
                else:
                    self.assertEqual(again.hex(), octets.hex())
                seen.add(message.get("code", message["message"]))
        codes = {f"0x03{code:02x}" for code in codec.NEGATIVE_REPLIES}
        self.assertEqual(seen, codes | set(codec.FIGURES))

    def test_every_attribute_with_and_without(self):
        """Each figure's optional attributes are there in one vector and missing in another."""
        seen = {}
        for _, vector in vectors.every_message():
            message = vector["message"]
            names = [one["attribute"] for one in message["attributes"]]
            seen.setdefault(message["message"], set()).add(tuple(names))
        for name, figure in codec.FIGURES.items():
            optional = sum(one.endswith(("?", "*")) for one in figure)
            with self.subTest(name):
                self.assertGreaterEqual(len(seen[name]), 1 + optional)

    def test_malformed_ones_are_refused_at_their_step(self):
        for vector in vectors.malformed():
            with self.subTest(vector["name"]):
                with self.assertRaises(codec.FormatError) as caught:
                    codec.decode(vectors.octets_of(vector))
                self.assertEqual(caught.exception.step, vector["step"])

    def test_every_truncation_is_malformed(self):
        for name, vector in vectors.every_message():
            octets = vectors.octets_of(vector)
            for size in range(min(len(octets), 128)):
                with self.subTest(name, size=size):
                    with self.assertRaises(codec.FormatError) as caught:
                        codec.decode(octets[:size])
                    self.assertEqual(caught.exception.step, 2)

class Transcripts(unittest.TestCase):
    def test_every_negative_reply_has_one(self):
        seen = {step["message"]["code"] for _, transcript in vectors.transcripts()
                for step in transcript["steps"] if "code" in step.get("message", {})}
        self.assertEqual(seen, {f"0x03{code:02x}" for code in codec.NEGATIVE_REPLIES})

    def test_proofs_are_what_they_say(self):
        for name, transcript in vectors.transcripts():
            challenges = {}
            for step in transcript["steps"]:
                if "message" not in step:
                    continue
                challenge = challenge_of(step["message"])
                if challenge and step["from"] == "middlebox":
                    challenges[step["session"]] = challenge
                if "proof" in step:
                    with self.subTest(name):
                        token = agent_token(step["proof"]["name"], step["proof"]["secret"], challenges[step["session"]])
                        self.assertEqual(step["message"]["attributes"][0]["value"], token.hex())
