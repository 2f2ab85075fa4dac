"""Jobs: a point as a folder of small files, for the guest or for namespaces of the host."""

import io
import shlex
import tarfile
from dataclasses import dataclass
from functools import cached_property

from . import pattern

# The kernel's SCTP parameters: what a program gets that sets none of its own.
KERNEL_SCTP = ("--sctp-rto-initial 3000 --sctp-rto-min 1000 --sctp-sack-delay 200"
               " --sctp-heartbeat 30000 --sctp-buffer 106496 --sctp-i-bit false")
# A job leaves out the settings of a profile that do not concern the point's transport.
PROFILES = {
    # The distribution's defaults.
    "modern": {"sysctls": {}, "route": "", "sctp_options": KERNEL_SCTP},
    # As close to Linux 2.6.16 as this kernel gets: no RACK, no tail-loss probe, BIC.
    "2006": {
        "sysctls": {
            "net.ipv4.tcp_recovery": "0",
            "net.ipv4.tcp_early_retrans": "0",
            "net.ipv4.tcp_frto": "0",
            "net.ipv4.tcp_autocorking": "0",
            "net.ipv4.tcp_ecn": "0",
            "net.ipv4.tcp_no_metrics_save": "1",
            "net.ipv4.tcp_slow_start_after_idle": "1",
            "net.ipv4.tcp_congestion_control": "bic",
        },
        "route": "initcwnd 3",
        "sctp_options": KERNEL_SCTP,
    },
    # Our programs' defaults, with the sysctls that doc/sctp.md recommends.
    "tuned": {
        "sysctls": {
            "net.sctp.rto_alpha_exp_divisor": "1",
            "net.sctp.rto_beta_exp_divisor": "0",
        },
        "route": "",
        "sctp_options": "",
    },
}
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
    program = "simco-echo" if point.workload == "echo" else "simco-middlebox"
    words = [program, *point.variant.options(), "--listen", "10.71.2.1", *sctp_options]
    if program == "simco-middlebox":
        words += ["--allow-anonymous", "--backend", point.backend]
        if point.backend == "nftables":
            words += ["--internal-if", "inner", "--external-if", "right"]
    return words


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
        sctp_options = f"{profile['sctp_options']} {self.extra_options}".split() if transport.options else []
        settings = {
            "transport": transport.name,
            "netem": netem(self.point),
            "route": profile["route"] if transport.initial_window else "",
            "server_command": " ".join(server_command(self.point, sctp_options)),
            "load_command": " ".join(load_command(self.point, sctp_options)),
        }
        sysctls = {key: value for key, value in profile["sysctls"].items()
                   if key.startswith(transport.sysctl_prefix)}
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
