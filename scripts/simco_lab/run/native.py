"""The same points in network namespaces of this host, in real time."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..errors import LabError
from ..scenario.catalogue import PROFILES
from ..scenario.proxies import proxied
from ..scenario.queues import Queue

HERE = Path(__file__).resolve().parent


def _works(commands):
    """Returns whether the commands work, in a namespace of their own."""
    name = f"lab-probe-{os.getpid()}"
    script = f"ip netns add {name} && ip netns exec {name} sh -c {subprocess.list2cmdline([commands])}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return done.returncode == 0


def missing(points):
    """Returns a sentence for each thing that `points` need and this host lacks."""
    if os.geteuid() != 0:
        return ["--native creates network namespaces, which needs root"]
    if not _works("true"):
        return ["this kernel cannot create network namespaces"]
    lacks = []
    if any(point.delay_ms or point.jitter_ms for point in points) and not _works(
            "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"):
        lacks.append("the kernel lacks netem (CONFIG_NET_SCH_NETEM), which delays packets")
    for transport in {point.variant.transport for point in points if point.variant.transport.module}:
        loaded = Path("/proc/net") / transport.module
        if not loaded.exists():
            subprocess.run(["modprobe", transport.module], capture_output=True, check=False)
        if not loaded.exists():
            lacks.append(f"the kernel lacks {transport.label} ({transport.config})")
    for transport in {point.variant.transport for point in points}:
        lacks += [f"the kernel lacks {what}" for command, what in transport.needs if not _works(command)]
        lacks += [f"{program} is missing: run scripts/setup --lab" for program in transport.wrapper[:1] if not shutil.which(program)]
    if not _works("nft 'add table ip t; add chain ip t c; add rule ip t c numgen inc mod 3 vmap { 1 : drop }'"):
        lacks.append("the kernel's nftables lacks numgen (CONFIG_NFT_NUMGEN), which counts packets to lose")
    if any(Queue.parse(point.queue).kind.delay_line for point in points):
        lacks.append("the queue drd needs the guest, which has its eBPF programs")
    if any(proxied(point) for point in points):
        lacks.append("a proxy needs the guest, which has its modules")
    for profile in {PROFILES[point.profile] for point in points}:
        lacks += [f"the kernel lacks {what}, which profile {profile.name} uses"
                  for command, what in profile.needs if not _works(command)]
    return lacks


def execute(programs):
    """Returns the function that Runner calls to run a job with the programs of that folder."""

    def run(files, out, processor, limit_s):
        del processor  # left to the scheduler
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (Path(folder) / name).write_text(text)
            environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}:/sbin:/usr/sbin"}
            # Runs in parallel have separate networks.
            prefix = f"lab{out.stat().st_ino}"
            process = subprocess.Popen([str(HERE / "point"), folder, str(out), prefix], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            try:
                _, complaint = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired as error:
                process.terminate()
                process.wait()
                raise LabError(f"the run did not finish within {limit_s} s") from error
            if process.returncode != 0 and not (out / "error").exists():
                raise LabError(complaint.decode().strip() or f"'point' failed with exit code {process.returncode}")

    return run
