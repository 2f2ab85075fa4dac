"""User-mode Linux as the laboratory's engine: a kernel that is a process, whose time stands still while it computes and jumps
while it waits. It boots once for many points. No processor time passes, so delays are those of the network and of the
stacks alone; and it needs no root."""

import contextlib
import hashlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from ..errors import LabError
from ..scenario import drd
from .guest import BOOT_LIMIT_S, HERE, compile_drd, tool

INIT = HERE / "uml-init"
START = "time-travel-start=1767225600000000000"  # 2026-01-01 in ns
MEMORY_MB = 512
COMMAND_LINE = ("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={INIT}", "time-travel=inf-cpu", START, "con=null",
                "con0=fd:0,fd:1", "ssl=null", "quiet", "norandmaps", "random.trust_cpu=off", "random.trust_bootloader=off")


def said_last(lines):
    """Returns the lines that tell why it ended: those of a panic, or the last."""
    panic = [line for line in lines if "panic" in line]
    return panic[:2] or lines[-5:]


def folder_of_memory():
    """Returns the folder for a machine's memory, which is a file that programs are run from: in memory, if there is room."""
    shm = Path("/dev/shm")
    if shm.is_dir() and os.access(shm, os.W_OK):
        there = os.statvfs(shm)
        if not there.f_flag & os.ST_NOEXEC and there.f_bavail * there.f_frsize > MEMORY_MB << 20:
            return shm
    return Path(tempfile.gettempdir())


class Machine:
    """One user-mode Linux on one processor. It stands still between points."""

    def __init__(self, linux, programs, processor):
        self.exchange = tempfile.TemporaryDirectory()
        self.folder = Path(self.exchange.name)
        for path in (self.folder, programs, HERE):  # words of the kernel's command line, and options of a mount
            if any(letter in str(path) for letter in " ,'\"$"):
                raise LabError(f"user-mode Linux cannot use {path}: choose a folder without blanks, commas, quotes and dollar signs")
        compile_drd(self.folder / drd.OBJECT)
        self.count, self.said = 0, b""
        # At the same addresses in each run, octets stay the same.
        self.process = subprocess.Popen(
            [tool("setpriv"), "--pdeathsig", "KILL", tool("setarch"), "-R", tool("taskset"), "-c", str(processor), linux, f"mem={MEMORY_MB}M",
             *COMMAND_LINE, f"programs={programs}", f"scripts={HERE}", f"exchange={self.folder}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            env={"TMPDIR": str(folder_of_memory()), "HOME": str(self.folder), "PATH": os.environ.get("PATH", "")})
        self._wait_for("lab: ready", BOOT_LIMIT_S)

    def _wait_for(self, text, limit_s):
        """Reads what it prints until a line is `text`, and stops it."""
        while text not in (lines := self.said.decode(errors="replace").splitlines()):
            ready, _, _ = select.select([self.process.stdout], [], [], limit_s)
            more = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not more:
                self.close()
                what = "ended" if ready else f"did not finish within {limit_s:g} s"
                raise LabError(f"user-mode Linux {what}: {' / '.join(said_last(lines))}")
            self.said += more
        self.said = b""
        os.kill(self.process.pid, signal.SIGSTOP)

    def used_s(self):
        """Returns the processor time of the machine and of its processes that have ended."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def run(self, files, out, limit_s):
        """Runs a job. If it fails, the machine ends: what is left of it would count in the next one."""
        try:
            used_s = self._run(files, out, limit_s)
        except BaseException:
            self.close()
            raise
        if (Path(out) / "status").read_text().strip() != "0":
            self.close()
        return used_s

    def _run(self, files, out, limit_s):
        before = self.used_s()
        self.count += 1
        name = str(self.count)
        fresh = self.folder / "fresh"
        (fresh / "job").mkdir(parents=True)
        for file, text in files.items():
            (fresh / "job" / file).write_text(text)
        fresh.rename(self.folder / name)  # which it waits for
        os.kill(self.process.pid, signal.SIGCONT)
        self._wait_for(f"lab: done {name}", limit_s)
        shutil.copytree(self.folder / name / "out", out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("go"))  # a pipe
        shutil.rmtree(self.folder / name)
        return self.used_s() - before

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.exchange.cleanup()


class Uml:
    """Builds user-mode Linux unless that has been done before, and runs points in it: a machine for each thread."""

    lacking = ()  # modules

    def __init__(self, programs):
        self.programs = Path(programs).resolve()
        self.linux = None
        self.kernel = ""
        self._own = threading.local()
        self._machines = []

    def prepare(self):
        done = subprocess.run([HERE / "vm" / "uml-cache"], stdout=subprocess.PIPE, text=True, check=False)  # it says what it does
        if done.returncode != 0:
            raise LabError("there is no user-mode Linux: see above")
        self.linux = done.stdout.strip()
        self.kernel = Path(self.linux).parent.name.partition("-")[0]

    @property
    def identity(self):
        """Names the kernel and the scripts; not the programs."""
        digest = hashlib.sha256(Path(self.linux).read_bytes())
        for name in (INIT, HERE / "point", HERE / "network", HERE / "vm" / "drd.c"):
            digest.update(name.read_bytes())
        return f"uml {digest.hexdigest()}"

    def run(self, files, out, processor, limit_s):
        """Runs a job, and leaves its results in the folder `out`."""
        machine = getattr(self._own, "machine", None)
        if machine is None or machine.process.poll() is not None:
            machine = self._own.machine = Machine(self.linux, self.programs, processor)
            self._machines.append(machine)
        return machine.run(files, out, limit_s)

    def close(self):
        for machine in self._machines:
            machine.close()
