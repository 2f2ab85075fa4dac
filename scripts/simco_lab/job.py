"""Jobs: a point as a folder of small files, for the guest or for namespaces of the host."""

import io
import shlex
import tarfile
from dataclasses import dataclass
from functools import cached_property

from . import pattern
from .catalogue import BACKENDS, PROFILES, WORKLOADS

# A PER transaction takes at most two packets each way, SACKs included; a pattern that is shorter than the run
# repeats.
PACKETS_PER_TRANSACTION = 2.5
ABORT_LAG_S = 1.0  # IKR report 53: a message that cannot be handed over within a second ends the curve
TIMEOUT_S = 60.0


def patterns(point):
    """Returns {direction: (length, lost)} of a point."""
    loss = point.loss_percent / 100.0
    packets = pattern.length(loss, int(point.count * PACKETS_PER_TRANSACTION))
    return {
        direction: (packets, pattern.draw(loss if point.lose in ("both", direction) else 0.0, packets,
                                          point.seed(direction), point.loss_correlation))
        for direction in ("request", "reply")
    }


def load_command(point, sctp_options):
    variant = point.variant
    words = ["simco-loadgen", *variant.options(), "--workload", point.workload,
             "--rate", f"{point.rate:g}", "--arrivals", point.arrivals, "--count", str(point.count),
             "--warmup", str(point.warmup), "--connections", str(variant.connections),
             "--seed", str(point.seed("arrivals")), "--abort-lag", f"{ABORT_LAG_S:g}",
             "--timeout", f"{TIMEOUT_S:g}", *sctp_options]
    return words + ["--unordered"] if variant.unordered else words


def server_command(point, sctp_options):
    workload = WORKLOADS[point.workload]
    words = [workload.server, *point.variant.options(), "--listen", "10.71.2.1", *sctp_options,
             *workload.server_options]
    return words + ["--backend", point.backend, *BACKENDS[point.backend].options] if workload.backend else words


def netem(point):
    if point.delay_ms == 0 and point.jitter_ms == 0:
        return ""
    return f"delay {point.delay_ms:g}ms" + (f" {point.jitter_ms:g}ms" if point.jitter_ms else "")


@dataclass(frozen=True)
class Job:
    """The files that run a point. `extra_options` are SCTP options for both programs, for trials."""

    point: object
    extra_options: str = ""

    @cached_property
    def patterns(self):
        """{direction: (length, lost)}: drawn once, for the kernel and for checking its counts."""
        return patterns(self.point)

    @cached_property
    def files(self):
        """{name: text}"""
        profile, transport = PROFILES[self.point.profile], self.point.variant.transport
        sctp_options = f"{profile.sctp_options} {self.extra_options}".split() if transport.options else []
        settings = {
            "transport": transport.name,
            "netem": netem(self.point),
            "route": profile.route if transport.initial_window else "",
            "server_command": " ".join(server_command(self.point, sctp_options)),
            "load_command": " ".join(load_command(self.point, sctp_options)),
        }
        sysctls = {key: value for key, value in profile.sysctls if key.startswith(transport.sysctl_prefix)}
        return {
            "settings": "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items()),
            "sysctls": "".join(f"{key}={value}\n" for key, value in sysctls.items()),
            "loss.nft": pattern.ruleset(self.patterns),
            "arm.nft": pattern.arming(self.patterns),
            "entropy": str(self.point.seed("entropy")) + "\n",
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
