"""simco-takeover, whatever the order in which keepalived's calls arrive, and whatever they wait for. Its commands and Redis are scripts
that write down what they are told."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from patience import PATIENCE, eventually

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "ha" / "simco-takeover"
COMMAND = """#!/bin/sh
echo {name} >>{folder}/events
while [ -e {folder}/hold-{name} ]; do sleep 0.02; done
echo "{name} done" >>{folder}/events
"""
REDIS = """#!/bin/sh
case "$*" in
  *"replicaof no one") printf 'master\\n' >{folder}/role ;;
  *replicaof*) printf 'slave\\n10.99.0.2\\n6379\\n' >{folder}/role ;;
  *role) cat {folder}/role ;;
esac
"""
CONFIG = """PEER="10.99.0.2 6379"
START={folder}/start
STOP={folder}/stop
CLOSE={folder}/close
LOCK={folder}/lock
while [ -e {folder}/hold-$4 ]; do sleep 0.02; done
"""


class TakeoverCalls(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="simco-takeover-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in (("start", COMMAND), ("stop", COMMAND), ("close", COMMAND), ("redis-cli", REDIS)):
            self.write(name, text.format(name=name, folder=self.folder)).chmod(0o755)
        self.write("ha.conf", CONFIG.format(folder=self.folder))
        self.write("events", "")
        self.write("role", "master\n")

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def hold(self, name):
        return self.write(f"hold-{name}", "")

    def call(self, state):
        process = subprocess.Popen([SCRIPT, self.folder / "ha.conf", "GROUP", "simco", state, "100"],
                                   env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        self.addCleanup(process.kill)
        return process

    def events(self):
        return (self.folder / "events").read_text().splitlines()

    def role(self):
        return (self.folder / "role").read_text().split()[0]

    def until(self, event):
        eventually(lambda: event in self.events(), event)

    def test_the_call_that_was_made_last_wins(self):
        held = self.hold("MASTER")
        earlier = self.call("MASTER")
        self.assertEqual(self.call("BACKUP").wait(PATIENCE), 0)
        before = self.events()
        held.unlink()
        self.assertEqual(earlier.wait(PATIENCE), 0)
        self.assertEqual(self.events(), before)
        self.assertEqual(self.role(), "slave")

    def test_a_box_that_loses_its_place_closes_although_an_earlier_call_waits(self):
        held = self.hold("start")
        earlier = self.call("MASTER")
        self.until("start")
        later = self.call("BACKUP")
        self.until("close done")
        self.assertNotIn("start done", self.events())
        held.unlink()
        self.assertEqual((earlier.wait(PATIENCE), later.wait(PATIENCE)), (0, 0))
        self.assertEqual(self.events()[-4:], ["stop", "stop done", "start", "start done"])
        self.assertEqual(self.role(), "slave")

    def test_a_call_that_is_overtaken_starts_nothing(self):
        held = self.hold("stop")
        earlier = self.call("BACKUP")
        self.until("stop")
        later = self.call("STOP")
        self.assertEqual(later.wait(PATIENCE), 0)
        eventually(lambda: self.events().count("close done") == 3, "the second call")
        held.unlink()
        self.assertEqual(earlier.wait(PATIENCE), 0)
        eventually(lambda: self.events().count("stop done") == 2, "the second stop")
        self.assertNotIn("start", self.events())

    def came(self, call):
        eventually(lambda: (self.folder / "lock.youngest").read_text().split()[1] == str(call.pid), "the call")

    def wait(self, *calls):
        self.assertEqual([call.wait(PATIENCE) for call in calls], [0] * len(calls))

    def test_a_closed_middlebox_does_not_serve_again(self):
        starts, stops = self.hold("start"), self.hold("stop")
        first = self.call("MASTER")
        self.until("start")
        second = self.call("BACKUP")
        self.until("close done")
        third = self.call("MASTER")
        self.came(third)
        starts.unlink()
        self.until("stop")
        self.assertEqual(self.role(), "master")
        fourth = self.call("BACKUP")
        eventually(lambda: self.events().count("close done") == 2, "the fourth call")
        stops.unlink()
        self.wait(first, second, third, fourth)
        started = ["start", "close", "close done", "start done"]
        overtaken = ["stop", "close", "close done", "stop done"]  # the third call starts nothing
        last = ["close", "close done", "stop", "stop done", "start", "start done"]
        self.assertEqual(self.events(), [*started, *overtaken, *last])
        self.assertEqual(self.role(), "slave")

    def test_a_box_that_stands_by_is_not_started_again(self):
        self.wait(self.call("BACKUP"))
        before = self.events()
        self.wait(self.call("MASTER"))
        self.assertEqual(self.events()[len(before):], ["start", "start done"])

    def test_a_box_whose_middlebox_does_not_stop_is_started(self):
        self.write("lock.closed", "")
        self.write("stop", "#!/bin/sh\nexit 1\n")
        self.wait(self.call("MASTER"))
        self.assertEqual(self.events(), ["start", "start done"])

    def test_the_file_of_another_boot_or_none_keeps_no_call(self):
        for text in ("", f"{10**12} 1 another-boot\n"):
            self.write("lock.youngest", text)
            self.wait(self.call("MASTER"))
        self.assertEqual(self.events(), ["start", "start done"] * 2)

    def test_keepalived_does_not_wait_for_its_last_call(self):
        held = self.hold("stop")
        self.assertEqual(self.call("STOP").wait(PATIENCE), 0)
        self.until("stop")
        held.unlink()
        self.until("stop done")
        self.assertEqual(self.role(), "slave")


if __name__ == "__main__":
    unittest.main()
