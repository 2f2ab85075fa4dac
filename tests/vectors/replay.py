"""Plays a transcript (README.md) to a simco-middlebox of its own and compares what comes back, octet
for octet."""
import hashlib
import hmac
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading

import simco_codec as codec
import vectors

HANG_LIMIT_S = 120  # for a middlebox that hangs, not for a machine that is slow
IDENTIFIERS = ("policy rule identifier", "group identifier")  # begin at a random number; at 1 in transcripts
STATE_ATTRIBUTES = ("policy rule lifetime",)  # "may_differ": counts down meanwhile


class Mismatch(AssertionError):
    """What the middlebox sent is not what the transcript has."""


def agent_token(name, secret, challenge):
    """What an agent proves itself with (README.md, "Authentication")."""
    name = name.encode()
    proof = hmac.new(secret.encode(), b"simco-agent\0" + challenge + b"\0" + name, hashlib.sha256)
    return name + b"\0" + proof.digest()


def challenge_of(message):
    for attribute in message["attributes"]:
        if attribute["attribute"] == "authentication challenge":
            return bytes.fromhex(attribute["value"])
    return None


class Middlebox:
    """A simco-middlebox on a free port of the loopback address, for a `with`."""

    def __init__(self, program, configuration):
        self.program, self.configuration = program, configuration

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        file = pathlib.Path(self.folder.name) / "middlebox.toml"
        file.write_text("\n".join(self.configuration) + "\n")
        self.process = subprocess.Popen(
            [self.program, "--config", file, "--listen", "127.0.0.1", "--port", "0"],
            stderr=subprocess.PIPE, text=True)
        heard = ""
        for line in self.process.stderr:
            heard += line
            if found := re.search(r"listening on tcp .*:(\d+)", line):
                self.port = int(found.group(1))
                # Read on, so that the log never waits for us.
                self.reader = threading.Thread(target=self.process.stderr.read)
                self.reader.start()
                return self
        self.process.wait()
        self.process.stderr.close()
        self.folder.cleanup()
        raise AssertionError("the middlebox does not start: " + heard)

    def __exit__(self, failure, *_):
        self.stop()
        try:
            code = self.process.wait(HANG_LIMIT_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stderr.close()
            self.folder.cleanup()
        if code != 0 and failure is None:
            raise AssertionError(f"the middlebox ends with {code}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)


class Session:
    """An agent's connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=HANG_LIMIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.challenge = None  # what the middlebox really asked, and what the transcript has
        self.written_challenge = None
        self.at_end = False

    def read(self, size):
        result = b""
        while len(result) < size:
            try:
                piece = self.socket.recv(size - len(result))
            except ConnectionResetError:
                piece = b""
            if not piece:
                break
            result += piece
        return result

    def receive(self):
        """The octets of the next message, or none at the end of the connection."""
        header = self.read(codec.HEADER_SIZE)
        if len(header) < codec.HEADER_SIZE:
            return header
        return header + self.read(codec.number(header[2:4]))

    def send(self, octets):
        self.socket.sendall(octets)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def finish(self):
        """What comes unasked for until the middlebox closes, too."""
        if not self.at_end:
            self.socket.shutdown(socket.SHUT_WR)
        return self.read(1 << 20)


class Replay:
    def __init__(self, middlebox):
        self.middlebox = middlebox
        self.sessions = {}
        self.ids_ahead = None  # of the transcript's

    def session(self, number):
        if number not in self.sessions:
            self.sessions[number] = Session(self.middlebox.port)
        return self.sessions[number]

    def play(self, steps):
        try:
            for number, step in enumerate(steps, 1):
                try:
                    self.step(step)
                except Mismatch as error:
                    raise Mismatch(f"step {number}: {error}") from None
            for number, session in self.sessions.items():
                rest = session.finish()
                if rest:
                    raise Mismatch(f"session {number} gets more than the transcript has: {rest.hex()}")
        finally:
            for session in self.sessions.values():
                session.socket.close()

    def step(self, step):
        if step.get("event") == "the middlebox stops":
            return self.middlebox.stop()
        session = self.session(step["session"])
        if "rules" in step:
            return self.make_rules(session, step["rules"])
        if "closed" in step:
            if session.receive():
                raise Mismatch("the connection goes on")
            session.at_end = True
        elif step["from"] == "agent":
            session.send(self.adapted(session, step))
        else:
            self.compare(session, step)

    def adapted(self, session, step):
        """The octets of an agent's step; a token is made anew for the challenge that really came."""
        if "proof" not in step:
            return self.with_real_ids(vectors.octets_of(step))
        proof = step["proof"]
        message = codec.decode(vectors.octets_of(step))
        (token,) = message["attributes"]
        if agent_token(proof["name"], proof["secret"], session.written_challenge).hex() == token["value"]:
            token["value"] = agent_token(proof["name"], proof["secret"], session.challenge).hex()
        return codec.encode(message)

    def with_real_ids(self, octets):
        try:
            message = codec.decode(octets)
        except codec.FormatError:
            return octets
        if not self.ids_ahead or not self.shift_ids(message, self.ids_ahead):
            return octets
        return codec.encode(message)

    @staticmethod
    def shift_ids(message, by):
        """Returns how many there are."""
        ids = [one for one in message["attributes"] if one["attribute"] in IDENTIFIERS]
        for one in ids:
            one["value"] = (one["value"] + by) % 2**32
        return len(ids)

    def note_ids(self, message, first):
        for one in message["attributes"]:
            if self.ids_ahead is None and one["attribute"] in IDENTIFIERS:
                self.ids_ahead = one["value"] - first

    def compare(self, session, step):
        expected, received = vectors.octets_of(step), session.receive()
        if not received:
            raise Mismatch("the middlebox closes the connection instead of: " + expected.hex())
        written, message = codec.decode(expected), codec.decode(received)
        if message["message"] == written["message"]:
            for one in written["attributes"]:
                if one["attribute"] in IDENTIFIERS:
                    self.note_ids(message, one["value"])
        if self.ids_ahead and self.shift_ids(message, -self.ids_ahead):
            received = codec.encode(message)
        session.written_challenge = challenge_of(written) or session.written_challenge
        session.challenge = challenge_of(message) or session.challenge
        if message["message"] == written["message"]:
            received = codec.encode(self.with_what_may_differ(message, written, step.get("may_differ", [])))
        if received != expected:
            raise Mismatch(f"received {received.hex()} instead of {expected.hex()}")

    @staticmethod
    def with_what_may_differ(message, written, names):
        """`message` with those attributes as they are written, if they may be as they are."""
        for one, other in zip(message["attributes"], written["attributes"]):
            if one["attribute"] != other["attribute"] or one["attribute"] not in names:
                continue
            if one["attribute"] in STATE_ATTRIBUTES:
                if not 0 < one["value"] <= other["value"]:
                    raise Mismatch(f"a remaining lifetime of {one['value']} s of {other['value']} s")
            elif len(one["value"]) != len(other["value"]):
                raise Mismatch(f"{one['attribute']}: {one['value']}")
            one["value"] = other["value"]
        return message

    def make_rules(self, session, count):
        """So many rules, by PER requests that are like each other but for the internal port."""
        for number in range(1, count + 1):
            ends = [("internal", "10.0.0.5", number), ("external", "192.0.2.7", 6000)]
            tuples = [{"attribute": "address tuple", "form": "full addresses", "ip_version": "IPv4",
                       "prefix_length": 32, "protocol": 17, "location": location, "port": port,
                       "port_range": 1, "address": address} for location, address, port in ends]
            session.send(codec.encode({"message": "PER request", "tid": 0x10000 + number, "attributes": [
                {"attribute": "PER parameter set", "parity": "any", "direction": "inbound"}, *tuples,
                {"attribute": "policy rule lifetime", "value": 600}]}))
            reply = codec.decode(session.receive())
            self.note_ids(reply, number)
            if reply["message"] != "PER positive reply":
                raise Mismatch(f"rule {number}: {reply}")
