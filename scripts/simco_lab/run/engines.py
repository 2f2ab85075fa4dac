"""The engines: what runs the kernel of a point."""

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import LabError
from ..scenario import proxies
from ..scenario.catalogue import PROGRAMS, REPLAY_PROGRAM
from . import cluster, guest, job, native, uml

NAMES = ("qemu", "uml", "native")


@dataclass(frozen=True)
class Engine:
    run: Callable  # (files, out, processor, limit_s): runs a job, and leaves its results in `out`
    identity: str  # of kernel, programs and scripts
    about: str  # the beginning of the sentence that says where it was measured
    lacking: tuple = ()  # modules of the kernel
    replays: bool = False  # whether the kernel can send and answer messages itself (vm/replay.c)
    jobs: int = 0  # points that it runs at a time; 0: as many as the caller wants
    stop: Callable = lambda: None  # ends the points under way, if nobody waits for them


def programs_identity(programs, names=PROGRAMS):
    for name in names:
        if not (Path(programs) / name).exists():
            raise LabError(f"{Path(programs) / name} is missing: build first (cmake --preset release && cmake --build --preset release)")
    return hashlib.sha256(b"".join((programs / name).read_bytes() for name in names)).hexdigest()


def say(text):
    print(text, file=sys.stderr)


def qemu(programs, further, shift):
    machine = guest.Guest(programs, shift, further)
    machine.prepare(say)
    speed = f", {1 << shift} ns per instruction" if shift else ""
    return Engine(lambda files, *more: machine.run(job.archive(files), *more), machine.snapshot.name,
                  f"Measured in virtual time on Debian's {machine.kernel}{speed}", tuple(machine.lacking))


def in_namespaces(programs):
    release = os.uname().release
    return Engine(native.execute(programs), f"native {release} {programs_identity(programs)}",
                  f"Measured in network namespaces of Linux {release}, in real time")


def user_mode(machines):
    machines.prepare()
    return Engine(machines.run, f"{machines.identity} {programs_identity(machines.programs, (*PROGRAMS, REPLAY_PROGRAM))}",
                  f"Measured in virtual time on user-mode Linux {machines.kernel}, where no processor time passes", replays=True,
                  stop=machines.close)


def check(name, scenarios, points, shift, on):
    """Raises LabError for what an engine cannot do."""
    if shift and name != "qemu":
        raise LabError("--shift is for --engine qemu, whose instructions take time")
    if on and name == "native":
        raise LabError("--on is for engines with virtual time: --engine qemu or uml")
    if name == "native" and (lacks := native.missing(points)):
        raise LabError("this host cannot run these points natively: " + "; ".join(lacks))
    if name == "qemu" and (lacking := {point.variant.transport for point in points if point.variant.transport.host_has}):
        raise LabError(f"the guest lacks {', '.join(f'{one.host_has} for {one.label}' for one in lacking)}; --engine uml has it")
    if name == "uml":
        lacks = [f"{scenario.name} counts instructions" for scenario in scenarios if "busy" in scenario.tables]
        lacks += ["a proxy needs the guest, which has its modules"] * any(proxies.proxied(point) for point in points)
        if lacks:
            raise LabError("user-mode Linux cannot run these points: " + "; ".join(lacks) + "; --engine qemu can")


@contextlib.contextmanager
def made(name, programs, further=(), shift=0):
    """The engine of that name; `further` are programs of QEMU's guest, and `shift` is QEMU's: an instruction takes 2^shift ns."""
    if name == "uml":
        with contextlib.closing(uml.Uml(programs)) as machines:
            yield user_mode(machines)
    else:
        yield in_namespaces(programs) if name == "native" else qemu(programs, further, shift)


@contextlib.contextmanager
def started(name, programs, scenarios, points, shift=0, on=None):
    """The engine of that name for these points, here or at the workers of Dask's scheduler `on`."""
    check(name, scenarios, points, shift, on)
    recipe = name, Path(programs).resolve(), tuple(proxies.programs(points)), shift
    with made(*recipe) as engine:
        if not on:
            yield engine
            return
        with contextlib.closing(cluster.Cluster(on, recipe, engine.identity)) as workers:
            yield replace(engine, run=workers.run, jobs=workers.count)
