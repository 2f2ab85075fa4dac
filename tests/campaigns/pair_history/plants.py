"""Faults planted into the product while a schedule runs, to see that the campaign finds them. The tree is
not changed: each plant changes a copy, a word or an address."""
import signal
import subprocess
import threading
import time

from .drop import Proxy


class Plant:
    """Nothing is changed."""

    def state(self, url):
        """Of the middlebox."""
        return url

    def takeover(self, script):
        """simco-takeover."""
        return script

    def peer(self, address):
        """Where the other box's Redis is."""
        return address

    def boot(self, box):
        """Before the processes of a box start."""


class ForgetsStop(Plant):
    """simco-takeover that does not stop the middlebox of the box that loses the addresses."""

    def takeover(self, script):
        for command in ("timeout 5 $CLOSE 8>&- 9>&- || true", "$STOP 9>&-"):
            assert command in script
            script = script.replace(command, "true")
        return script


class ForgetsRole(Plant):
    """simco-takeover that does not have Redis keep its role: a replica that restarts is a primary."""

    def takeover(self, script):
        changed = script.replace("redis config rewrite", "true", 1)
        assert changed != script
        return changed


class Unreplicated(Plant):
    """Each box has its rules in a Redis that nothing replicates."""

    def state(self, url):
        return url.replace("127.0.0.1", "127.0.0.1:6380")

    def boot(self, box):
        subprocess.Popen(box.host.words("redis-server", "--port", "6380", "--save", "", "--logfile", "/dev/null"),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class DropsDeletions(Plant):
    """The second box's Redis does not get the deletions of rules: HDEL has become HGET on the way."""

    def peer(self, address):
        self.real = address.split()
        return "127.0.0.1 6381"

    def boot(self, box):
        real = (f"10.99.0.{box.peer}", 6379)
        threading.Thread(target=lambda: box.host.run(Proxy(real, b"HDEL", b"HGET").run), daemon=True).start()


class FrozenFollower(Plant):
    """The middlebox that follows is stopped, again and again, a moment after it has begun to."""

    def boot(self, box):
        threading.Thread(target=self.freeze, args=(box,), daemon=True).start()

    @staticmethod
    def freeze(box):
        while True:
            time.sleep(0.5)
            if box.last_word() == "follows":
                box.signal("middlebox", signal.SIGSTOP)


class DeafToReplicas(Plant):
    """The middlebox that is to wait for the replica does not."""

    def state(self, url):
        return url.replace("?replicas=1", "")


PLANTS = {"none": Plant, "forgets-stop": ForgetsStop, "forgets-role": ForgetsRole, "unreplicated": Unreplicated,
          "drops-deletions": DropsDeletions, "frozen-follower": FrozenFollower, "deaf-to-replicas": DeafToReplicas}
