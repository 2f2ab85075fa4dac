"""simco-middlebox as a process, in a network namespace or in this one."""

import pathlib
import signal
import subprocess
import tempfile
import time

from .namespace import Failure

ROUTER = ["--backend", "nftables", "--internal-if", "int0", "--external-if", "ext0"]
GUARD = 60.0  # seconds until it counts as hanging


class Middlebox:
    """Ends with this process at the latest, whatever becomes of it. `namespace` may be None; `folder` is where it
    finds relative paths."""

    def __init__(self, programs, namespace, *options, folder=None):
        self.log = tempfile.NamedTemporaryFile(mode="w+", suffix=".log")
        words = ["setpriv", "--pdeathsig", "KILL", str(pathlib.Path(programs).resolve() / "simco-middlebox"), "--port", "0",
                 *options]
        self.process = subprocess.Popen(namespace.words(*words) if namespace else words, cwd=folder,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def text(self):
        """Returns the log."""
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def expect_running(self):
        """Throws Failure if it has ended."""
        if self.process.poll() is not None:
            lines = self.text().splitlines() or [f"exit status {self.process.returncode}"]
            raise Failure(f"the middlebox does not run: {lines[-1]}")

    def has_logged(self, text):
        """Returns whether it has, so far. Throws Failure if it has ended."""
        self.expect_running()
        return text in self.text()

    def ports(self):
        """Returns {transport: port} of what it listens on so far. Throws Failure if it has ended."""
        self.expect_running()
        words = [line.split() for line in self.text().splitlines() if " listening on " in line]
        return {line[-2]: int(line[-1].rpartition(":")[2]) for line in words}

    def listening(self, *transports):
        """Waits until it listens, and returns the ports."""
        end = time.monotonic() + GUARD
        while not set(transports) <= set(ports := self.ports()):
            if time.monotonic() > end:
                raise Failure("the middlebox does not start:\n" + self.text())
            time.sleep(0.01)
        return [ports[transport] for transport in transports]

    def stop(self, how=signal.SIGTERM):
        """Ends it, and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(GUARD)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)
