"""The laboratory's networks: the effects of a point's conditions as commands in their namespaces, and the counts of
their routers. The script `network` creates them."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import BadRun
from . import drd, failures, queues
from .catalogue import table

MESSAGE_OCTETS = 256  # of an IP packet: a shorter one acknowledges only
NFT_KEY = "nftables"  # in what `nft -j` prints
COUNTERS, QDISCS = "nft -j list counters", "tc -s -j qdisc show"
MIDDLE = "middle"  # the interfaces of the dumbbell's middle link
ROUTERS = ("router", "far")
# Agent's and source's packets leave towards the other side through these; theirs come in through the edges.
EDGES = {"router": ("left", "source"), "far": ("right", "sink")}


@dataclass(frozen=True)
class End:
    """An end system's namespace, and its way to the others."""

    name: str
    gateway: str
    device: str

    def route(self, words):
        return self.name, f"ip route change default via {self.gateway} dev {self.device} {words}"

    def sysctl(self, key, value):
        return self.name, f"echo '{value}' >/proc/sys/{key.replace('.', '/')}"


@dataclass(frozen=True)
class Network:
    """One of the networks. The functions take a point and return [(namespace, command)]."""

    name: str  # of the script `network`
    server: str  # the address at which the box listens
    agent: End
    box: End
    directions: dict  # {direction: what its packets have in common as they come to the router}
    setup: Callable
    arm: Callable
    events: Callable  # [(seconds, namespace, command)]
    files: Callable  # {name: text} that the commands use
    collect: dict  # {file: (namespace, command)}
    check: Callable  # (folder, point, losses): what the network counted, as run.json keeps it. Raises BadRun
    settle_s: float = 0.0  # until nothing is under way
    source: End | None = None  # of competing traffic
    sink: End | None = None
    source_address: str = ""
    sink_address: str = ""
    second: str = ""  # the box's address of the second path
    agent_address: str = ""  # of the first

    def servers(self, point):
        """Returns the addresses of the box that the programs know."""
        return [self.server, self.second][:int(point.paths)]


def messages(point):
    """Returns the condition that leaves out mere acknowledgements, if just messages are lost."""
    return f" meta length >= {MESSAGE_OCTETS}" if point.lose == "messages" or point.lose_run else ""


def netem(point):
    if point.delay_ms == 0 and point.jitter_ms == 0:
        return ""
    return f"netem delay {point.delay_ms:g}ms" + (f" {point.jitter_ms:g}ms" if point.jitter_ms else "")


def line_setup(point):
    """Both directions are delayed as they leave the router, so that no sender sees the queue as its own."""
    delay = netem(point)
    return [("router", f"tc qdisc add dev {side} root {delay} {queues.DELAY_LINE}")
            for side in ("left", "right") if delay] + [("router", "nft -f $job/loss.nft")]


def arm(_):
    return [("router", "nft -f $job/arm.nft")]


def dumbbell_setup(point):
    """The delay is on the edges, with the time that a packet takes to leave a link of that rate; or it is on the middle
    link, if the packets under way there are the queue."""
    queue = queues.Queue.parse(point.queue)
    delay = netem(point)
    rate = f" rate {point.link_mbit:g}mbit" if point.link_mbit else ""
    devices = {router: (MIDDLE,) for router in ROUTERS} if queue.kind.delay_line else EDGES
    commands = [(router, f"tc qdisc add dev {device} root {delay or 'netem'}{rate} {queues.DELAY_LINE}")
                for router in ROUTERS for device in devices[router] if delay or rate]
    commands += [(router, command) for router in ROUTERS for command in queue.commands(MIDDLE, point.link_mbit)]
    if queue.kind.delay_line:
        seeds = {direction: point.seed(f"queue-{direction}") for direction in drd.DIRECTIONS}
        commands += drd.commands(*queue.numbers, seeds, MIDDLE)
    return [*commands, ("router", "nft -f $job/loss.nft"), ("far", "nft -f $job/far.nft")]


def dumbbell_arm(point):
    return [*arm(point), ("router", "nft -f $job/arm-messages.nft"), ("far", "nft -f $job/arm-far.nft")]


def dumbbell_events(point):
    return [(point.setup.mtu_at_s, router, f"ip link set {MIDDLE} mtu {point.mtu_to:g}")
            for router in ROUTERS if point.mtu_to]


# The far router's counts of the flow that is measured: requests that have passed the queue, and replies before it.
FAR = {"request": 'iifname "middle" oifname "right"', "reply": 'iifname "right" oifname "middle"'}


def dumbbell_files(point):
    rules = ["    ip frag-off & 0x1fff != 0 counter name fragments drop"] * (point.fragments == "drop")
    far = "\n".join(["table ip lab {", *(f"  counter {name} {{ }}" for name in (*FAR, "fragments", "messages")),
                     "  chain forward {", "    type filter hook forward priority 0", *rules, "  }", "}"]) + "\n"
    counting = "".join(f"add rule ip lab forward {what}{messages(point)} counter name {direction}\n"
                       for direction, what in FAR.items())
    # Packets with requests in them, before the queue and after it; the pattern of losses has dropped its own before these.
    long = f"meta length >= {MESSAGE_OCTETS} counter name messages\n"
    before = f'add counter ip lab messages\nadd rule ip lab forward iifname "left" {long}'
    return {"far.nft": far, "arm-messages.nft": before,
            "arm-far.nft": f"{counting}add rule ip lab forward {FAR['request']} {long}"}


