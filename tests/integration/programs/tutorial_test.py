"""doc/tutorial.md: its commands, run as a reader pastes them, print the lines of the page. SIMCO_PROGRAMS is the folder of the
programs."""

import os
import re
import subprocess
import threading
import time
import unittest
from pathlib import Path

from pages import own_network, pattern

TREE = Path(__file__).resolve().parents[3]
PAGE = TREE / "doc" / "tutorial.md"
PATIENCE = 300  # seconds; only ends a test that hangs
BLOCK = re.compile(r"^```sh\n(.*?)^```$(?:[^`]*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
APT = "sudo apt install ./build/packages/*.deb "
# A network, names of namespaces and processes of its own: all vanish with the shell.
OWN = [*own_network(os.geteuid() == 0), "--mount", "--pid", "--fork", "--kill-child=KILL", "sh", "-c",
       'mount -t tmpfs none /run && exec "$@"', "sh"]


class CallIsOver(Exception):
    """The machine was too slow to ask during the call."""


class Shell:
    """A bash, and the lines that it and its jobs have printed."""

    def __init__(self):
        path = f"{os.environ['SIMCO_PROGRAMS']}:{os.environ['PATH']}:/usr/sbin:/sbin"
        self.process = subprocess.Popen([*OWN, "bash"], cwd=TREE, env={**os.environ, "PATH": path, "TERM": "dumb"}, text=True,
                                        bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")))
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stdout.close()

    def has_printed(self, expression, since=0):
        return any(expression.fullmatch(line.rstrip("\n")) for line in self.lines[since:])

    def wait_for(self, expression, since):
        end = time.monotonic() + PATIENCE
        while not self.has_printed(expression, since):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"not printed: {expression.pattern}\n" + "".join(self.lines))
            time.sleep(0.02)

    def run(self, commands):
        """Returns the number of lines before those that they print."""
        since = len(self.lines)
        self.process.stdin.write(commands + "echo status $?\n")
        self.wait_for(re.compile("status 0"), since)
        return since

    def look(self, commands, expressions):
        """Asks until the answers are those of the page: a packet may still be on its way."""
        while True:
            over = self.has_printed(re.compile(r".* rule \d+: ended"))
            since = self.run(commands)
            missing = [one.pattern for one in expressions if not self.has_printed(one, since)]
            if not missing:
                return
            if over:
                raise CallIsOver("\n".join(["not printed:", *missing, *self.lines]))


def follow(blocks):
    """Pastes the page into a shell. Throws AssertionError if a line is not printed, CallIsOver if it was too late."""
    with Shell() as shell:
        for commands, text in blocks:
            expressions = [pattern(line) for line in text.splitlines()]
            if all(line.startswith("$router simcoctl ") and not line.endswith("&") for line in commands.splitlines()):
                shell.look(commands, expressions)
                continue
            since = shell.run(commands)
            for expression in expressions:
                shell.wait_for(expression, since)


class TutorialTest(unittest.TestCase):
    def setUp(self):
        (self.install, _), *self.blocks = BLOCK.findall(PAGE.read_text())

    def test_the_commands_print_the_lines_of_the_page(self):
        if subprocess.run([*OWN, "true"], capture_output=True).returncode != 0:
            print("this machine: has no network namespaces")
            self.skipTest("this machine: has no network namespaces")
        for tries_left in (2, 1, 0):
            try:
                return follow(self.blocks)
            except CallIsOver:
                if not tries_left:
                    raise

    def test_the_programs_to_install_are_there(self):
        made, installed, stopped = self.install.splitlines()
        for program in re.findall(r"\S+/\S+", made):
            self.assertTrue(os.access(TREE / program, os.X_OK), program)
        self.assertTrue(installed.startswith(APT))
        for package in installed.removeprefix(APT).split():
            done = subprocess.run(["dpkg", "-s", package], capture_output=True)
            self.assertEqual(done.returncode, 0, f"scripts/setup --tests installs {package}")
        service = stopped.split()[-1]
        self.assertTrue(Path(f"/lib/systemd/system/{service}.service").exists(), "the package starts a service")

    def test_a_line_of_the_page_is_compared(self):
        line = pattern("... rule 7 enabled: 10.0.0.5:6000/2 left 58 s")
        self.assertTrue(line.fullmatch("x rule 12 enabled:  10.0.0.5:6000/2 left 9 s"))
        for other in ("x rule 12 enabled: 10.0.0.6:6000/2 left 9 s", "x rule 12 ended: 10.0.0.5:6000/2 left 9 s"):
            self.assertFalse(line.fullmatch(other))
        self.assertEqual(len([text for _, text in self.blocks if text]), 4)


if __name__ == "__main__":
    unittest.main()
