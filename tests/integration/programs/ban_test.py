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
from patience import PATIENCE, eventually

TREE = Path(__file__).resolve().parents[3]
PAGE = (TREE / "doc" / "ban.md").read_text()
SCRIPT = TREE / "scripts" / "packages" / "simco-ban"
INSTALLED = "/usr/libexec/simco-ban"
MAX_LIFETIME = 3600  # the middlebox's own
# The neighbour's packets show that the visitor's were lost.
MACHINE, VISITOR, NEIGHBOUR = "192.0.2.1", "192.0.2.9", "192.0.2.8"
MACHINE6, VISITOR6, NEIGHBOUR6 = "2001:db8::1", "2001:db8::9", "2001:db8::8"
OWN = [*own_network(os.geteuid() == 0), "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
INSIDE = "SIMCO_BAN_TEST"


def block(language, nth=0):
    """Returns a block of the page, with the script of the tree."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found[nth].replace(INSTALLED, str(SCRIPT))


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
        self.server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.server.bind(("::", 5060))
        self.server.settimeout(PATIENCE)
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

    def expect_packets(self, blocked, visitor):
        """Of the neighbour's, the visitor's and the neighbour's packet, all but the visitor's arrive if it is blocked. The first one has
        the kernel ask for the machine's link-layer address; asked for in the name of a blocked address, it gets no answer."""
        machine, neighbour = (MACHINE6, NEIGHBOUR6) if visitor == VISITOR6 else (MACHINE, NEIGHBOUR)
        for sender in (neighbour, visitor, neighbour):
            subprocess.run(["ip", "netns", "exec", "visitor", "python3", "-c",
                            "import socket, sys; family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET;"
                            "s = socket.socket(family, socket.SOCK_DGRAM); s.bind((sys.argv[1], 0));"
                            "s.sendto(sys.argv[1].encode(), (sys.argv[2], 5060))", sender, machine], check=True)
        expected = [neighbour, neighbour] if blocked else [neighbour, neighbour, visitor]
        self.assertEqual(sorted(self.server.recv(100).decode() for _ in expected), sorted(expected))

    def blocks(self, visitor=VISITOR):
        """The lifetimes of the disable rules for the visitor."""
        rules = [json.loads(line) for line in self.ctl("--json", "list").stdout.splitlines()]
        return [rule["lifetime"] for rule in rules if rule["kind"] == "disabled" and rule["external"]["text"] == visitor]

    def expect(self, blocked, visitor=VISITOR):
        eventually(lambda: bool(self.blocks(visitor)) == blocked, f"blocked: {blocked}\n{(self.folder / 'log').read_text()}")
        self.expect_packets(blocked, visitor)

    def fail2ban(self):
        """Starts it. Returns the file in which it looks for failures."""
        config = self.folder / "fail2ban"
        shutil.copytree("/etc/fail2ban", config)
        (config / "action.d" / "simco.conf").write_text(block("ini"))
        log = self.folder / "auth.log"
        log.write_text("")
        (config / "fail2ban.local").write_text(
            f"[Definition]\nlogtarget = {self.folder}/log\nsocket = {self.folder}/socket\npidfile = {self.folder}/pid\ndbfile = None\n")
        (config / "jail.local").write_text(
            f"[DEFAULT]\nbanaction = simco\nmaxretry = 1\n[sshd]\nenabled = true\nbackend = polling\nlogpath = {log}\n")
        self.start("fail2ban-server", "-f", "-c", config)
        eventually(lambda: self.client("status", "sshd").returncode == 0, "the jail")
        return log

    def client(self, *words):
        return subprocess.run(["fail2ban-client", "-s", self.folder / "socket", *words], capture_output=True)

    def fail_at(self, log):
        with log.open("a") as lines:
            lines.write(f"{time.strftime('%b %d %H:%M:%S')} host sshd[1]: Failed password for root from {VISITOR} port 5 ssh2\n")

    def test_fail2ban(self):
        self.expect(False)
        self.fail_at(self.fail2ban())
        self.expect(True)
        self.assertEqual(self.client("unban", VISITOR).returncode, 0)
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
        for visitor, spelt in ((VISITOR, f"{VISITOR}/32"), (VISITOR6, VISITOR6.replace("db8::", "DB8:0:0::"))):
            for seconds in ("600", "-1"):  # a time, and fail2ban's word for ever
                subprocess.run([SCRIPT, "add", visitor, seconds], check=True, capture_output=True)
            self.assertEqual(sorted(self.blocks(visitor))[1], MAX_LIFETIME)
            self.expect(True, visitor)
            subprocess.run([SCRIPT, "del", spelt], check=True, capture_output=True)
            self.expect(False, visitor)
            subprocess.run([SCRIPT, "del", visitor], check=True, capture_output=True)
        self.assertEqual(subprocess.run([SCRIPT, "add"], capture_output=True).returncode, 2)


def main():
    if INSIDE in os.environ:
        subprocess.run("mount -t tmpfs none /run && ip link set lo up && ip netns add visitor &&"
                       "ip link add int0 type veth peer name eth0 netns visitor && ip addr add 192.0.2.1/24 dev int0 && ip link set int0 up &&"
                       "ip -n visitor addr add 192.0.2.9/24 dev eth0 && ip -n visitor addr add 192.0.2.8/24 dev eth0 &&"
                       "ip -n visitor link set eth0 up && ip addr add 2001:db8::1/64 dev int0 nodad &&"
                       "ip -n visitor addr add 2001:db8::9/64 dev eth0 nodad && ip -n visitor addr add 2001:db8::8/64 dev eth0 nodad",
                       shell=True, check=True)
        return unittest.main()
    if subprocess.run([*OWN, "true"], capture_output=True).returncode != 0:
        return print("this machine: has no network namespaces")
    path = f"{os.environ['SIMCO_PROGRAMS']}:{os.environ['PATH']}:/usr/sbin:/sbin"
    sys.exit(subprocess.run([*OWN, sys.executable, "-B", __file__, *sys.argv[1:]], env={**os.environ, INSIDE: "1", "PATH": path}).returncode)


if __name__ == "__main__":
    main()
