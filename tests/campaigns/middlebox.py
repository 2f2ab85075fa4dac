"""A middlebox as a campaign meets it: the program, and sessions over TCP. Standard library only; the
codec is that of tests/vectors, which shares nothing with the one under test."""
import hashlib
import hmac
import os
import re
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "vectors"))
import simco_codec as codec  # noqa: E402

# Nothing here waits longer than this for anything: a guard against hanging, far beyond what a slow
# machine needs.
PATIENCE = 60.0


class Fault(Exception):
    """The middlebox has done what it must not."""


class Program:
    """simco-middlebox, and its log. It says where it listens over TCP last of all."""

    def __init__(self, folder, words, binary):
        self.log_path = os.path.join(folder, "log")
        self.words = [binary, *words]
        self.process = None

    def start(self):
        """Starts it and returns its TCP port."""
        began = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stderr=log)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(self.log_path, "rb") as log:
                log.seek(began)
                found = re.search(rb"listening on tcp \S*?:(\d+)\n", log.read())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                raise Fault(f"it does not start: {self.last_line()}")
            time.sleep(0.005)
        raise Fault("it does not listen")

    def sctp_port(self):
        """The port that it said last."""
        with open(self.log_path, "rb") as log:
            return int(re.findall(rb"listening on sctp \S*?:(\d+)\n", log.read())[-1])

    def last_line(self):
        with open(self.log_path, errors="replace") as log:
            return (log.read().splitlines() or [""])[-1]

    def log_size(self):
        with open(self.log_path, "rb") as log:
            return log.read().count(b"\n")

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        """Kills it; a fault if it has ended by itself before."""
        code = self.process.poll()
        if code is not None:
            raise Fault(f"it ended by itself with {code}: {self.last_line()}")
        self.process.kill()
        self.process.wait()

    def stop(self):
        """In an orderly way; a fault if it does not end so."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        if code != 0:
            raise Fault(f"it ended with {code}: {self.last_line()}")

    def figure(self, name):
        """A number of /proc/PID/status, such as VmRSS (KiB)."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"^{name}:\s+(\d+)", status.read(), re.M)[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def address_tuple(location, address="", port=0, port_range=1, protocol=17, prefix=None):
    """An address tuple of IPv4 or IPv6; without an address one of protocols only."""
    if not address:
        return {"attribute": "address tuple", "form": "protocols only", "ip_version": "IPv4",
                "prefix_length": 0, "protocol": protocol, "location": location}
    v6 = ":" in address
    return {"attribute": "address tuple", "form": "full addresses",
            "ip_version": "IPv6" if v6 else "IPv4",
            "prefix_length": prefix if prefix is not None else (128 if v6 else 32),
            "protocol": protocol, "location": location, "port": port, "port_range": port_range,
            "address": address}


def number(name, value):
    return {"attribute": name, "value": value}


def per(internal, external, lifetime, direction="bi-directional"):
    return [{"attribute": "PER parameter set", "parity": "any", "direction": direction}, internal,
            external, number("policy rule lifetime", lifetime)]


def change(pid, lifetime):
    """The attributes of a PLC request."""
    return [number("policy rule identifier", pid), number("policy rule lifetime", lifetime)]


def se(challenge=None):
    attributes = [{"attribute": "protocol version", "major": 3, "minor": 0}]
    if challenge is not None:
        attributes.append({"attribute": "authentication challenge", "value": challenge.hex()})
    return attributes


def agent_token(name, secret, challenge):
    """doc/configuration.md, "Authentication"."""
    key = secret.encode()
    proof = hmac.new(key, b"simco-agent\0" + challenge + b"\0" + name.encode(), hashlib.sha256)
    return name.encode() + b"\0" + proof.digest()


def request(kind, tid, attributes=()):
    return codec.encode({"message": f"{kind} request", "tid": tid, "attributes": list(attributes)})


def value_of(message, name):
    for attribute in message["attributes"]:
        if attribute["attribute"] == name:
            return attribute["value"]
    raise Fault(f"no {name} in {message}")


class Session:
    """A connection of an agent. Calls block; one that gets nothing for PATIENCE is a fault."""

    def __init__(self, port, source="127.0.0.1", host="127.0.0.1"):
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((source, 0))
        self.socket.connect((host, port))
        self.pending = b""
        self.tid = 0

    def close(self):
        self.socket.close()

    def send(self, kind, attributes=()):
        """Sends a request and returns its TID."""
        self.tid += 1
        self.socket.sendall(request(kind, self.tid, attributes))
        return self.tid

    def receive(self):
        """The next message; None at the end of the connection."""
        while len(self.pending) < 8 or len(self.pending) < 8 + codec.number(self.pending[2:4]):
            try:
                more = self.socket.recv(65536)
            except socket.timeout:
                raise Fault(f"no answer within {PATIENCE:.0f} s") from None
            if not more:
                return None
            self.pending += more
        size = 8 + codec.number(self.pending[2:4])
        octets, self.pending = self.pending[:size], self.pending[size:]
        return codec.decode(octets)

    def reply(self):
        """The next reply; notifications before it are dropped."""
        while (message := self.receive()) is not None:
            if not message["message"].endswith("notification"):
                return message
        raise Fault("the connection ended before a reply")

    def ask(self, kind, attributes=()):
        """The reply; notifications before it are dropped."""
        tid = self.send(kind, attributes)
        message = self.reply()
        if message["tid"] != tid:
            raise Fault(f"a reply to {message['tid']} instead of {tid}")
        return message

    def open(self, name=None, secret=None):
        reply = self.ask("SE", se())
        if name is not None and reply["message"] == "SA positive reply":
            challenge = bytes.fromhex(value_of(reply, "authentication challenge"))
            token = agent_token(name, secret, challenge)
            reply = self.ask("SA", [number("authentication token", token.hex())])
        if reply["message"] != "SE positive reply":
            raise Fault(f"no session: {reply}")
        return self
