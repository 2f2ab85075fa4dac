"""A router of the pair: Redis, keepalived and simco-middlebox as their packages' services would run them."""
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from .network import LINKS, ROOT, Failure, Namespace

FAKETIME = next((path for path in ("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
                                   "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1")
                 if os.path.exists(path)), None)
REDIS_CONF = """port 6379
protected-mode no
save ""
dir {folder}/data
repl-diskless-sync-delay 0
repl-timeout 60
enable-debug-command yes
logfile {folder}/redis.log
appendonly {appendonly}
appendfsync everysec
"""
BEGIN = "--- a start ---"  # in the log
# As simco-middlebox.service: no restart after wrong usage and after a takeover; a stopped process gets
# SIGCONT with its SIGTERM.
START = """#!/bin/sh
exec 8>{folder}/service.lock; flock 8
touch {folder}/wanted
p=$(cat {folder}/middlebox.pid 2>/dev/null)
[ -n "$p" ] && [ -e /proc/$p/exe ] && exit 0
echo "$(date +%s.%N) start" >>{folder}/events
echo "{begin}" >>{folder}/middlebox.log
{environment} nohup {binary} {options} >>{folder}/middlebox.log 2>&1 8>&- 9>&- &
echo $! >{folder}/middlebox.pid
"""
STOP = """#!/bin/sh
exec 8>{folder}/service.lock; flock 8
rm -f {folder}/wanted
p=$(cat {folder}/middlebox.pid 2>/dev/null)
if [ -n "$p" ]; then
  kill $p 2>/dev/null; kill -CONT $p 2>/dev/null; n=0
  while [ -e /proc/$p/exe ]; do
    sleep 0.05; n=$((n + 1)); [ $n -lt 300 ] || kill -KILL $p 2>/dev/null
  done
fi
echo "$(date +%s.%N) stopped" >>{folder}/events
rm -f {folder}/middlebox.pid
"""
CLOSE = """#!/bin/sh
date +%s.%N >>{folder}/closings
kill -USR1 $(cat {folder}/middlebox.pid 2>/dev/null) 2>/dev/null
"""
# doc/operating.md, "Restarts open nothing": nothing is blocked between a boot and the first start, unless the site does.
BLOCK = "table inet boot { chain forward { type filter hook forward priority 0; policy drop; }; }"
HA_CONF = """PEER="{peer}"
START={folder}/start
STOP={folder}/stop
CLOSE={folder}/close
LOCK={folder}/lock
echo "$(date +%s.%N) $4" >>{folder}/transitions
"""


def alive(pid):
    return pid is not None and os.path.exists(f"/proc/{pid}/exe")


