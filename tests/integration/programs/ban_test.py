"""doc/ban.md: the real fail2ban and CrowdSec's custom bouncer, with the configuration of the page, block real packets of an address and
let them pass again. SIMCO_PROGRAMS is the folder of the programs."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from pages import own_network

TREE = Path(__file__).resolve().parents[3]
PAGE = (TREE / "doc" / "ban.md").read_text()
INSTALLED = "/usr/libexec/simco-ban"
PATIENCE = 300  # seconds; only ends a test that hangs
MACHINE, VISITOR = "192.0.2.1", "192.0.2.9"
OWN = [*own_network(os.geteuid() == 0), "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
INSIDE = "SIMCO_BAN_TEST"


def block(language, nth=0):
    """Returns a block of the page, with the script of the tree."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found[nth].replace(INSTALLED, str(TREE / "scripts" / "packages" / "simco-ban"))


def eventually(holds, what):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.02)


class Decisions(BaseHTTPRequestHandler):
    """The part of CrowdSec that its bouncers ask."""

    answers = []

    def do_GET(self):
        decisions = self.answers.pop(0) if self.answers else {}
        body = json.dumps({"new": None, "deleted": None, **decisions}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class BanTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="simco-ban-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.programs = []
        self.addCleanup(self.stop)
        (self.folder / "ban.secret").write_text("sesame\n")
        (self.folder / "box.toml").write_text(
            'backend = "nftables"\nguard = ["udp:30000"]\nport = 17626\nkeep-rules = false\n' + block("toml"))
        (self.folder / "simco").mkdir()
        (self.folder / "simco" / "simcoctl.toml").write_text(
            f'connect = "127.0.0.1:17626"\nname = "ban"\nsecret-file = "{self.folder}/ban.secret"\n')
        os.environ["XDG_CONFIG_HOME"] = str(self.folder)
        self.start("simco-middlebox", "--config", self.folder / "box.toml")
        eventually(lambda: self.ctl("list", "--pids").returncode == 0, "a session")
        self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.server.bind((MACHINE, 5060))
        self.addCleanup(self.server.close)

    def start(self, *words):
        log = open(self.folder / "log", "a")
        self.programs.append(subprocess.Popen([str(word) for word in words], stdout=log, stderr=log))
        log.close()

    def stop(self):
        for program in reversed(self.programs):
            program.terminate()
            program.wait(PATIENCE)

    def ctl(self, *words):
        return subprocess.run(["simcoctl", *words], capture_output=True, text=True)

    def passes(self):
        """Of packets that the visitor and the machine's neighbour send in this order, the visitor's arrives."""
        for sender in (VISITOR, "192.0.2.8"):
            subprocess.run(["ip", "netns", "exec", "visitor", "python3", "-c",
                            "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((sys.argv[1], 0));"
                            "s.sendto(sys.argv[1].encode(), (sys.argv[2], 5060))", sender, MACHINE], check=True)
        first = self.server.recv(100).decode()
        if first == VISITOR:
            self.server.recv(100)
        return first == VISITOR

    def is_blocked(self, blocked):
        rules = [json.loads(line) for line in self.ctl("--json", "list").stdout.splitlines()]
        there = any(rule["kind"] == "disabled" and rule["external"]["text"] == VISITOR for rule in rules)
        return there == blocked

    def expect(self, blocked):
        eventually(lambda: self.is_blocked(blocked), f"blocked: {blocked}\n{(self.folder / 'log').read_text()}")
        self.assertEqual(self.passes(), not blocked)

    def test_fail2ban(self):
        self.expect(False)
        config = self.folder / "fail2ban"
        shutil.copytree("/etc/fail2ban", config)
        (config / "action.d" / "simco.conf").write_text(block("ini"))
        log = self.folder / "auth.log"
        log.write_text("")
        (config / "fail2ban.local").write_text(
            f"[Definition]\nlogtarget = {self.folder}/log\nsocket = {self.folder}/socket\npidfile = {self.folder}/pid\ndbfile = None\n")
        (config / "jail.local").write_text(
            f"[DEFAULT]\nbanaction = simco\nbackend = polling\nmaxretry = 1\n[sshd]\nenabled = true\nlogpath = {log}\n")
        self.start("fail2ban-server", "-f", "-c", config)
        client = ["fail2ban-client", "-s", self.folder / "socket"]
        eventually(lambda: subprocess.run([*client, "status", "sshd"], capture_output=True).returncode == 0, "the jail")
        with log.open("a") as lines:
            lines.write(f"{time.strftime('%b %d %H:%M:%S')} host sshd[1]: Failed password for root from {VISITOR} port 5 ssh2\n")
        self.expect(True)
        subprocess.run([*client, "unban", VISITOR], check=True, capture_output=True)
        self.expect(False)

    def test_crowdsec(self):
        self.expect(False)
        ban = {"duration": "10m", "origin": "test", "scenario": "test", "scope": "Ip", "type": "ban", "value": VISITOR}
        Decisions.answers = [{"new": [ban]}]
        api = HTTPServer(("127.0.0.1", 18080), Decisions)
        threading.Thread(target=api.serve_forever).start()
        self.addCleanup(api.server_close)
        self.addCleanup(api.shutdown)
        config = Path("/etc/crowdsec/bouncers/crowdsec-custom-bouncer.yaml").read_text()
        for key, value in {"api_url": "http://127.0.0.1:18080", "api_key": "key", "update_frequency": "1s", "daemonize": "false",
                           "log_mode": "stdout", "piddir": f"{self.folder}/", "bin_path": block("yaml").split()[1]}.items():
            config, changed = re.subn(rf"(?m)^{key}:.*", f"{key}: {value}", config)
            self.assertEqual(changed, 1, key)
        (self.folder / "bouncer.yaml").write_text(config.replace("enabled: true", "enabled: false"))
        self.start("crowdsec-custom-bouncer", "-c", self.folder / "bouncer.yaml")
        self.expect(True)
        Decisions.answers = [{"deleted": [{**ban, "duration": "-1s"}]}]
        self.expect(False)

    def test_an_address_that_is_blocked_twice_is_free_again(self):
        script = TREE / "scripts" / "packages" / "simco-ban"
        for _ in range(2):
            subprocess.run([script, "add", VISITOR, "600"], check=True, capture_output=True)
        self.expect(True)
        subprocess.run([script, "del", VISITOR], check=True, capture_output=True)
        self.expect(False)
        subprocess.run([script, "del", VISITOR], check=True, capture_output=True)
        self.assertEqual(subprocess.run([script, "add"], capture_output=True).returncode, 2)


def main():
    if INSIDE in os.environ:
        subprocess.run("mount -t tmpfs none /run && ip link set lo up && ip netns add visitor &&"
                       "ip link add int0 type veth peer name eth0 netns visitor && ip addr add 192.0.2.1/24 dev int0 && ip link set int0 up &&"
                       "ip -n visitor addr add 192.0.2.9/24 dev eth0 && ip -n visitor addr add 192.0.2.8/24 dev eth0 &&"
                       "ip -n visitor link set eth0 up", shell=True, check=True)
        return unittest.main()
    if subprocess.run([*OWN, "true"], capture_output=True).returncode != 0:
        return print("this machine: has no network namespaces")
    path = f"{os.environ['SIMCO_PROGRAMS']}:{os.environ['PATH']}:/usr/sbin:/sbin"
    sys.exit(subprocess.run([*OWN, sys.executable, "-B", __file__, *sys.argv[1:]], env={**os.environ, INSIDE: "1", "PATH": path}).returncode)


if __name__ == "__main__":
    main()
