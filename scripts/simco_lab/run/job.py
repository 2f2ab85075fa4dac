"""Jobs: a point as a folder of small files, for the guest or for namespaces of the host."""

import io
import random
import shlex
import tarfile
from dataclasses import dataclass
from functools import cached_property

from ..measure import parts
from ..scenario import cross, drd, pattern, proxies, sizes
from ..scenario.catalogue import BACKENDS, CONGESTION, PROFILES, REPLAY_PROGRAM, WORKLOADS
from ..scenario.networks import NETWORKS, messages
from ..scenario.queues import Queue
from . import tls

# A PER transaction takes at most two packets each way, SACKs included; a pattern that is shorter than the run
# repeats.
PACKETS_PER_TRANSACTION = 2.5
ADDRESSES = [address for network in NETWORKS.values() for address in (network.server, network.second) if address]
CHUNK_HEADERS = 48  # octets of IP's, SCTP's and a chunk's headers
RUN_PERIOD = 1000000  # packets after which a run of losses would repeat
TIMEOUT_S = 60.0
MOVE_AFTER_S = 0.2  # a request without a reply goes over the other of two sessions
# Both ends have the same certificate, which is its own authority.
TLS_WORDS = ["--tls-ca", f"$job/{tls.CERTIFICATE}", "--tls-certificate", f"$job/{tls.CERTIFICATE}",
             "--tls-key", f"$job/{tls.KEY}"]


def random_losses(point, direction):
    loss = point.loss_percent / 100.0
    packets = pattern.length(loss, int(point.count * PACKETS_PER_TRANSACTION))
    if point.lose not in ("both", direction) and not (point.lose == "messages" and direction == "request"):
        loss = 0.0
    return packets, pattern.draw(loss, packets, point.seed(direction), point.loss_correlation, point.correlated)


def due_times(point):
    """Returns a file of the seconds at which transactions are due if the last of them are due at once: a second after
    the one before them. A point that stops before them has the same others."""
    rng, now, times = random.Random(point.seed("arrivals")), 0.0, []
    for _ in range(point.warmup + point.count - point.setup.burst):
        now += 1 / point.rate if point.arrivals == "constant" else rng.expovariate(point.rate)
        times.append(now)
    times += [now + 1] * point.setup.burst
    return "".join(f"{time:.9f}\n" for time in times[:point.warmup + point.sent])


def sip_words(point, *, of_server):
    setup = point.setup
    response = sizes.response_of(point.variant.transport, setup.response)
    words = ["--response", response, "--t1", f"{point.t1_ms:g}"]
    if of_server:
        return [*words, "--response-size", str(setup.response_size)]
    words += ["--invite-size", str(setup.invite_size), *(["--large-over-udp"] if setup.large_over_udp else [])]
    if point.large_size:
        words += ["--large-size", f"{point.large_size:g}", "--large-every", str(setup.large_every)]
    return words + ["--drain", f"{setup.drain_s:g}"] if response == "none" else words


def path_words(point, network):
    """Returns simco-loadgen's words for its one path, or for both: unless a connection uses both, a lost one is opened again, and of
    several connections one helps out another."""
    if not network.second:
        return []
    if point.paths < 2:
        return ["--bind", network.agent_address]
    if point.variant.transport.multipath:
        return []
    return ["--reconnect", *(["--move-after", f"{MOVE_AFTER_S:g}"] if point.variant.connections > 1 else [])]


def load_command(point, network, sctp_options):
    variant = point.variant
    schedule = ["--rate", f"{point.rate:g}", "--arrivals", point.arrivals, "--count", str(point.count)]
    words = [*variant.transport.wrapper, "simco-loadgen", *variant.options(), "--connect", ",".join(network.servers(point)),
             *path_words(point, network), "--workload", point.workload,
             *(["--arrivals-file", "$job/due"] if point.setup.burst else schedule),
             "--warmup", str(point.warmup), "--connections", str(variant.connections),
             "--seed", str(point.seed("arrivals")), "--abort-lag", f"{point.setup.abort_lag_s:g}",
             "--timeout", f"{TIMEOUT_S:g}", *sctp_options]
    if WORKLOADS[point.workload].sip:
        words += sip_words(point, of_server=False)
    if variant.transport.tls:
        words += TLS_WORDS
    return words + ["--unordered"] if variant.unordered else words


def server_command(point, network, sctp_options):
    workload = WORKLOADS[point.workload]
    words = [*point.variant.transport.wrapper, workload.server, *point.variant.options(),
             "--listen", ",".join(network.servers(point)), *sctp_options, *workload.server_options]
    if workload.sip:
        words += sip_words(point, of_server=True)
    if point.variant.transport.tls:
        words += TLS_WORDS
    if proxies.proxied(point):
        words += ["--port", str(proxies.SERVER_PORT)]
    return words + ["--backend", point.backend, *BACKENDS[point.backend].options] if workload.backend else words


