"""The programs and commands in README.md, as they are printed, against a middlebox at their addresses: in a network of their own.
The build has compiled the one in C++."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from pages import own_network, pattern
from python_agent_test import Middlebox

README = (Path(__file__).resolve().parents[3] / "README.md").read_text()
NAT = ("--mode", "nat", "--outside", "198.51.100.1-198.51.100.2")
AT = ("--listen", "127.0.0.1,192.0.2.1", "--allow-anonymous")


def run(words, **environment):
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, **environment})


def sessions_of(chapter):
    """Returns [(command, lines that it prints)] of a chapter."""
    text = README.partition(f"## {chapter}\n")[2].partition("\n## ")[0]
    found = []
    for line in re.findall(r"^    (.*)$", text, re.MULTILINE):
        if line.startswith("$ "):
            found.append((line[2:].split(), []))
        elif found and re.match(r"rule|simcoctl:", line):
            found[-1][1].append(line)
    return found


class ReadmeTest(unittest.TestCase):
    def setUp(self):
        os.environ["PATH"] = str(Path(os.environ["SIMCO_CTL"]).parent) + ":" + os.environ["PATH"]

    def ends_with_its_pinhole(self, *words):
        """Runs a program, which opens a pinhole and ends it. Returns what it has printed."""
        with Middlebox(*AT, port=7626) as box:
            done = run(words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            box.process.terminate()
            log = "".join(box.said) + box.process.stderr.read()
        self.assertEqual(re.findall(r"event=(\w+) .*internal=10\.0\.0\.5:5004/2 external=192\.0\.2\.7:6000/2", log),
                         ["enable", "delete"])
        return done.stdout

    def test_cpp(self):
        program = Path(os.environ["SIMCO_EXAMPLES"]) / "readme"
        self.ends_with_its_pinhole(str(program))
        refused = run([str(program)])  # there is no middlebox
        self.assertIn("refused", refused.stderr)
        self.assertNotEqual(refused.returncode, 0)

    def test_python(self):
        program, = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
        self.assertEqual(self.ends_with_its_pinhole(sys.executable, "-B", "-c", program), "10.0.0.5:5004/2\n")

    def test_command_line(self):
        commands = sessions_of("On the command line")
        self.assertEqual([words[1] for words, _ in commands], ["enable", "reserve", "enable", "delete", "status"])
        known = {}  # identifiers of the page, and those that the middlebox chose
        with Middlebox(*NAT, port=7626):
            for words, lines in commands:
                done = run([known.get(word, word) for word in words])
                said = (done.stdout + done.stderr).splitlines()
                self.assertEqual(len(said), len(lines), (words, said))
                for line, printed in zip(lines, said):
                    self.assertTrue(pattern(line).fullmatch(printed), (line, printed))
                    known.update(zip(re.findall(r"\d{7,}", line), re.findall(r"\d{7,}", printed)))

    def test_without_a_router(self):
        text = README.partition("Without root and without a router:\n\n")[2].partition("\n\n")[0]
        start, *commands = (line.partition("#")[0].split() for line in text.splitlines())
        self.assertEqual((start, len(commands)), (["simco-middlebox"], 2))
        with Middlebox(port=7626):
            for words in commands:
                done = run(words)
                self.assertEqual((done.returncode, done.stderr), (0, ""), words)


if __name__ == "__main__":
    network = own_network(os.geteuid() == 0)
    if "own" in sys.argv[1:]:
        unittest.main(argv=sys.argv[:1])
    elif subprocess.run([*network, "true"], capture_output=True).returncode != 0:
        print("this machine: has no network namespaces")
    else:
        prepare = 'ip link set lo up && ip addr add 192.0.2.1/32 dev lo && exec "$@"'
        os.execvp("unshare", [*network, "sh", "-c", prepare, "sh", sys.executable, "-B", __file__, "own"])
