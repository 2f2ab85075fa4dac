"""A program as a process, in a network namespace or in this one, with its output in a file."""

import pathlib
import signal
import subprocess
import tempfile
import time

from .namespace import Failure

GUARD = 60.0  # seconds until it counts as hanging


class Process:
    """Ends with this process at the latest, whatever becomes of it. `namespace` may be None; `folder` is where it
    finds relative paths."""

    def __init__(self, namespace, *words, folder=None):
        self.name = pathlib.Path(words[0]).name
        self.log = tempfile.NamedTemporaryFile(mode="w+", suffix=".log")
        words = ["setpriv", "--pdeathsig", "KILL", *words]
        self.process = subprocess.Popen(namespace.words(*words) if namespace else words, cwd=folder,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def text(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def expect_running(self):
        """Throws Failure if it has ended."""
        if self.process.poll() is not None:
            lines = self.text().splitlines() or [f"exit status {self.process.returncode}"]
            raise Failure(f"{self.name} does not run: {lines[-1]}")

    def has_logged(self, text):
        """Returns whether it has, so far. Throws Failure if it has ended."""
        self.expect_running()
        return text in self.text()

    def wait_for(self, condition, what):
        """Waits until `condition()` holds. Throws Failure if it ends before, or that takes too long."""
        end = time.monotonic() + GUARD
        while not condition():
            self.expect_running()
            if time.monotonic() > end:
                raise Failure(f"{self.name} {what}:\n" + self.text())
            time.sleep(0.01)

    def stop(self, how=signal.SIGTERM):
        """Ends it, and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(GUARD)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)
