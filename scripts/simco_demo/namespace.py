"""Network namespaces without names: they vanish with the process that made them, whatever becomes of it."""

import ctypes
import os
import socket
import subprocess
import threading

_libc = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNET = 0x40000000


class Failure(Exception):
    """A step that did not work, or a packet that was where it must not be."""


class Namespace:
    """A network namespace of its own, with lo up."""

    def __init__(self):
        thread = threading.Thread(target=self._make)
        thread.start()
        thread.join()
        if self.descriptor is None:
            raise Failure("this process may not create network namespaces")
        self.shell("ip link set lo up; for c in default all; do "
                   "echo 0 >/proc/sys/net/ipv6/conf/$c/accept_dad; "
                   "echo 0 >/proc/sys/net/ipv4/conf/$c/rp_filter; done; "
                   "echo 0 >/proc/sys/net/ipv6/conf/default/router_solicitations")

    def _make(self):
        self.descriptor = None
        if _libc.unshare(_CLONE_NEWNET) != 0:
            return
        self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.path = f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def run(self, work):
        """Returns the result of `work()`, called by a thread that is in the namespace."""
        result = []

        def enter():
            try:
                if _libc.setns(self.descriptor, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
                result.append((work(), None))
            except Exception as failure:  # for the caller's thread
                result.append((None, failure))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        value, failure = result[0]
        if failure is not None:
            raise failure
        return value

    def words(self, *command):
        """Returns the command that runs `command` in the namespace."""
        return ["nsenter", f"--net={self.path}", *command]

    def shell(self, command, check=True):
        """Runs `command` and returns what it printed. Throws Failure if it failed and `check` is set."""
        done = subprocess.run(self.words("sh", "-c", command), capture_output=True, text=True)
        if check and done.returncode != 0:
            raise Failure(f"failed: {command}\n{done.stderr}")
        return done.stdout

    def socket(self, *kind):
        return self.run(lambda: socket.socket(*kind))
