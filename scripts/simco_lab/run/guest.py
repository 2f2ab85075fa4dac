"""The guest: a stock kernel in QEMU with virtual time. It boots once per set of programs; the state of the machine
is then saved, and every point starts from it, so that no point affects another."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from ..errors import LabError
from ..scenario import drd, queues
from ..scenario.catalogue import BACKENDS, CONGESTION, PROFILES, PROGRAMS, TRANSPORTS
from .job import archive

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simco" / "lab"
SNAPSHOTS_KEPT = 3
MEMORY_MIB = 512
BOOT_LIMIT_S = 300
# For the network and its losses; and for what is measured across it, which a kernel may lack.
MODULES = ("qemu_fw_cfg", "virtio_pci", "virtio_console", "veth", "sch_netem", "sch_tbf", "nf_tables", "nft_numgen",
           "nft_objref")
FURTHER_MODULES = tuple(dict.fromkeys(module for rows in (TRANSPORTS, BACKENDS, PROFILES, CONGESTION, queues.KINDS)
                                      for row in rows.values() for module in row.guest_modules))
TOOLS = ("ip", "nsenter", "tc", "nft", "ss", "ethtool", "bpftool", "tcpdump")
COMPILER = "clang-19"
# Programs at the same addresses in each of their processes (norandmaps) are translated once for all of them.
COMMAND_LINE = ("console=ttyS0 quiet panic=-1 nokaslr norandmaps mitigations=off tsc=reliable nowatchdog"
                " random.trust_cpu=off random.trust_bootloader=off cryptomgr.notests audit=0 lsm= psi=0 init_on_alloc=0"
                " cpuidle.off=1")


def tool(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    if path is None:
        raise LabError(f"'{name}' is missing: run scripts/setup --lab")
    return path


def machine(snapshot, work, processor, shift):
    """Returns the command that starts a guest whose files are in `snapshot` and `work`. An instruction takes
    2^shift ns; the clock jumps while everything is idle. QEMU's threads hand over to each other at every wait,
    which is cheap on one processor and expensive across two."""
    return [
        # A guest does not outlive this process, however that ends.
        tool("setpriv"), "--pdeathsig", "KILL", tool("taskset"), "-c", str(processor),
        tool("qemu-system-x86_64"),
        "-accel", "tcg,thread=single,tb-size=256", "-icount", f"shift={shift},sleep=off",
        "-rtc", "base=2026-01-01,clock=vm", "-seed", "1",
        # Fast string operations would count as one instruction however long they are; the
        # processor's random numbers would come from the host.
        "-cpu", "max,-erms,-fsrm,-rdrand,-rdseed", "-smp", "1", "-m", str(MEMORY_MIB),
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-device", "pvpanic", "-action", "panic=pause", "-device", "isa-debug-exit,iobase=0x501,iosize=1",
        "-serial", f"file:{work}/console",
        "-device", "virtio-serial-pci", "-chardev", f"file,id=result,path={work}/result",
        "-device", "virtserialport,chardev=result,name=result",
        "-fw_cfg", f"name=opt/simco/job,file={work}/job",
        "-qmp", f"unix:{work}/qmp,server=on,wait=off",
        "-kernel", f"{snapshot}/vmlinux", "-initrd", f"{snapshot}/initramfs", "-append", COMMAND_LINE,
    ]


class Monitor:
    """The part of QEMU's monitor protocol that is needed here."""

    def __init__(self, path, process):
        self.events = []
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(600):
            try:
                self.socket.connect(str(path))
                break
            except OSError as error:
                if process.poll() is not None:
                    raise LabError("qemu-system-x86_64 exited at once: " + process.stderr.read().decode()) from error
                time.sleep(0.05)
        self.file = self.socket.makefile("rw")
        self._read()
        self.command("qmp_capabilities")

    def close(self):
        self.file.close()
        self.socket.close()

    def _read(self):
        line = self.file.readline()
        if not line:
            raise LabError("qemu-system-x86_64 exited unexpectedly")
        return json.loads(line)

    def command(self, name, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}))
        self.file.flush()
        while True:
            answer = self._read()
            if "event" in answer:
                self.events.append(answer["event"])
            elif "error" in answer:
                raise LabError(f"qemu's {name}: {answer['error']['desc']}")
            else:
                return answer["return"]

    def wait_for(self, event, limit_s):
        self.socket.settimeout(limit_s)
        try:
            while event not in self.events:
                answer = self._read()
                if "event" in answer:
                    self.events.append(answer["event"])
        except TimeoutError as error:
            raise LabError(f"the guest did not boot within {limit_s} s") from error
        finally:
            self.socket.settimeout(None)

    def migrated(self):
        while True:
            status = self.command("query-migrate").get("status")
            if status == "completed":
                return
            if status in ("failed", "cancelled"):
                raise LabError("could not save or restore the state of the machine")
            time.sleep(0.02)


@contextlib.contextmanager
def started(command, work):
    """The process of a guest with its files in `work`, and its monitor. In the end it is killed."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        monitor = Monitor(work / "qmp", process)
        yield process, monitor
        monitor.close()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def said_by(command):
    """Returns what a command prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{Path(command[0]).name}: {done.stderr.strip()}")
    return done.stdout