def counters_of(path, what="packets"):
    """Returns {name: packets} of the output of `nft -j list counters`, or {name: octets}."""
    key = {"packets": "packets", "octets": "bytes"}[what]
    return {entry["counter"]["name"]: entry["counter"][key]
            for entry in json.loads(path.read_text())[NFT_KEY] if "counter" in entry}


def dumbbell_check(folder, point, losses):
    """Returns the packets of the measured flow that the queue took and dropped, and all that it dropped."""
    queue = queues.Queue.parse(point.queue)
    far = counters_of(folder / "drops.far.json")
    entered = {"request": losses["request"][0] - losses["request"][1], "reply": far["reply"]}
    passed = {"request": far["request"], "reply": losses["reply"][0]}
    own = {direction: entered[direction] - passed[direction] for direction in FAR}
    own["request"] -= far["fragments"]
    listed = {direction: json.loads((folder / f"qdisc.{router}.json").read_text()) for direction, router in zip(FAR, ROUTERS)}
    dropped = {direction: queues.check_counts(queue, there, MIDDLE) for direction, there in listed.items()}
    deepest, waiting = {}, dict.fromkeys(FAR, 0)
    if queue.kind.delay_line:
        waiting = {direction: queues.waiting(there, MIDDLE) for direction, there in listed.items()}
        lines = drd.counts(json.loads((folder / "drd.json").read_text()))
        drd.check_counts(lines, *queue.numbers, waiting)
        dropped = {direction: line["dropped"] for direction, line in lines.items()}
        deepest = {direction: line["deepest"] for direction, line in lines.items()}
    for direction, lost in own.items():
        if not 0 <= lost <= dropped[direction] + waiting[direction]:
            raise BadRun(f"{lost} packets of '{direction}' did not pass the queue, which dropped {dropped[direction]}")
        own[direction] = min(lost, dropped[direction])
    found = {"entered": entered, "lost": own, "dropped": dropped, "deepest": deepest, "fragments": far["fragments"]}
    if point.mtu_to:  # a message's packet that the link cuts is several after it
        return found
    before = counters_of(folder / "drops.json")["messages"]
    lost = before - far["messages"]
    if not 0 <= lost <= dropped["request"] + waiting["request"]:
        raise BadRun(f"{lost} packets with requests did not pass the queue, which dropped {dropped['request']}")
    return {**found, "messages": {"entered": before, "lost": min(lost, dropped["request"])}}


PATH = {"agent": "left", "box": "right"}  # the router's devices of the first path, by the end that they lead to
SECOND = ("left2", "right2")
MOVING = End("agent", "10.73.1.2", "left")  # which must take the other path


def two_paths_setup(point):
    delay = netem(point)
    commands = [("router", f"tc qdisc add dev {side} root {delay} {queues.DELAY_LINE}")
                for side in (*PATH.values(), *SECOND) if delay]
    if point.paths > 1:
        second = NETWORKS[point.setup.network].second
        commands += [(end, command.format(second=second)) for end, command in point.variant.transport.path_commands]
    return [*commands, ("router", "nft -f $job/loss.nft"), ("router", f"nft -f $job/{failures.RULES}")]


def two_paths_check(folder, point, _):
    """Returns how many packets the failure dropped."""
    dropped = counters_of(folder / "drops.json")[failures.COUNTED]
    if failures.Failure.parse(point.failure).drops != bool(dropped):
        raise BadRun(f"the failure '{point.failure}' dropped {dropped} packets")
    return {failures.COUNTED: dropped}


NETWORKS = table(
    Network(
        "line", server="10.71.2.1",
        agent=End("agent", "10.71.1.2", "left"), box=End("box", "10.71.2.2", "right"),
        directions={"request": 'iifname "left"', "reply": 'iifname "right"'},
        setup=line_setup, arm=arm, events=lambda _: [], files=lambda _: {}, check=lambda *_: None,
        collect={"drops.json": ("router", COUNTERS), "qdisc.txt": ("router", "tc -s qdisc show")}),
    Network(
        "dumbbell", server="10.72.2.1",
        agent=End("agent", "10.72.1.2", "left"), box=End("box", "10.72.2.2", "right"),
        source=End("source", "10.72.3.2", "source"), sink=End("sink", "10.72.4.2", "sink"),
        source_address="10.72.3.1", sink_address="10.72.4.1",
        directions={"request": 'iifname "left"', "reply": f'iifname "{MIDDLE}" ip daddr 10.72.1.0/24'},
        setup=dumbbell_setup, arm=dumbbell_arm, events=dumbbell_events, files=dumbbell_files, check=dumbbell_check,
        settle_s=5.0,
        collect={"drops.json": ("router", COUNTERS), "drops.far.json": ("far", COUNTERS),
                 "qdisc.router.json": ("router", QDISCS), "qdisc.far.json": ("far", QDISCS)}),
    Network(
        "two-paths", server="10.73.2.1", second="10.73.4.1", agent_address="10.73.1.1",
        agent=MOVING, box=End("box", "10.73.2.2", "right"),
        directions={"request": 'iifname { "left", "left2" }', "reply": 'iifname { "right", "right2" }'},
        setup=two_paths_setup, arm=arm, events=lambda point: failures.events(point, MOVING),
        files=lambda point: failures.files(point, MOVING, PATH), check=two_paths_check,
        collect={"drops.json": ("router", COUNTERS), "qdisc.txt": ("router", "tc -s qdisc show")}),
)
