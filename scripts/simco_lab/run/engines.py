"""The engines: what runs the kernel of a point."""

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import LabError
from ..scenario import proxies
from ..scenario.catalogue import PROGRAMS
from . import guest, job, native, uml

NAMES = ("qemu", "uml", "native")


@dataclass(frozen=True)
class Engine:
    run: Callable  # (files, out, processor, limit_s): runs a job, and leaves its results in `out`
    identity: str  # of kernel, programs and scripts
    about: str  # the beginning of the sentence that says where it was measured
    lacking: tuple = ()  # modules of the kernel


def programs_identity(programs):
    return hashlib.sha256(b"".join((programs / name).read_bytes() for name in PROGRAMS)).hexdigest()


def say(text):
    print(text, file=sys.stderr)


def qemu(programs, points, shift):
    machine = guest.Guest(programs, shift, proxies.programs(points))
    machine.prepare(say)
    speed = f", {1 << shift} ns per instruction" if shift else ""
    return Engine(lambda files, *more: machine.run(job.archive(files), *more), machine.snapshot.name,
                  f"Measured in virtual time on Debian's {machine.kernel}{speed}", tuple(machine.lacking))


def in_namespaces(programs, points):
    lacks = native.missing(points)
    if lacks:
        raise LabError("this host cannot run these points natively: " + "; ".join(lacks))
    release = os.uname().release
    return Engine(native.execute(programs), f"native {release} {programs_identity(programs)}",
                  f"Measured in network namespaces of Linux {release}, in real time")


def user_mode(machines, scenarios, points):
    lacks = [f"{scenario.name} counts instructions" for scenario in scenarios if "busy" in scenario.tables]
    lacks += ["a proxy needs the guest, which has its modules"] * any(proxies.proxied(point) for point in points)
    if lacks:
        raise LabError("user-mode Linux cannot run these points: " + "; ".join(lacks) + "; --engine qemu can")
    machines.prepare(say)
    return Engine(machines.run, f"{machines.identity} {programs_identity(machines.programs)}",
                  f"Measured in virtual time on user-mode Linux {machines.kernel}, where no processor time passes")


@contextlib.contextmanager
def started(name, programs, scenarios, points, shift=0):
    """The engine of that name, for these points. `shift` is QEMU's: an instruction takes 2^shift ns."""
    if shift and name != "qemu":
        raise LabError("--shift is for --engine qemu, whose instructions take time")
    if name == "uml":
        with contextlib.closing(uml.Uml(programs)) as machines:
            yield user_mode(machines, scenarios, points)
    else:
        yield in_namespaces(programs, points) if name == "native" else qemu(programs, points, shift)