def compile_drd(target):
    """Compiles the programs of the queue DRD, always to the same octets."""
    said_by([tool(COMPILER), "-O2", "-g", "-target", "bpf", "-Wall", "-Werror", f"-I/usr/include/{os.uname().machine}-linux-gnu",
             "-ffile-prefix-map=" + str(HERE) + "=.", "-fdebug-compilation-dir=.", "-c", HERE / "vm" / "drd.c", "-o", target])


class Guest:
    """Saves the machine's state unless that has been done before, and runs points from it."""

    def __init__(self, programs, shift=0, further=()):
        """`further`: paths of files that the points need besides the usual programs."""
        self.programs = Path(programs)
        self.further = further
        self.shift = shift
        for name in PROGRAMS:
            if not (self.programs / name).exists():
                raise LabError(f"{self.programs / name} is missing: build first"
                               " (cmake --preset release && cmake --build --preset release)")
        self.snapshot = None
        self.kernel = ""
        self.lacking = []  # modules of FURTHER_MODULES that its kernel has not

    def prepare(self, say=lambda text: None):
        kernel = Path(said_by([HERE / "vm" / "kernel-cache"]).strip())
        self.kernel = kernel.name
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            binaries = [tool(name) for name in TOOLS] + [self.programs / name for name in PROGRAMS]
            compile_drd(work / drd.OBJECT)
            there = available_modules(kernel)
            self.lacking = [name for name in FURTHER_MODULES if name not in there]
            chosen = " ".join((*MODULES, *(name for name in FURTHER_MODULES if name in there)))
            said_by([HERE / "vm" / "make-initramfs", kernel, work / "initramfs", HERE / "guest-init", chosen,
                       HERE / "point", HERE / "network", work / drd.OBJECT, *binaries, *self.further])
            key = self._key(kernel, work / "initramfs")
            self.snapshot = CACHE / key
            if (self.snapshot / "state").exists():
                os.utime(self.snapshot)
                return
            say("booting the guest (once for these programs)")
            shutil.copy(kernel / "vmlinux", work / "vmlinux")
            self._boot(work)
            CACHE.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(dir=CACHE))
            for name in ("vmlinux", "initramfs", "state"):
                shutil.copy(work / name, fresh / name)
            try:
                fresh.rename(self.snapshot)
            except OSError:  # another run was faster
                shutil.rmtree(fresh)
        self._forget_old()

    def _machine(self, snapshot, work, processor):
        return machine(snapshot, work, processor, self.shift)

    def _key(self, kernel, initramfs):
        digest = hashlib.sha256(kernel.name.encode())
        digest.update(initramfs.read_bytes())
        digest.update(" ".join(self._machine("", "", 0)[6:]).encode())
        return digest.hexdigest()[:16]

    def _boot(self, work):
        (work / "job").write_bytes(b"")
        with started(self._machine(work, work, last_processor()), work) as (process, monitor):
            monitor.wait_for("GUEST_PANICKED", BOOT_LIMIT_S)
            monitor.command("migrate-set-parameters", **{"max-bandwidth": 1 << 34})
            monitor.command("migrate", uri=f"exec:cat > {work}/state")
            monitor.migrated()
            monitor.command("quit")
            process.wait()

    @staticmethod
    def _forget_old():
        kept = sorted((path for path in CACHE.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
        for old in kept[:-SNAPSHOTS_KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def run(self, job, out, processor, limit_s):
        """Runs the job (a tar file) and leaves its results in the folder `out`."""
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            (work / "job").write_bytes(job)
            command = [*self._machine(self.snapshot, work, processor), "-incoming", f"exec:cat {self.snapshot}/state"]
            with started(command, work) as (process, monitor):
                monitor.migrated()
                monitor.command("cont")
                try:
                    process.wait(timeout=limit_s)
                except subprocess.TimeoutExpired as error:
                    raise LabError(f"the guest did not finish within {limit_s} s: {self._console(work)}") from error
            self._unpack(work, out)

    def shell(self, work):
        """Opens a shell in the guest on this terminal. Returns its exit code."""
        (work / "job").write_bytes(archive({"shell": "", "entropy": "1"}))
        command = [word.replace(f"file:{work}/console", "mon:stdio")
                   for word in self._machine(self.snapshot, work, last_processor())]
        process = subprocess.Popen([*command, "-incoming", f"exec:cat {self.snapshot}/state"])
        monitor = Monitor(work / "qmp", process)
        monitor.migrated()
        monitor.command("cont")
        return process.wait()

    @staticmethod
    def _console(work):
        lines = (work / "console").read_text(errors="replace").splitlines()
        return " / ".join(lines[-5:])

    def _unpack(self, work, out):
        try:
            with tarfile.open(fileobj=io.BytesIO((work / "result").read_bytes())) as tar:
                tar.extractall(out)
        except tarfile.TarError as error:
            raise LabError(f"the guest produced no result: {self._console(work)}") from error


def available_modules(kernel):
    """Returns the modules that a kernel has, loadable and built in."""
    [folder] = (kernel / "lib" / "modules").iterdir()
    listed = (folder / "modules.dep").read_text() + (folder / "modules.builtin").read_text()
    return {Path(line.split(":")[0]).stem for line in listed.splitlines()}


def last_processor():
    return max(os.sched_getaffinity(0))
