"""Each transcript against a real middlebox: what it sends is what the transcript has.

    SIMCO_MIDDLEBOX=build/release/bin/simco-middlebox python3 -m unittest test_replay
"""
import os
import unittest

import replay
import simco_codec as codec
import vectors

PROGRAM = os.environ["SIMCO_MIDDLEBOX"]
OPEN = {"message": "SE request", "tid": 1,
        "attributes": [{"attribute": "protocol version", "major": 3, "minor": 0}]}
LIST = {"message": "PRL request", "tid": 2, "attributes": []}
ANSWERS = {3: 0x10, 4: 0x11, 5: 0x12}  # section 6: the sub-type of the negative reply to a step


class Transcripts(unittest.TestCase):
    def test_all(self):
        for name, transcript in vectors.transcripts():
            if not transcript["replay"]:
                continue
            with self.subTest(name), replay.Middlebox(PROGRAM, transcript["configuration"]) as middlebox:
                replay.Replay(middlebox).play(transcript["steps"])

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
                challenge = replay.challenge_of(step["message"])
                if challenge and step["from"] == "middlebox":
                    challenges[step["session"]] = challenge
                if "proof" in step:
                    with self.subTest(name):
                        token = replay.agent_token(step["proof"]["name"], step["proof"]["secret"],
                                                   challenges[step["session"]])
                        self.assertEqual(step["message"]["attributes"][0]["value"], token.hex())


class Malformed(unittest.TestCase):
    """What an agent must not send, in an open session and before there is one (section 6)."""

    def each(self, wanted, opened, check):
        """Has each vector checked that is `wanted`, on a connection in which a session is open or not."""
        with replay.Middlebox(PROGRAM, []) as middlebox:
            for vector in vectors.malformed():
                octets = vectors.octets_of(vector)
                if vector["from"] != "agent" or not wanted(vector["step"], octets):
                    continue
                with self.subTest(vector["name"], opened=opened), replay.Session(middlebox.port) as session:
                    if opened:
                        session.send(codec.encode(OPEN))
                        session.receive()
                    check(vector["step"], octets, session)

    @staticmethod
    def refusable(step, _):
        return step in ANSWERS

    @staticmethod
    def inconsistent(step, octets):
        """The header alone says so; over TCP, octets behind a message are the next one."""
        return step == 1 and codec.number(octets[2:4]) != 0

    @staticmethod
    def name_of(octets):
        return codec.decode(octets)["message"]

    def test_in_an_open_session(self):
        def check(step, octets, session):
            session.send(octets)
            refused = bytes([codec.NEGATIVE, ANSWERS[step], 0, 0]) + octets[4:8]
            self.assertEqual(session.receive().hex(), refused.hex())
            session.send(codec.encode(LIST))  # the session goes on
            self.assertEqual(self.name_of(session.receive()), "PRL positive reply")
            self.assertEqual(session.finish(), b"")

        self.each(self.refusable, True, check)

    def test_before_a_session(self):
        def check(step, octets, session):
            session.send(octets)
            # Sub-types other than SE are refused before the attributes are looked at (step 4).
            sub_type = ANSWERS[4] if step == 5 and octets[1] != 1 else ANSWERS[step]
            refused = bytes([codec.NEGATIVE, sub_type, 0, 0]) + octets[4:8]
            self.assertEqual(session.receive().hex(), refused.hex())
            self.assertEqual(session.receive(), b"")

        self.each(self.refusable, False, check)

    def test_inconsistent_headers(self):
        for opened in (True, False):
            def check(_, octets, session):
                session.send(octets[:codec.HEADER_SIZE])
                names = [self.name_of(session.receive()) for _ in range(1 + opened)]
                self.assertEqual(names, ["BFM notification", "AST notification"][:1 + opened])
                self.assertEqual(session.receive(), b"")

            self.each(self.inconsistent, opened, check)
