#!/usr/bin/python3
"""simco-conformance finds what is wrong, and says so: middleboxes and agents made for the purpose."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "conformance" / "simco-conformance"
MIDDLEBOX = os.environ["SIMCO_MIDDLEBOX"]


def conformance(*words):
    patience = () if "--timeout" in words else ("--timeout", "120")  # for a peer that hangs, not for a slow machine
    done = subprocess.run([sys.executable, "-B", PROGRAM, *map(str, words), *patience], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class Deaf:
    """A middlebox that closes every connection, at once or after an answer to the first request, for a `with`."""

    def __init__(self, answer=None):
        self.answer = answer

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self):
        try:
            while True:
                accepted, _ = self.listener.accept()
                with accepted:
                    if self.answer and accepted.recv(1000):
                        accepted.sendall(self.answer)
        except OSError:
            pass

    def __exit__(self, *_):
        self.listener.close()


class Conformance(unittest.TestCase):
    def test_a_middlebox_that_says_nothing_fails(self):
        with Deaf() as address, tempfile.TemporaryDirectory() as folder:
            code, out, _ = conformance("middlebox", "--connect", address, "--only", "0320", "--junit", f"{folder}/results.xml")
            self.assertEqual(code, 1)
            self.assertIn("step 2: the connection is closed instead of SE positive reply", out)
            self.assertIn("0 passed, 1 failed, 0 skipped", out)
            suite = xml.parse(f"{folder}/results.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        self.assertEqual(suite[0].get("classname"), "rfc4540.7.2")

    def test_what_cannot_be_run_is_skipped_with_its_reason(self):
        with Deaf() as address:
            code, out, _ = conformance("middlebox", "--connect", address, "--only", "0321-lack")
        self.assertEqual(code, 0)
        self.assertRegex(out, "skip .*0321-lack-of-resources")
        self.assertIn("it needs --start: ", out)

    def test_a_middlebox_that_does_not_start_fails(self):
        code, out, _ = conformance("middlebox", "--start", f"{shutil.which('false')} {{config}} {{port}}", "--only", "firewall-ipv6")
        self.assertEqual(code, 1)
        self.assertIn("the middlebox does not start", out)

    def test_an_agent_that_does_nothing_fails(self):
        for does in ("true", "false"):
            code, out, _ = conformance("agent", "--run", f"{shutil.which(does)} {{address}}")
            self.assertEqual(code, 1)
            self.assertIn("the agent does not ask PER", out)
            self.assertIn("0 passed", out)

    def test_an_agent_that_speaks_something_else_fails(self):
        speaks = "import socket,sys; s=socket.create_connection(sys.argv[1].split(':')); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')"
        code, out, _ = conformance("agent", "--only", "a-rule", "--run", f'{sys.executable} -c "{speaks}" {{address}}')
        self.assertEqual(code, 1)
        self.assertIn("is not a message", out)

    def test_cases_have_a_section_and_a_sentence(self):
        for side in (("middlebox", "--connect", "127.0.0.1:1"), ("agent", "--run", "none {address}")):
            code, out, _ = conformance(*side, "--list")
            self.assertEqual(code, 0)
            lines = out.splitlines()
            self.assertGreater(len(lines), 50)
            for case, sentence in zip(lines[::2], lines[1::2], strict=True):
                self.assertRegex(case, r"^\d")
                self.assertRegex(sentence, r"^ {14}\S")

    def test_over_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=box",
                            "-keyout", f"{folder}/key", "-out", f"{folder}/certificate"], capture_output=True, check=True)
            (Path(folder) / "both").write_text((Path(folder) / "certificate").read_text() + (Path(folder) / "key").read_text())
            start = (f"{MIDDLEBOX} --config {{config}} --listen 127.0.0.1 --port {{port}} --tls-certificate {folder}/certificate"
                     f" --tls-key {folder}/key --tls-ca {folder}/certificate --log-level error")
            code, out, _ = conformance("middlebox", "--start", start, "--transport", "tls", "--certificate", f"{folder}/both",
                                       "--only", "firewall")
        self.assertEqual((code, out.splitlines()[-1]), (0, "3 passed, 0 failed, 0 skipped"), out)

    def test_mistakes_are_said(self):
        for words, said in ((("middlebox", "--connect", "here"), "is not HOST:PORT"),
                            (("middlebox", "--connect", "here:99999"), "is not HOST:PORT"),
                            (("middlebox", "--start", "box {port}"), "{config} must be in 'box {port}'"),
                            (("agent", "--run", "'{address}"), "No closing quotation"),
                            (("agent", "--run", "none {address}", "--only", "nothing"), "no case has 'nothing'"),
                            (("agent", "--run", "none {address}", "--junit", "/nonexistent/x"), "can't open '/nonexistent/x'")):
            code, _, err = conformance(*words)
            self.assertEqual(code, 2)
            self.assertIn(said, err)

    def test_a_peer_that_closes_in_the_middle_is_a_fault_of_that_case(self):
        with Deaf(answer=bytes.fromhex("0201000c00000001" "000400089000000000000e10")) as address:
            code, out, err = conformance("middlebox", "--connect", address, "--only", "0313")
        self.assertEqual((code, err), (1, ""))
        self.assertIn("0 passed, 1 failed", out)

    def test_a_silent_peer_is_a_fault(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            code, out, _ = conformance("middlebox", "--connect", f"127.0.0.1:{listener.getsockname()[1]}", "--only", "0320", "--timeout", "0.2")
        self.assertEqual(code, 1)
        self.assertIn("nothing comes within 0.2 s", out)


if __name__ == "__main__":
    unittest.main()
