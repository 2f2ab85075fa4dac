"""The examples in C++ and Python, as they are shipped, against a real middlebox. SIMCO_EXAMPLES names the
folder of those that were built. (python_agent_test.py has those in C.)"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from python_agent_test import Middlebox

SOURCES = Path(__file__).resolve().parents[3] / "agent" / "examples"
CALL = ("10.0.0.5:5004/2", "192.0.2.7:6000/2")


def example(name):
    return str(Path(os.environ["SIMCO_EXAMPLES"]) / name)


def said_by(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    return plain(done.stdout)


def plain(text):
    """With the lowest identifier as 1."""
    ids = [int(number) for number in re.findall(r"\d{7,}", text)]
    return re.sub(r"\d{7,}", lambda number: str(int(number[0]) - min(ids) + 1), text)


class Examples(unittest.TestCase):
    def test_a_call(self):
        opened = "rule 1: external hosts send to 10.0.0.5:5004/2"
        with Middlebox() as box:
            self.assertEqual(said_by(example("coroutine"), box.address, *CALL), f"{opened}\nclosed\n")
        with Middlebox() as box:
            self.assertEqual(said_by(sys.executable, SOURCES / "pinhole.py", box.address, *CALL), f"{opened}\nclosed\n")
        with Middlebox() as box:
            self.assertEqual(said_by(example("future"), box.address, *CALL), f"reservation 1\n{opened}\n")

    def test_many_at_once(self):
        with Middlebox() as box:
            internal = [f"10.0.0.{host}:5004" for host in range(1, 50)]
            said = said_by(example("callback"), box.address, "192.0.2.7:6000", *internal)
            self.assertEqual(sorted(said.split("\n")), sorted([""] + [f"rule {i}: 60 s" for i in range(1, 50)]))

    def test_wrong_use_is_one_line(self):
        for name in ("coroutine", "callback", "future", "reconnect"):
            done = subprocess.run([example(name)], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertTrue(done.stderr.startswith(f"usage: {name} "))
        with Middlebox() as box:
            done = subprocess.run([example("coroutine"), box.address, "10.0.0.5:5004/2", "phone.example"],
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.startswith("coroutine: external 'phone.example': "))

    def test_reconnects_and_finds_its_rule_again(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket() as reserved:
            # Bound and not listening: nobody else gets the port while the middlebox is away.
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            options = ("--state", str(Path(folder) / "rules.db"))
            port = reserved.getsockname()[1]
            with Middlebox(*options, port=port) as box:
                with subprocess.Popen([example("reconnect"), box.address, *CALL], stdout=subprocess.PIPE,
                                      text=True) as agent:
                    opened = agent.stdout.readline()
                    self.assertEqual(plain(opened), "rule 1: external hosts send to 10.0.0.5:5004/2\n")
                    box.process.kill()
                    box.process.wait()
                    self.assertEqual(agent.stdout.readline(), "session: lost the connection to the middlebox\n")
                    with Middlebox(*options, port=port):
                        line = agent.stdout.readline()
                        while line != "session: open again\n":  # attempts before the middlebox was there
                            self.assertTrue(line.startswith("session: "), line)
                            line = agent.stdout.readline()
                        agent.send_signal(signal.SIGTERM)
                        self.assertEqual(agent.stdout.read(), "closed\n")
                    self.assertEqual(agent.wait(), 0)

    def test_opens_another_pinhole_when_it_was_lost(self):
        with Middlebox() as box:
            with subprocess.Popen([example("reconnect"), box.address, *CALL], stdout=subprocess.PIPE,
                                  text=True) as agent:
                first = int(re.match(r"rule (\d+): ", agent.stdout.readline())[1])
                said_by(os.environ["SIMCO_CTL"], "--connect", box.address, "delete", str(first))
                self.assertEqual(agent.stdout.readline(), f"rule {first} is lost\n")
                self.assertTrue(agent.stdout.readline().startswith(f"rule {first + 1}: "))
                agent.terminate()
                self.assertEqual(agent.stdout.read(), "closed\n")


if __name__ == "__main__":
    unittest.main()
