"""Cases for an agent: a command that enables a rule, and a middlebox that this program plays to it."""

import socket
import subprocess
import threading

import simco_codec as codec
import vectors

from .expect import describe
from .report import Result
from .programs import filled
from .wire import Connection, Failed, Patience

CAPABILITIES = {"attribute": "middlebox capabilities", "middlebox_type": ["packet filter", "PDR"],
                "flags": ["internal address wildcards", "external address wildcards", "port wildcards"],
                "internal_ip_versions": 3, "external_ip_versions": 3, "max_lifetime": 3600}
PID, GID = {"attribute": "policy rule identifier", "value": 77}, {"attribute": "group identifier", "value": 78}
NOTICE = {"message": "ARE notification", "tid": 9, "attributes": [PID, {"attribute": "policy rule lifetime", "value": 0}]}
GRANTED_S = 5  # less than an agent asks for


def positive(request):
    """Returns a firewall's positive reply to a request."""
    name, tid = request["message"].removesuffix(" request"), request["tid"]
    tuples = [one for one in request["attributes"] if one["attribute"] == "address tuple"]
    if name == "SE":
        return {"message": "SE positive reply", "tid": tid, "attributes": [CAPABILITIES]}
    if name == "PER":  # 8.3.2: outside is the internal tuple, inside the external one
        swapped = [{**tuples[0], "location": "outside"}, {**tuples[1], "location": "inside"}]
        return {"message": "PER positive reply", "tid": tid,
                "attributes": [PID, GID, {"attribute": "policy rule lifetime", "value": GRANTED_S}, *swapped]}
    if name == "PLC":
        wanted = next(one["value"] for one in request["attributes"] if one["attribute"] == "policy rule lifetime")
        gone = {"message": "PRD positive reply", "tid": tid, "attributes": []}
        return gone if wanted == 0 else {"message": "PLC positive reply", "tid": tid,
                                         "attributes": [{"attribute": "policy rule lifetime", "value": min(wanted, GRANTED_S)}]}
    if name == "ST":
        return {"message": "ST positive reply", "tid": tid, "attributes": []}
    return negative(request, 0x40)


def negative(request, code):
    attributes = [{"attribute": "protocol version", "major": 3, "minor": 0}] if code == 0x22 else []
    return {"message": "negative reply", "code": f"0x03{code:02x}", "meaning": codec.NEGATIVE_REPLIES[code], "tid": request["tid"],
            "attributes": attributes}


class Played:
    """A middlebox with one listener, for a `with`. `answer` is called with the request, and yields the octets to send; None closes."""

    def __init__(self, answer):
        self.answer, self.heard, self.faults = answer, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    @property
    def address(self):
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            with Connection(accepted) as connection:
                try:
                    self._session(connection)
                except Failed as error:
                    self.faults.append(str(error))

    def _session(self, connection):
        tids, first = set(), True
        while octets := connection.receive():
            try:
                request = codec.decode(octets)
            except codec.FormatError as error:
                raise Failed(f"{octets.hex()} is not a message: {error}") from None
            self.heard.append(request)
            if not request["message"].endswith(" request"):
                raise Failed(f"an agent sends {describe(request)}")
            if request["tid"] in tids:
                raise Failed(f"the TID {request['tid']} is used twice")
            if first and request["message"] != "SE request":
                raise Failed(f"the first message is {describe(request)}")
            tids.add(request["tid"])
            first = False
            for answer in self.answer(request):
                if answer is None:
                    return
                connection.send(answer)


def well(request):
    yield codec.encode(positive(request))


def to(name, answers):
    """Answers the request of that name so, and others well."""
    def answer(request):
        if request["message"] == f"{name} request":
            yield from answers(request)
        else:
            yield from well(request)

    return answer


def in_pieces(request):
    for octet in codec.encode(positive(request)):
        yield bytes([octet])


def refusal(code):
    return lambda request: [codec.encode(negative(request, code))]


def challenge(request):
    yield codec.encode({"message": "SA positive reply", "tid": request["tid"],
                        "attributes": [{"attribute": "authentication challenge", "value": "07" * 32}]})


