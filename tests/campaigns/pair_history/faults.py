"""Makes the faults of a schedule happen, and undoes them."""
import os
import signal
import subprocess
import threading
import time

from .network import LINKS

BALLAST = "data/ballast"


class Storm:
    """All faults of a plan, each on a thread of its own. `happened` has (begin, end, kind, box)."""

    def __init__(self, plan, boxes, ethernets):
        self.plan, self.ethernets = plan, ethernets
        self.boxes = {box.number: box for box in boxes}
        self.happened = []
        self.deaths = {1: [], 2: []}
        self.failed = None
        self.lock = threading.Lock()  # faults of one kind and box may overlap

    def run(self):
        threads = [threading.Thread(target=self.one, args=(fault,), daemon=True) for fault in self.plan.faults]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.heal()

    def one(self, fault):
        try:
            time.sleep(fault.at)
            begin = time.time()
            box = self.boxes[fault.box]
            with self.lock:
                getattr(self, "begin_" + fault.kind)(fault, box)
            self.wait(fault)
            with self.lock:
                getattr(self, "end_" + fault.kind, lambda *_: None)(fault, box)
            for kind in self.kinds(fault):
                self.happened.append((begin, time.time(), kind, fault.box))
        except Exception as why:  # for the run, which ends with it
            self.failed = f"{fault}: {type(why).__name__}: {why}"

    @staticmethod
    def wait(fault):
        time.sleep(fault.lasts)

    def kinds(self, fault):
        """What it touches, as excuses.py names it."""
        if fault.kind in ("cut", "loss"):
            return ["in", "out", "sync"] if fault.target == "all" else [fault.target]
        if fault.kind in ("kill", "pause"):
            return [fault.target] + (["memory"] if (fault.kind, fault.target) == ("kill", "redis") else [])
        return {"slow": ["redis"], "disk": ["disk"], "clock": ["clock"],
                "power": ["power", "redis", "sync", "memory"]}[fault.kind]

    @staticmethod
    def links(fault):
        return list(LINKS) if fault.target == "all" else [fault.target]

    # --- Each kind ---

    def begin_cut(self, fault, box):
        for link in self.links(fault):
            self.ethernets.cut(box.number, link, fault.silent)

    def end_cut(self, fault, box):
        for link in self.links(fault):
            self.ethernets.mend(box.number, link)

    def begin_loss(self, fault, box):
        for link in self.links(fault):
            self.ethernets.lose(box.number, link, fault.amount)

    def end_loss(self, _fault, _box):
        self.ethernets.keep()

    def begin_kill(self, fault, box):
        box.kill(fault.target, fault.lasts)

    def begin_pause(self, fault, box):
        box.signal(fault.target, signal.SIGSTOP)

    def end_pause(self, fault, box):
        box.signal(fault.target, signal.SIGCONT)

    def begin_slow(self, fault, box):
        """As when the disk does not answer: nothing else does either."""
        subprocess.Popen(box.host.words("redis-cli", "debug", "sleep", str(fault.lasts)),
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def begin_disk(self, _fault, box):
        with open(os.path.join(box.folder, BALLAST), "ab", buffering=0) as ballast:
            for size in (65536, 4096, 1):
                try:
                    while True:
                        ballast.write(bytes(size))
                except OSError:
                    pass

    def end_disk(self, _fault, box):
        try:
            os.unlink(os.path.join(box.folder, BALLAST))
        except FileNotFoundError:
            pass

    def begin_clock(self, fault, box):
        box.write("clock", f"{fault.amount:+d}\n")

    def end_clock(self, _fault, box):
        box.write("clock", "+0\n")

    def begin_power(self, _fault, box):
        if box.powered:
            self.deaths[box.number].append(time.time())
            box.die()

    def end_power(self, _fault, box):
        if not box.powered:
            box.boot()

    def heal(self):
        """Whatever overlapping faults have left."""
        self.ethernets.keep()
        for box in self.boxes.values():
            for link in LINKS:
                self.ethernets.mend(box.number, link)
            for kind in ("redis", "keepalived", "middlebox"):
                box.signal(kind, signal.SIGCONT)
            self.end_disk(None, box)
            if not box.powered:
                box.boot()
