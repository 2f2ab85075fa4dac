"""Cases for a middlebox: the transcripts of tests/vectors, and octets that are not a message (section 6)."""

import contextlib
import hashlib
import hmac
from dataclasses import dataclass

import simco_codec as codec
import vectors

from .expect import IDENTIFIERS, Identifiers, compare
from .programs import Running, Started
from .report import Result
from .wire import Failed, connect

OPEN = {"message": "SE request", "tid": 1, "attributes": [{"attribute": "protocol version", "major": 3, "minor": 0}]}
LIST = {"message": "PRL request", "tid": 2, "attributes": []}
REFUSALS = {3: 0x10, 4: 0x11, 5: 0x12}  # section 6: the sub-type of the negative reply to each step
SESSION = "With a session, it goes on; without one, the connection is closed behind the reply."
HEADER = "BFM, in a session also AST, and the connection is closed."


@dataclass(frozen=True)
class Target:
    """What is tested: a middlebox that runs at (host, port), or one that `start` starts for each case."""

    address: tuple | None
    start: str | None
    transport: str
    strict: bool
    certificate: str | None = None

    def running(self, configuration):
        return Started(self.start, configuration, self.connect) if self.start else Running(*self.address)

    def connect(self, middlebox):
        return connect(middlebox.host, middlebox.port, self.transport, self.certificate)


# --- Transcripts ------------------------------------------------------------------------------------


def agent_token(name, secret, challenge):
    """Returns what an agent proves itself with: as doc/configuration.md has it, for the RFC leaves it open."""
    name = name.encode()
    return name + b"\0" + hmac.new(secret.encode(), b"simco-agent\0" + challenge + b"\0" + name, hashlib.sha256).digest()


def challenge_of(message):
    for one in message["attributes"]:
        if one["attribute"] == "authentication challenge":
            return bytes.fromhex(one["value"])
    return None


class Replay:
    """Plays a transcript's agents."""

    def __init__(self, target, middlebox):
        self.target, self.middlebox = target, middlebox
        self.connections, self.challenges = {}, {}  # by session; (written, real)
        self.identifiers, self.closed = Identifiers(), set()

    def play(self, steps):
        try:
            for number, step in enumerate(steps, 1):
                try:
                    self.step(step)
                except Failed as error:
                    raise Failed(f"step {number}: {error}") from None
            for number, connection in self.connections.items():
                rest = b"" if number in self.closed else connection.finish()
                if rest and not self.is_notification(rest):
                    raise Failed(f"session {number} gets more than it must: {rest.hex()}")
        finally:
            for connection in self.connections.values():
                connection.socket.close()
            if not self.target.start:
                self.tidy()

    def tidy(self):
        """Ends the rules of this case, so that the next one finds the middlebox as it was. A fault is the case's own."""
        with contextlib.suppress(Failed, OSError), self.target.connect(self.middlebox) as connection:
            connection.send(codec.encode(OPEN))
            connection.receive()
            for tid, ((kind, _), pid) in enumerate(self.identifiers.real.items(), 2):
                if kind != "policy rule identifier":
                    continue
                connection.send(codec.encode({"message": "PLC request", "tid": tid, "attributes": [
                    {"attribute": kind, "value": pid}, {"attribute": "policy rule lifetime", "value": 0}]}))
                connection.receive()

    def is_notification(self, octets):
        """A middlebox may say AST to those that leave without a word."""
        return not self.target.strict and octets[0] == codec.NOTIFICATION

    def step(self, step):
        if "event" in step:
            return self.middlebox.stop()
        number = step["session"]
        if number not in self.connections:
            self.connections[number] = self.target.connect(self.middlebox)
        connection = self.connections[number]
        if "rules" in step:
            return self.make_rules(connection, step["rules"])
        if "closed" in step:
            if rest := connection.receive():
                raise Failed(f"the connection goes on with {rest.hex()}")
            self.closed.add(number)
        elif step["from"] == "agent":
            connection.send(self.octets_of(step, number))
        else:
            real = compare(connection.receive(), step, self.identifiers, self.target.strict)
            if challenge := challenge_of(real):
                self.challenges[number] = challenge_of(step["message"]), challenge

    def octets_of(self, step, session):
        """Returns the octets of an agent's step, with the identifiers and the challenge that the middlebox chose."""
        octets = vectors.octets_of(step)
        if "message" not in step:
            return octets
        message = codec.decode(octets)
        for one in message["attributes"]:
            if one["attribute"] in IDENTIFIERS:
                one["value"] = self.identifiers.of(one["attribute"], one["value"])
        if "proof" in step:
            proof, (token,), (written, real) = step["proof"], message["attributes"], self.challenges[session]
            if agent_token(proof["name"], proof["secret"], written).hex() == token["value"]:  # else it is a wrong one
                token["value"] = agent_token(proof["name"], proof["secret"], real).hex()
        return codec.encode(message)

    def make_rules(self, connection, count):
        """Makes so many rules, by PER requests that differ in the internal port only."""
        for number in range(1, count + 1):
            ends = [("internal", "10.0.0.5", number), ("external", "192.0.2.7", 6000)]
            tuples = [{"attribute": "address tuple", "form": "full addresses", "ip_version": "IPv4", "prefix_length": 32, "protocol": 17,
                       "location": location, "port": port, "port_range": 1, "address": address} for location, address, port in ends]
            connection.send(codec.encode({"message": "PER request", "tid": 0x10000 + number, "attributes": [
                {"attribute": "PER parameter set", "parity": "any", "direction": "inbound"}, *tuples,
                {"attribute": "policy rule lifetime", "value": 600}]}))
            reply = codec.decode(connection.receive())
            if reply["message"] != "PER positive reply":
                raise Failed(f"rule {number}: {reply['message']}")
            for one in reply["attributes"]:
                if one["attribute"] in IDENTIFIERS:
                    self.identifiers.learn(one["attribute"], number, one["value"])


