"""Agents on the outside host: each asks for rules, one request at a time, and notes what it got and when."""
import dataclasses
import math
import random
import socket
import struct
import sys
import threading
import time

from .network import ROOT
from .operation import DELETE, ENABLE, EXTEND, OFF, ON, STORE_FAILS, Operation

sys.path.insert(0, str(ROOT / "tests/campaigns"))
from middlebox import address_tuple, change, codec, number, per, request, se, value_of  # noqa: E402

ADDRESS = ("192.0.2.1", 7626)
ANSWER = 4.0  # seconds until a request counts as unanswered
INTERNAL_PORT = 5004
NO_RULE = "0x0343"
RULES_MAX = 40  # of a run: each has a port that is probed


class Book:
    """What all agents of a run know together."""

    def __init__(self):
        self.lock = threading.Lock()
        self.operations = {}  # by PID
        self.lists = []  # (begin, end, PIDs)
        self.asked = {}  # by external port: [begin, end, lifetime, outcome, PID]
        self.pids = []  # that may live
        self.next_port = 20001
        self.counts = {"ok": 0, "refused": 0, "unknown": 0}
        self.refusals = {}

    def note(self, pid, operation):
        with self.lock:
            self.operations.setdefault(pid, []).append(operation)

    def count(self, outcome, code=None):
        with self.lock:
            self.counts[outcome] += 1
            if code is not None:
                self.refusals[code] = self.refusals.get(code, 0) + 1

    def new_port(self):
        with self.lock:
            if self.next_port > 20000 + RULES_MAX:
                return None
            self.next_port += 1
            return self.next_port - 1


class Lost(Exception):
    """No reply, and there will be none."""


class Session:
    def __init__(self, namespace):
        self.socket = namespace.socket()
        self.tid = 0
        # A reply that comes later than ANSWER is not read any longer; nor does a closed socket linger.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.settimeout(1.0)
        try:
            self.socket.connect(ADDRESS)
            self.socket.settimeout(ANSWER)
            if self.ask("SE", se())["message"] != "SE positive reply":
                raise Lost("no session")
        except (OSError, Lost) as why:
            self.socket.close()
            raise Lost(str(why)) from None

    def ask(self, kind, attributes=()):
        self.tid += 1
        try:
            self.socket.sendall(request(kind, self.tid, attributes))
            end = time.time() + ANSWER
            while time.time() < end:
                message = self.receive()
                if not message["message"].endswith("notification") and message["tid"] == self.tid:
                    return message
        except OSError as why:
            raise Lost(str(why)) from None
        raise Lost("no answer")

    def receive(self):
        head = self.octets(8)
        return codec.decode(head + self.octets(codec.number(head[2:4])))

    def octets(self, count):
        found = b""
        while len(found) < count:
            more = self.socket.recv(count - len(found))
            if not more:
                raise Lost("the connection ended")
            found += more
        return found

    def close(self):
        self.socket.close()


