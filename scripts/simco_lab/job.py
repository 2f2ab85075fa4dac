"""A point as the guest, or a namespace of the host, gets it: a folder of small files."""

import io
import shlex
import tarfile

from . import pattern
from .scenario import variant_parts

# Transport parameters that are not our programs' own: what a program gets that sets nothing.
KERNEL_SCTP = ("--sctp-rto-initial 3000 --sctp-rto-min 1000 --sctp-sack-delay 200"
               " --sctp-heartbeat 30000 --sctp-buffer 106496 --sctp-i-bit false")
# What of a profile concerns which transport: what it does not is left out of the job.
SYSCTLS = {"tcp": "net.ipv4.tcp_", "sctp": "net.sctp."}

PROFILES = {
    # The distribution's defaults.
    "modern": {"sysctls": {}, "route": "", "sctp": KERNEL_SCTP},
    # As near to Linux 2.6.16 as this kernel comes: no RACK, no tail-loss probe, BIC.
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
        "sctp": KERNEL_SCTP,
    },
    # What the README recommends: our programs' defaults, and these.
    "tuned": {
        "sysctls": {
            "net.sctp.rto_alpha_exp_divisor": "1",
            "net.sctp.rto_beta_exp_divisor": "0",
        },
        "route": "",
        "sctp": "",
    },
}
# A PER transaction is two packets each way at most, with their SACKs; a pattern that is shorter than
# the run begins again.
PACKETS_PER_TRANSACTION = 2.5
ABORT_LAG_S = 1.0  # report 53: messages that cannot be handed over within a second end the curve
TIMEOUT_S = 60.0


def patterns(point):
    """{direction: (length, lost)} of a point."""
    loss = point.loss_percent / 100.0
    packets = pattern.length(loss, int(point.count * PACKETS_PER_TRANSACTION))
    return {
        direction: (packets, pattern.draw(loss if point.lose in ("both", direction) else 0.0, packets,
                                          point.seed(direction), point.loss_correlation))
        for direction in ("request", "reply")
    }


def load_command(point, profile):
    transport, streams, connections, unordered = variant_parts(point.variant)
    words = ["simco-loadgen", "--transport", transport, "--workload", point.workload,
             "--rate", f"{point.rate:g}", "--arrivals", point.arrivals, "--count", str(point.count),
             "--warmup", str(point.warmup), "--connections", str(connections),
             "--seed", str(point.seed("arrivals")), "--abort-lag", f"{ABORT_LAG_S:g}",
             "--timeout", f"{TIMEOUT_S:g}"]
    if transport == "sctp":
        words += ["--streams", str(streams), *profile["sctp"].split()]
    if unordered:
        words.append("--unordered")
    return words


def server_command(point, profile):
    transport, streams, _, _ = variant_parts(point.variant)
    program = "simco-echo" if point.workload == "echo" else "simco-middlebox"
    words = [program, "--transport", transport, "--listen", "10.71.2.1"]
    if transport == "sctp":
        words += ["--streams", str(streams), *profile["sctp"].split()]
    if program == "simco-middlebox":
        words += ["--allow-anonymous", "--backend", point.backend]
        if point.backend == "nftables":
            words += ["--internal-if", "inner", "--external-if", "right"]
    return words


def netem(point):
    if point.delay_ms == 0 and point.jitter_ms == 0:
        return ""
    return f"delay {point.delay_ms:g}ms" + (f" {point.jitter_ms:g}ms" if point.jitter_ms else "")


def files(point, extra_options=""):
    """{name: text} of the job. `extra_options` go to both programs' SCTP, for trials."""
    profile = dict(PROFILES[point.profile])
    transport = variant_parts(point.variant)[0]
    profile["sctp"] = f"{profile['sctp']} {extra_options}".strip()
    drawn = patterns(point)
    settings = {
        "transport": transport,
        "netem": netem(point),
        "route": profile["route"] if transport == "tcp" else "",  # TCP's initial window
        "server_command": " ".join(server_command(point, profile)),
        "load_command": " ".join(load_command(point, profile)),
    }
    sysctls = {key: value for key, value in profile["sysctls"].items()
               if key.startswith(SYSCTLS[transport])}
    return {
        "settings": "".join(f"{key}={shlex.quote(value)}\n" for key, value in settings.items()),
        "sysctls": "".join(f"{key}={value}\n" for key, value in sysctls.items()),
        "loss.nft": pattern.ruleset(drawn),
        "arm.nft": pattern.arming(drawn),
        "entropy": str(point.seed("entropy")) + "\n",
    }


def archive(job_files):
    """The job as a tar file's octets, the same for the same job."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, text in job_files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()
