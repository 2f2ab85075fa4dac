"""scripts/demo, as far as it is not setting up and building. SIMCO_PROGRAMS is the folder of the programs."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

from simco_demo import call

PROGRAMS = os.environ["SIMCO_PROGRAMS"]
COMMAND = [sys.executable, "-B", "-m", "simco_demo", "--programs", PROGRAMS, "--count", "200", "--rate", "400"]
PATIENCE = 300  # seconds; only ends a test that hangs
TOO_SLOW = "no packet arrived while the rule lived"


def able():
    words = ["unshare", "--net", "true"] if os.geteuid() == 0 else \
        ["unshare", "--user", "--map-root-user", "--net", "true"]
    return subprocess.run(words, capture_output=True).returncode == 0


def demo(*options, **environment):
    return subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, **environment})


def running_in(networks):
    """Returns the processes in these network namespaces."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "ns" / "net") in networks:
                found.append(int(entry.name))
        except OSError:
            pass  # it has ended, or belongs to another user
    return found


class DemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "out"

    def need_namespaces(self):
        if not able():
            print("this machine: has no network namespaces")
            self.skipTest("this machine: has no network namespaces")

    def check_load(self, text):
        for transport in ("tcp", r"sctp \(\w+, 16 streams\)"):
            self.assertRegex(text, rf"per over {transport}, .*\ntransactions: 200 offered, 200 sent, 200 completed, "
                                   "0 refused, 0 timed out")
        self.assertTrue((self.out / "response-times.png").read_bytes().startswith(b"\x89PNG"))
        for name in ("response-times.svg", "demo.svg"):
            xml.etree.ElementTree.parse(self.out / name)

    def test_packets_are_blocked_allowed_translated_and_not_lost(self):
        self.need_namespaces()
        done = demo("--out", str(self.out))
        while done.returncode == 1 and TOO_SLOW in done.stderr:
            done = demo("--out", str(self.out))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in (r" blocked  ▁+  0 of 75 packets arrived\n", r"\nrule \d+\b.*\b3 s\b",
                     r" passing  [▁-▇]+  [1-9]\d* of \d+ packets arrived\n", r" lifetime over  ▁+  0 of 75 packets",
                     r" translated  .+  75 of 75 packets", r"reached the peer from 198\.51\.100\.1:\d+\n",
                     r" no middlebox  .+  75 of 75 packets"):
            self.assertRegex(done.stdout, line)
        sent, arrived = re.search(r"\n(\d+) packets sent, (\d+) arrived: none was lost", done.stdout).groups()
        self.assertEqual(sent, arrived)
        self.check_load(done.stdout)
        self.assertEqual((self.out / "demo.txt").read_text(), done.stdout)

    def test_without_namespaces_the_rest_is_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            unshare = Path(folder) / "unshare"
            unshare.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
            unshare.chmod(0o755)
            done = demo("--out", str(self.out), PATH=f"{folder}:{os.environ['PATH']}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"No packets are shown: .*: unshare failed: Operation not permitted\n")
        self.check_load(done.stdout)

    def need_call(self):
        self.need_namespaces()
        if packages := call.missing():
            self.fail("scripts/setup --tests installs " + " ".join(packages))

    def test_a_call_passes_on_a_firewall_and_on_a_nat(self):
        self.need_call()
        done = demo("--sip", "--out", str(self.out))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("simcoctl: there are no rules"), 2)
        for label, cells in (("before", ["0 of 75"] * 5), ("during", ["150 of 150"] * 4 + ["0 of 150"]),
                             ("after", ["0 of 75"] * 5)):
            rows = re.findall(rf"^{label} the call +(.*)$", done.stdout, re.MULTILINE)
            self.assertEqual([re.split(r"  +", row) for row in rows], [cells] * 2)
        self.assertRegex(done.stdout, r"rule \d+ reserved: 198\.51\.100\.1:30000/2 for 10\.20\.0\.5:6000/2\n")
        self.assertEqual((self.out / "sip.txt").read_text(), done.stdout)

    def test_an_interrupted_call_leaves_nothing_behind(self):
        self.need_call()
        for how, status in ((signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)):
            self.assertEqual(self.interrupt(how, "--sip", until="DIRECTION"), (status, []))

    def interrupt(self, how, *options, until="blocked  ▁▁"):
        """Sends a signal while packets flow. Returns the exit status, and what runs in the demonstration's networks
        after it."""
        with subprocess.Popen([*COMMAND, *options, "--out", str(self.out)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:
            text = ""
            while until not in text:
                text += process.stdout.read(1) or self.fail("it ended: " + text)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            networks = {os.readlink(f"/proc/{child}/ns/net") for child in children}
            self.assertEqual(len(networks), 3 if options else 1, "of the programs")
            process.send_signal(how)
            process.stdout.read()
            status = process.wait(PATIENCE)
        while (left := running_in(networks)) and how == signal.SIGKILL:
            time.sleep(0.01)  # the kernel ends them, in its own time
        return status, left

    def test_an_interrupted_demonstration_leaves_nothing_behind(self):
        self.need_namespaces()
        self.assertEqual(self.interrupt(signal.SIGINT), (130, []))
        self.assertEqual(self.interrupt(signal.SIGTERM), (143, []))
        self.assertEqual(self.interrupt(signal.SIGKILL), (-signal.SIGKILL, []))


if __name__ == "__main__":
    unittest.main()