class Box:
    """`number` is 1 or 2. Keeps its files in `folder`."""

    def __init__(self, ethernets, folder, number, plan, binary, plant):
        self.ethernets, self.number, self.plan, self.plant = ethernets, number, plan, plant
        self.folder = os.path.join(folder, str(number))
        self.peer = 3 - number
        os.makedirs(self.folder + "/data")
        self.host = Namespace()
        for link, name in LINKS.items():
            ethernets.wire(self.host, name, link, ethernets.port(number, link))
        self.host.shell(
            "echo 1 >/proc/sys/net/ipv4/ip_forward;"
            f"ip addr add 10.0.0.1{number}/24 dev int0; ip addr add 192.0.2.1{number}/24 dev ext0;"
            f"ip addr add 10.99.0.{number}/24 dev sync0; for i in int0 ext0 sync0; do ip link set $i up; done")
        self.redis = self.keepalived = None
        self.restart_at = {}  # by the kind of process, if it was killed
        self.powered = self.blocked = False
        self.said = []  # (time, line) of keepalived
        if plan.tiny_disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.folder + "/data"], check=True)
        self.write_files(binary)

    # --- Files ---

    def write_files(self, binary):
        self.write("redis.conf", REDIS_CONF.format(folder=self.folder, appendonly="yes" if self.plan.durable else "no"))
        self.write("clock", "+0\n")
        environment = ""
        if self.plan.steps_clock(self.number):
            environment = (f"LD_PRELOAD={FAKETIME} FAKETIME_TIMESTAMP_FILE={self.folder}/clock "
                           "FAKETIME_CACHE_DURATION=1 FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1")
        state = "redis://127.0.0.1" + ("?replicas=1" if self.plan.replicas else "")
        options = ("--backend nftables --internal-if int0 --external-if ext0 --listen 192.0.2.1 --allow-anonymous "
                   f"--audit-rate 1000 --state '{self.plant.state(state)}'")
        for name, text in (("start", START), ("stop", STOP), ("close", CLOSE)):
            self.write(name, text.format(folder=self.folder, environment=environment, binary=binary, options=options, begin=BEGIN))
            os.chmod(os.path.join(self.folder, name), 0o755)
        self.write("ha.conf", HA_CONF.format(folder=self.folder, peer=self.plant.peer(f"10.99.0.{self.peer} 6379")))
        takeover = (ROOT / "scripts/ha/simco-takeover").read_text()
        self.write("simco-takeover", self.plant.takeover(takeover))
        os.chmod(self.folder + "/simco-takeover", 0o755)
        self.write("keepalived.conf", self.keepalived_conf())

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def keepalived_conf(self):
        """The configuration that the project ships, for these names."""
        text = (ROOT / "scripts/ha/keepalived.conf").read_text()
        for old, new in (
                ("/usr/lib/simco/simco-takeover /etc/simco/ha.conf", f"{self.folder}/simco-takeover {self.folder}/ha.conf"),
                ("unicast_src_ip 10.20.0.11", f"unicast_src_ip 10.0.0.1{self.number}"),
                ("unicast_peer { 10.20.0.12 }", f"unicast_peer {{ 10.0.0.1{self.peer} }}"),
                ("10.20.0.1/24", "10.0.0.1/24"),
                ("unicast_src_ip 198.51.100.11", f"unicast_src_ip 192.0.2.1{self.number}"),
                ("unicast_peer { 198.51.100.12 }", f"unicast_peer {{ 192.0.2.1{self.peer} }}"),
                ("198.51.100.1/24", "192.0.2.1/24"),
                ("198.51.100.8/32", "192.0.2.20/32"),
                # A busy machine must not pass for a dead one.
                ("advert_int 0.02", "advert_int 1")):
            if old not in text:
                raise Failure(f"keepalived.conf has no '{old}'")
            text = text.replace(old, new)
        return text

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), errors="replace", encoding="utf-8") as file:
                return file.read()
        except OSError:
            return ""

    # --- Processes ---

    def boot(self):
        self.restart_at.clear()
        self.host.shell("for i in int0 ext0 sync0; do ip link set $i up; done")
        self.plant.boot(self)
        self.start_redis()
        self.start_keepalived()
        self.powered = True  # from here on it is supervised

    def start_redis(self):
        self.redis = subprocess.Popen(self.host.words("redis-server", self.folder + "/redis.conf"),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_keepalived(self):
        self.remove_pid_files()
        self.keepalived = subprocess.Popen(
            self.host.words("keepalived", "--dont-fork", "--log-console", "--vrrp", "-f", self.folder + "/keepalived.conf",
                            "-p", self.folder + "/keepalived.pid", "-r", self.folder + "/vrrp.pid"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.listen, args=(self.keepalived.stdout,), daemon=True).start()

    def remove_pid_files(self):
        for name in ("keepalived.pid", "vrrp.pid"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.unlink(os.path.join(self.folder, name))

    def listen(self, pipe):
        for line in pipe:
            self.said.append((time.time(), line.rstrip()))

    def pids(self, kind):
        """Of the processes of redis, keepalived or middlebox."""
        if kind == "redis":
            return [self.redis.pid] if self.redis and self.redis.poll() is None else []
        if kind == "keepalived":
            child = self.read("vrrp.pid").strip()
            found = [self.keepalived.pid] if self.keepalived and self.keepalived.poll() is None else []
            return found + ([int(child)] if child and alive(child) else [])
        pid = self.read("middlebox.pid").strip()
        return [int(pid)] if pid and alive(pid) else []

    def signal(self, kind, which):
        for pid in self.pids(kind):
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass

    def kill(self, kind, delay):
        """It is started again after `delay` seconds, as systemd does."""
        self.restart_at[kind] = time.time() + delay
        self.signal(kind, signal.SIGKILL)

    def supervise(self):
        """Restarts the processes that have ended. Called again and again."""
        if not self.powered:
            return
        now = time.time()
        if self.blocked and self.last_word() in ("serves", "follows"):
            self.blocked = False
            self.host.shell("nft delete table inet boot")
        if not self.pids("redis") and now >= self.restart_at.setdefault("redis", now + 0.1):
            self.restart_at.pop("redis")
            self.start_redis()
        if self.keepalived and self.keepalived.poll() is not None and now >= self.restart_at.setdefault("keepalived", now + 0.5):
            self.restart_at.pop("keepalived")
            self.start_keepalived()
        if os.path.exists(self.folder + "/wanted") and not self.pids("middlebox") and not self.was_taken():
            if now >= self.restart_at.setdefault("middlebox", now + 1.0):
                self.restart_at.pop("middlebox")
                # Not waited for: simco-takeover may have the service's lock.
                subprocess.Popen(self.host.words(self.folder + "/start"), stdin=subprocess.DEVNULL)

    def was_taken(self):
        """Its rules have another owner: the service does not start again (RestartPreventExitStatus)."""
        return "has taken over the rules: stopping" in self.read("middlebox.log").rpartition(BEGIN)[2]

    def store_fails(self):
        """Its middlebox may have ended rules that its Redis still has."""
        for line in reversed(self.read("middlebox.log").rpartition(BEGIN)[2].splitlines()):
            if "cannot write to the store" in line or "the store works again" in line:
                return "cannot write" in line
        return False

    def die(self):
        """As when its plug is pulled: without a last word of VRRP."""
        self.powered = False
        self.host.shell("for i in int0 ext0 sync0; do ip link set $i down; done")
        for kind in ("keepalived", "middlebox", "redis"):
            self.signal(kind, signal.SIGKILL)
        for process in (self.keepalived, self.redis):
            process.wait()
        for name in ("wanted", "middlebox.pid"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.unlink(os.path.join(self.folder, name))
        self.blocked = True
        self.host.shell(f"nft flush ruleset; nft '{BLOCK}'; ip addr del 10.0.0.1/24 dev int0; ip addr del 192.0.2.1/24 dev ext0;"
                        "ip addr del 192.0.2.20/32 dev ext0", check=False)

    # --- What is seen of it ---

    def kernel_ports(self):
        """The external ports of the rules in its kernel."""
        rules = re.sub(r"packets \d+ bytes \d+", "", self.host.shell("nft -n list ruleset"))
        return {int(port) for port in re.findall(r"\b(2\d{4})\b", rules)}

    def runs(self, kind):
        """Whether all processes of this kind are there and none is stopped."""
        states = [pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in self.pids(kind)]
        return bool(states) and not set(states) & {"T", "Z"}

    def closings(self):
        """When simco-takeover has told its middlebox to close."""
        return list(map(float, self.read("closings").split()))

    def has_address(self):
        return " 192.0.2.1/24" in self.host.shell("ip -o addr show dev ext0")

    def last_word(self):
        """Whether its middlebox, if it runs, 'serves' or 'follows'."""
        if not self.pids("middlebox"):
            return "ended"
        for line in reversed(self.read("middlebox.log").splitlines()):
            for sign, word in (("listening on", "serves"), ("standing by", "follows"), (" is ours now", "claims"),
                               ("stopping", "ends")):
                if sign in line:
                    return word
            if line == BEGIN:
                break
        return "begins"