class Agent(threading.Thread):
    def __init__(self, namespace, book, seed, name):
        super().__init__(daemon=True)
        self.namespace, self.book, self.name = namespace, book, name
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.session = None
        self.crashed = None

    def run(self):
        try:
            while not self.stopping.is_set():
                self.step()
                self.stopping.wait(self.chance.uniform(0.03, 0.25))
        except Exception as why:  # for the run, which ends with it
            self.crashed = f"{type(why).__name__}: {why}"
        if self.session:
            self.session.close()

    def step(self):
        if self.session is None:
            try:
                self.session = Session(self.namespace)
            except Lost:
                return
        action = self.chance.choices((self.enable, self.extend, self.delete, self.list), (4, 3, 3, 3))[0]
        try:
            action()
        except Lost:
            self.book.count("unknown")
            self.session.close()
            self.session = None

    def enable(self):
        port = self.book.new_port()
        if port is None:
            return self.list()
        lifetime = self.chance.choice((600, 600, 600, 4, 7))
        asked = self.book.asked[port] = [time.time(), math.inf, lifetime, "unknown", None]
        reply = self.session.ask("PER", per(address_tuple("internal", "10.0.0.2", INTERNAL_PORT),
                                            address_tuple("external", "192.0.2.2", port), lifetime, "inbound"))
        now = time.time()
        if reply["message"] == "negative reply":
            asked[1], asked[3] = now, reply["code"]
            return self.book.count("refused", "PER " + reply["code"])
        pid = value_of(reply, "policy rule identifier")
        granted = value_of(reply, "policy rule lifetime")
        asked[1:] = [now, lifetime, "ok", pid]
        self.book.note(pid, Operation(ENABLE, asked[0], now, granted, port, self.name))
        self.book.count("ok")
        with self.book.lock:
            self.book.pids.append(pid)

    def extend(self):
        self.change(EXTEND, self.chance.choice((600, 900, 5)))

    def delete(self):
        self.change(DELETE, 0)

    def change(self, kind, lifetime):
        with self.book.lock:
            pids = list(self.book.pids)
        if not pids:
            return
        pid = self.chance.choice(pids[-8:] if self.chance.random() < 0.8 else pids)
        begin = time.time()
        try:
            reply = self.session.ask("PLC", change(pid, lifetime))
        except Lost:
            self.book.note(pid, Operation(kind, begin, math.inf, lifetime, None, self.name + ", no answer"))
            raise
        now = time.time()
        if reply["message"] == "negative reply":
            self.book.count("refused", f"{kind} {reply['code']}")
            if reply["code"] == STORE_FAILS:  # it may be stored all the same: SENTENCES["refused"]
                self.book.note(pid, Operation(kind, begin, math.inf, lifetime, None, f"{self.name}, {STORE_FAILS}"))
            if reply["code"] == NO_RULE:
                self.book.note(pid, Operation(OFF, begin, now, 0, None, f"{self.name}, {kind} refused"))
            return
        granted = value_of(reply, "policy rule lifetime") if kind == EXTEND else 0
        self.book.note(pid, Operation(kind, begin, now, granted, None, self.name))
        self.book.count("ok")
        if kind == DELETE and self.chance.random() < 0.7:  # sometimes it is asked about later
            with self.book.lock:
                if pid in self.book.pids:
                    self.book.pids.remove(pid)

    def list(self):
        begin = time.time()
        pids = pids_of(self.session.ask("PRL"))
        with self.book.lock:
            self.book.lists.append((begin, time.time(), pids, self.name))
        self.book.count("ok")


def pids_of(reply):
    return {one["value"] for one in reply["attributes"] if one["attribute"] == "policy rule identifier"}


def histories(book, passes, joined, settled, refused):
    """The operations by PID: lists and probes (port: times that passed) are observations of each rule.
    `joined` has the PIDs of ports whose enabling was not answered, and `settled` when it was done; `refused` has the ports, and
    the PIDs with their lifetimes, of requests that were refused as the store failed, though the reply may not have arrived."""
    by_pid = {pid: [dataclasses.replace(one, source=f"{one.source}, {STORE_FAILS}")
                    if one.kind == EXTEND and not one.certain and (pid, one.lifetime) in refused else one for one in operations]
              for pid, operations in book.operations.items()}
    for port, pid in joined.items():
        begin, end, lifetime, outcome, known = book.asked[port]
        if known is None:
            by_pid.setdefault(pid, []).append(
                Operation(ENABLE, begin, math.inf, lifetime, port, f"answer {outcome}"))
            if outcome == STORE_FAILS or port in refused:
                by_pid[pid].append(Operation(DELETE, begin, math.inf, 0, port, "taken back"))
    for _, _, pids, _ in book.lists:
        for pid in pids:
            by_pid.setdefault(pid, [])
    for pid, operations in by_pid.items():
        first = min((one.begin for one in operations if one.kind == ENABLE), default=-math.inf)
        for begin, end, pids, name in book.lists:
            if end >= first or pid in pids:
                operations.append(Operation(ON if pid in pids else OFF, begin, end, 0, None, f"{name}, list"))
        ports = {one.port for one in operations if one.kind == ENABLE}
        for port in ports:
            # Each box enforces a new rule at a moment of its own until the reply, also if the store fails then.
            asked = book.asked.get(port)
            since = asked[1] if asked and asked[3] in ("ok", STORE_FAILS) else settled.get(port, -math.inf)
            operations.extend(Operation(ON, sent, got, 0, port, "probe") for sent, got in passes.get(port, ())
                              if got >= since)
    return by_pid
