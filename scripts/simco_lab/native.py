"""The same points in network namespaces of this host, in real time."""

import os
import subprocess
import tempfile
from pathlib import Path

from .errors import LabError

HERE = Path(__file__).resolve().parent


def _works(commands):
    """Whether the commands work, in a namespace of their own."""
    name = f"lab-probe-{os.getpid()}"
    script = f"ip netns add {name} && ip netns exec {name} sh -c {subprocess.list2cmdline([commands])}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return done.returncode == 0


def missing(points):
    """What this host has not got that `points` need: a list of sentences, empty where nothing."""
    if os.geteuid() != 0:
        return ["--native makes network namespaces: be root"]
    if not _works("true"):
        return ["this kernel makes no network namespaces"]
    lacks = []
    if any(point.delay_ms or point.jitter_ms for point in points) and not _works(
            "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"):
        lacks.append("the kernel has no netem (CONFIG_NET_SCH_NETEM), which delays packets")
    for transport in {point.variant.transport for point in points if point.variant.transport.module}:
        loaded = Path("/proc/net") / transport.module
        if not loaded.exists():
            subprocess.run(["modprobe", transport.module], capture_output=True, check=False)
        if not loaded.exists():
            lacks.append(f"the kernel has no {transport.label} ({transport.config})")
    if not _works("nft 'add table ip t; add chain ip t c; add rule ip t c numgen inc mod 3 vmap { 1 : drop }'"):
        lacks.append("the kernel's nftables has no numgen (CONFIG_NFT_NUMGEN), which counts packets to lose")
    if any(point.profile == "2006" for point in points) and not _works(
            "sysctl -w net.ipv4.tcp_congestion_control=bic"):
        lacks.append("the kernel has no BIC (CONFIG_TCP_CONG_BIC), which profile 2006 takes")
    return lacks


def execute(programs):
    """What Runner needs: runs one job with the programs of that folder."""

    def run(files, out, processor, limit_s):
        del processor  # the scheduler knows better
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (Path(folder) / name).write_text(text)
            environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}:/sbin:/usr/sbin"}
            # Several runs at a time have networks of their own.
            prefix = f"lab{out.stat().st_ino}"
            process = subprocess.Popen([str(HERE / "point"), folder, str(out), prefix], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            try:
                _, complaint = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired as error:
                process.terminate()
                process.wait()
                raise LabError(f"the run did not end within {limit_s} s") from error
            if process.returncode != 0 and not (out / "error").exists():
                raise LabError(complaint.decode().strip() or f"point ended with {process.returncode}")

    return run