def notification(name, then_closes=True):
    def answers(_):
        yield codec.encode({"message": f"{name} notification", "tid": 5, "attributes": []})
        if then_closes:
            yield None

    return answers


def run_agent(command, answer):
    """Returns the exit status of the command, and what the middlebox heard. Raises Failed for what an agent never does."""
    with Played(answer) as played:
        words = filled(command, address=played.address)
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=Patience.seconds, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"the agent does not end within {Patience.seconds:g} s") from None
    if played.faults:
        raise Failed(played.faults[0])
    if done.returncode < 0:
        raise Failed(f"the agent ends by signal {-done.returncode}")
    return done.returncode, [request["message"] for request in played.heard]


def succeeds(command, answer):
    status, heard = run_agent(command, answer)
    if status != 0:
        raise Failed(f"the agent fails with {status}, after {', '.join(heard) or 'nothing'}")
    if "PER request" not in heard:
        raise Failed("the agent asks for no rule")


def fails(command, answer, asked, last=None):
    """The agent asks that, and fails; `last` is the message after which it sends nothing."""
    status, heard = run_agent(command, answer)
    if f"{asked} request" not in heard:
        raise Failed(f"the agent does not ask {asked}, but ends with {status} after {', '.join(heard) or 'nothing'}")
    if status == 0:
        raise Failed("the agent says that it could")
    if last and heard[-1] != last:
        raise Failed(f"the agent sends {heard[-1]} afterwards")


def malformed_replies():
    """Yields (name, what, octets without a TID) of replies that are none, from the middlebox."""
    for vector in vectors.malformed():
        if vector["from"] == "middlebox" and vector["step"] in (1, 3, 4, 5):
            yield vector["name"], vector["what"], vectors.octets_of(vector)


def with_tid(octets):
    return lambda request: [octets[:4] + request["tid"].to_bytes(4, "big") + octets[8:], None]


GOOD = [
    ("4.2.5", "a-rule", "TIDs are unique, requests are well-formed, SE comes first; the lifetime granted may be less than that requested.", well),
    ("4", "replies-in-pieces", "A message over TCP has no borders but its length.", in_pieces),
    ("8.9", "are-before-the-reply", "A notification may come at any time.",
     to("PER", lambda request: [codec.encode(NOTICE), codec.encode(positive(request))])),
]
BAD = [
    *((section, f"{code:04x}-{name}", f"A negative reply to {request}.", to(request, refusal(code & 0xFF)), request, None)
      for section, request, code, name in (
          ("7.2", "SE", 0x0321, "lack-of-resources"), ("7.2", "SE", 0x0322, "protocol-version-mismatch"),
          ("7.3", "SE", 0x0323, "authentication-failed"), ("7.2", "SE", 0x0324, "no-authorization"),
          ("8.3.1", "PER", 0x0342, "no-resources"), ("8.3.1", "PER", 0x034B, "inconsistent-request"),
          ("8.3.1", "PER", 0x0350, "conflict"))),
    ("7.3", "a-challenge-to-an-agent-without-a-secret", "The agent authenticates itself, or ends.",
     lambda request: refusal(0x23)(request) if request["message"] == "SA request" else challenge(request), "SE", None),
    ("7.5", "ast", "After AST the session is closed.", to("PER", notification("AST")), "PER", "PER request"),
    ("6", "bfm", "After BFM the session is closed.", to("PER", notification("BFM")), "PER", "PER request"),
    ("7.6", "the-connection-is-lost", "A request without a reply has not succeeded.", to("PER", lambda _: [None]), "PER", "PER request"),
]


def cases(command, strict):
    """Yields (Result without an outcome, what runs the case)."""
    del strict  # the RFC leaves nothing open here
    for section, name, about, answer in GOOD:
        yield Result(section, name, about), lambda answer=answer: succeeds(command, answer)
    for section, name, about, answer, asked, last in BAD:
        yield Result(section, name, about), lambda answer=answer, asked=asked, last=last: fails(command, answer, asked, last)
    for name, what, octets in malformed_replies():
        yield Result("6", f"reply-{name}", f"{what}. What is no reply has not granted a rule."), (
            lambda octets=octets: fails(command, to("PER", with_tid(octets)), "PER"))