def replayed(point):
    """Whether the kernel of user-mode Linux can send and answer the messages itself (vm/replay.c)."""
    workload = WORKLOADS[point.workload]
    able = all(row.replays for row in (workload, BACKENDS[point.backend], point.variant.transport))
    told = workload.backend and point.variant.connections > 1  # a middlebox tells each session of an agent of the others' rules
    return able and not told and not point.setup.burst and not proxies.proxied(point) and not NETWORKS[point.setup.network].second


def in_kernel(server, load):
    """Returns the commands of both ends for such a point. The agent plans the answers, too."""
    return f"{REPLAY_PROGRAM} box {server}", f"{REPLAY_PROGRAM} agent {server} -- {load}"


def captures(point, network):
    """Returns the programs that capture the requests where they leave and where they arrive."""
    if not parts.captured(point):
        return []
    kept = parts.KEPT[point.variant.transport.messages]
    return [(f"capture.{end.name}", "listening", end.name,
             f"tcpdump -Z root --nano -n -s {kept} -B 8192 -i {end.device} -w $out/{end.name}.pcap"
             f" 'ip and dst host {network.server}'") for end in (network.agent, network.box)]


def end_commands(point, network):
    """Returns the commands that set up the end systems that are measured."""
    profile, transport = PROFILES[point.profile], point.variant.transport
    sysctls = {key: value for key, value in profile.sysctls if key.startswith(transport.sysctl_prefix)}
    if point.variant.congestion:
        sysctls |= dict(CONGESTION[point.variant.congestion].sysctls)
    ends = {end.name: end for end in (network.agent, network.box)}
    commands = [end.sysctl(key, value) for end in ends.values() for key, value in sysctls.items()]
    workload = WORKLOADS[point.workload]
    octets = point.setup.invite_size if workload.sip else workload.octets  # of each message; 0: they vary
    sizes = {"octets": octets, "chunk_packet": octets + CHUNK_HEADERS}
    return commands + [ends[name].route(route.words.format(**sizes)) for route in profile.routes
                       if route.name == transport.routes for name in route.ends]


def lines(commands):
    """Returns a file of commands, a line each, with their words in front."""
    return "".join(" ".join(word if isinstance(word, str) else f"{word:g}" for word in words) + "\n"
                   for words in commands)


def modules(point):
    """Returns the modules of the kernel that a point needs, of those that a kernel may lack."""
    controls = {point.variant.congestion, cross.Cross.parse(point.cross).congestion} - {""}
    rows = [point.variant.transport, BACKENDS[point.backend], PROFILES[point.profile],
            Queue.parse(point.queue).kind, *(CONGESTION[name] for name in controls)]
    return {name for row in rows for name in row.guest_modules}


@dataclass(frozen=True)
class Job:
    """The files that run a point. `replays`: the kernel does what it can of it."""

    point: object
    replays: bool = False

    @cached_property
    def patterns(self):
        """{direction: (length, lost)}: drawn once, for the kernel and for checking its counts."""
        point = self.point
        result = {direction: random_losses(point, direction) for direction in ("request", "reply")}
        if point.lose_run:
            first = point.setup.lose_at + point.warmup
            result["request"] = RUN_PERIOD, list(range(first, first + int(point.lose_run)))
        return result

    @property
    def network(self):
        return NETWORKS[self.point.setup.network]

    @cached_property
    def files(self):
        """{name: text}"""
        point, network, transport = self.point, self.network, self.point.variant.transport
        sctp_options = PROFILES[point.profile].sctp_options.split() if transport.options else []
        traffic = cross.Cross.parse(point.cross)
        server, load = (" ".join(command(point, network, sctp_options)) for command in (server_command, load_command))
        if self.replays and replayed(point):
            server, load = in_kernel(server, load)
        proxied = proxies.proxied(point)
        settings = {
            "network": network.name,
            "transport": transport.program_name,
            "server_command": f"sh $job/{proxies.SCRIPT} $job $out" if proxied else server,
            "load_command": load,
            "lead": f"{traffic.lead_s(point):g}",
            "settle": f"{network.settle_s:g}",
        }
        ends = end_commands(point, network) + cross.end_commands(point, network, traffic)
        collected = dict(network.collect)
        if Queue.parse(point.queue).kind.delay_line:
            collected["drd.json"] = "router", drd.DUMP
        if parts.captured(point):
            collected["timers"] = "agent", "cat /proc/timer_list"
        counted = {direction: what + messages(point) for direction, what in network.directions.items()}
        return {
            "settings": "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items()),
            "setup": lines(sorted(ends + network.setup(point), key=lambda command: command[0])),  # by namespace
            "background": lines(captures(point, network) + traffic.programs(point, network)),
            "arm": lines(network.arm(point)),
            "events": lines(network.events(point)),
            "collect": lines((file, *command) for file, command in collected.items()),
            "loss.nft": pattern.ruleset(self.patterns),
            "arm.nft": pattern.arming(counted),
            "entropy": str(point.seed("entropy")) + "\n",
            **network.files(point),
            **({"due": due_times(point)} if point.setup.burst else {}),
            **(proxies.files(point, network.server, server) if proxied else {}),
            **(tls.files(ADDRESSES) if transport.tls else {}),
        }


def archive(files):
    """Returns a job's files as a tar file, identical for the same job."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()