def transcript_case(target, name, transcript):
    about = Result(transcript["section"], name, transcript["what"])
    if not transcript["replay"]:
        return about, transcript["why_not"]
    needs_start = transcript["configuration"] or any("event" in step for step in transcript["steps"])
    if needs_start and not target.start:
        return about, f"it needs --start: {transcript['state']}"

    def run():
        with target.running(transcript["configuration"]) as middlebox:
            Replay(target, middlebox).play(transcript["steps"])

    return about, run


# --- Section 6 --------------------------------------------------------------------------------------


def refused(target, step, octets, opened):
    """Steps 3 to 5: a negative reply."""
    with target.running([]) as middlebox, target.connect(middlebox) as connection:
        if opened:
            connection.send(codec.encode(OPEN))
            connection.receive()
        connection.send(octets)
        # Without a session, sub-types other than SE are refused before the attributes are looked at (step 4).
        sub_type = REFUSALS[4] if step == 5 and octets[1] != 1 and not opened else REFUSALS[step]
        expect(connection, bytes([codec.NEGATIVE, sub_type, 0, 0]) + octets[4:8])
        if not opened:
            return expect(connection, b"")
        connection.send(codec.encode(LIST))
        expect_name(connection, "PRL positive reply")


def inconsistent(target, octets, opened):
    """Step 1: BFM, and AST in a session."""
    with target.running([]) as middlebox, target.connect(middlebox) as connection:
        if opened:
            connection.send(codec.encode(OPEN))
            connection.receive()
        connection.send(octets[:codec.HEADER_SIZE] if target.transport != "sctp" else octets)
        expect_name(connection, "BFM notification")
        if opened:
            expect_name(connection, "AST notification")
        expect(connection, b"")


def expect(connection, wanted):
    if (got := connection.receive()) != wanted:
        raise Failed(f"{got.hex() or 'the connection is closed'} instead of {wanted.hex() or 'the end of the connection'}")


def expect_name(connection, wanted):
    got = connection.receive()
    try:
        name = codec.decode(got)["message"] if got else "the end of the connection"
    except codec.FormatError:
        name = got.hex()
    if name != wanted:
        raise Failed(f"{name} instead of {wanted}")


def malformed_cases(target):
    for vector in vectors.malformed():
        octets, step = vectors.octets_of(vector), vector["step"]
        # Over a stream, octets behind a message are the next one.
        header = step == 1 and (codec.number(octets[2:4]) != 0 or target.transport == "sctp")
        if vector["from"] != "agent" or not (header or step in REFUSALS):
            continue
        for opened in (True, False):
            about = Result("6", f"{vector['name']}-{'in' if opened else 'without'}-session", f"{vector['what']}. {HEADER if header else SESSION}")
            yield about, (lambda step=step, octets=octets, opened=opened, header=header:
                          inconsistent(target, octets, opened) if header else refused(target, step, octets, opened))


def cases(target):
    """Yields (Result without an outcome, what runs the case, or why it is skipped)."""
    for name, transcript in vectors.transcripts():
        yield transcript_case(target, name, transcript)
    yield from malformed_cases(target)
