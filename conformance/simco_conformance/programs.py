"""The programs that are tested, if it is this one that starts them."""

import contextlib
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from .wire import Failed, Patience

ENDED = (0, -signal.SIGTERM, 128 + signal.SIGTERM)  # of a program that is told to stop
ATTEMPTS = 5  # to find a port that nobody else takes meanwhile


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def filled(command, **values):
    """Returns the words of a command, with each {name} replaced."""
    words = shlex.split(command)
    for name, value in values.items():
        words = [word.replace("{" + name + "}", str(value)) for word in words]
    return words


class Started:
    """A middlebox that a command starts, for a `with`: {config} in it is a file with the configuration, {port} its port."""

    def __init__(self, command, configuration, connect):
        self.command, self.configuration, self.connect = command, configuration, connect
        self.host = "127.0.0.1"

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        (Path(self.folder.name) / "middlebox.toml").write_text("\n".join(self.configuration) + "\n")
        for _ in range(ATTEMPTS):
            self.port = free_port()
            words = filled(self.command, config=f"{self.folder.name}/middlebox.toml", port=self.port)
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self._listens():
                return self
            if self.process.wait() < 0:  # it was this that ended it
                break
        self.folder.cleanup()
        raise Failed(f"the middlebox does not start: {self.command}")

    def _listens(self):
        """Waits until somebody can connect, or the program has ended."""
        for _ in range(int(Patience.seconds * 20)):
            if self.process.poll() is not None:
                return False
            with contextlib.suppress(OSError), self.connect(self):
                return True
            time.sleep(0.05)
        self.process.kill()
        return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)

    def __exit__(self, failure, *_):
        self.stop()
        try:
            code = self.process.wait(Patience.seconds)
        except subprocess.TimeoutExpired:
            code = "a hang"
        finally:
            self.process.kill()
            self.process.wait()
            self.folder.cleanup()
        if code not in ENDED and failure is None:
            raise Failed(f"the middlebox ends with {code}")


class Running:
    """A middlebox that runs already."""

    def __init__(self, host, port):
        self.host, self.port = host, port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
