"""One schedule: makes the pair, runs agents and probes under its faults, and judges what they saw."""
import datetime
import math
import re
import signal
import time

from . import agents, excuses, prober
from .box import Box
from .network import Ethernets, Failure, host
from .observer import Observer, reigns
from .operation import ENABLE, ON, STORE_FAILS, Operation
from .plants import PLANTS
from .register import Search, Undecided
from .resp import Redis
from .schedule import Plan
from .faults import Storm

# Nothing here waits longer than this: a guard against hanging, far beyond what a slow machine needs.
PATIENCE = 500.0
CALM = 1.0  # seconds that agents go on after the faults
MILLISECOND = 0.002  # of the log, rounded
LOOKS = 4  # of the observer, whose period tells how slow the machine is
SHORT = 0.3  # to watch that something does not happen
AUDIT = re.compile(r"^([\d-]+ [\d:.]+) .*audit event=\S+ pid=(\d+) .*external=192\.0\.2\.2:(2\d{4})\b", re.MULTILINE)
REFUSED = re.compile(rf"refused (PER|PLC) {STORE_FAILS} .*\bpid=(\d+) .*external=192\.0\.2\.2:(2\d{{4}}) lifetime=(\d+)")
LEFT = re.compile(r"^([\d-]+ [\d:.]+) .* has not confirmed a change in time", re.MULTILINE)
RELEVANT = {"sync", "joining", "redis", "disk", "memory", "middlebox", "power"}  # what keeps the second box from following


def moment(stamp):
    """The time of a line of the log."""
    return datetime.datetime.fromisoformat(stamp).timestamp()


def overlaps(firsts, seconds):
    """When an interval of each lasts: (begin, end, which ends first)."""
    both = [(max(one[0], other[0]), min(one[1], other[1]), 1 if one[1] < other[1] else 2) for one in firsts for other in seconds]
    return [one for one in both if one[0] < one[1]]


class Anomaly(Exception):
    """The pair has done what it must not."""


def eventually(what, holds, patience=PATIENCE):
    end = time.time() + patience
    while not (held := holds()):
        if time.time() > end:
            raise Anomaly(what() if callable(what) else what)
        time.sleep(0.1)
    return held


class Run:
    def __init__(self, plan: Plan, binary, folder, plant="none"):
        self.plan, self.folder, self.plant = plan, folder, PLANTS[plant]()
        self.ethernets = Ethernets()
        self.boxes = [Box(self.ethernets, folder, number, plan, binary, self.plant) for number in (1, 2)]
        self.inside = host(self.ethernets, "in", "10.0.0.2", "10.0.0.1")
        self.outside = host(self.ethernets, "out", "192.0.2.2", "192.0.2.1")
        self.book = agents.Book()
        self.observer = Observer(self.boxes)
        self.storm = Storm(plan, self.boxes, self.ethernets)
        self.prober = prober.Prober(self.inside, self.outside, self.book)
        self.undoings = []
        self.excused = set()
        self.given_twice = self.refused_there = 0
        self.settled_at = None

    # --- The course of a run ---

    def boot(self):
        """The first box serves before the second comes, which follows it."""
        self.boxes[0].boot()
        self.observer.start()
        eventually("the first box does not serve", lambda: self.boxes[0].last_word() == "serves")
        self.boxes[1].boot()
        eventually(lambda: "the second box does not follow: " + self.state(), self.is_settled)

    def play(self):
        self.boot()
        self.prober.start()
        crowd = [agents.Agent(self.outside, self.book, f"{self.plan.seed} {number}", f"agent {number}")
                 for number in range(self.plan.agents)]
        for agent in crowd:
            agent.start()
        self.storm.run()
        time.sleep(CALM)
        for agent in crowd:
            agent.stopping.set()
        for agent in crowd:
            agent.join()
        for problem in [self.storm.failed, self.observer.crashed, *(agent.crashed for agent in crowd)]:
            if problem:
                raise Failure(problem)
        eventually(lambda: "the pair does not settle: " + self.state(), self.is_settled)
        self.agree()
        self.prober.stop()
        self.observer.stop()

    # --- After the faults ---

    def is_settled(self):
        words = {box.last_word(): box for box in self.boxes}
        if set(words) != {"serves", "follows"}:
            return False
        if not words["serves"].has_address() or words["follows"].has_address():
            return False
        roles = {word: Redis(box.host).ask("ROLE") or ["?"] for word, box in words.items()}
        return (roles["serves"][0] == "master" and roles["follows"][0] == "slave"
                and roles["follows"][3] == "connected")

    def state(self):
        return "; ".join(
            f"box {box.number}: middlebox {box.last_word()}, {'has' if box.has_address() else 'without'} the address, "
            f"Redis {(Redis(box.host).ask('ROLE') or ['silent'])[0]}" for box in self.boxes)

    def agree(self):
        """List, Redis, both kernels and the probes say the same."""
        self.difference = "no session"
        eventually(lambda: f"no agreement: {self.difference}; {self.state()}", self.agrees)
        self.settled_at = time.time()

    def agrees(self):
        begin = time.time()
        try:
            session = agents.Session(self.outside)
            pids = agents.pids_of(session.ask("PRL"))
            end = time.time()
            ports = {pid: self.port_of(session.ask("PRS", [agents.number("policy rule identifier", pid)]))
                     for pid in pids}
            session.close()
        except agents.Lost as why:
            self.difference = f"no session: {why}"
            return False
        wanted = set(ports.values())
        for box in self.boxes:
            if (there := box.kernel_ports()) != wanted:
                self.difference = f"listed {sorted(map(str, wanted))}, in the kernel of box {box.number} {sorted(there)}"
                return False
            count = Redis(box.host).ask("HLEN", "simco:rules")
            if count != str(len(pids)):
                self.difference = f"listed {len(pids)}, in Redis of box {box.number} {count}"
                return False
        if not self.probes_agree(wanted):
            return False
        with self.book.lock:
            self.book.lists.append((begin, end, pids, "the end"))
        return True

    @staticmethod
    def port_of(reply):
        return next((one["port"] for one in reply["attributes"] if one.get("location") == "external"), None)

    def probes_agree(self, wanted):
        since = time.time()
        end = since + 5
        while missing := [(port, way) for port in wanted for way in prober.WAYS
                          if not self.prober.passed_since(port, since, way)]:
            if time.time() > end:
                self.difference = f"listed, but not open by the address (0) or that box: {missing}"
                return False
            time.sleep(0.02)
        time.sleep(SHORT)
        there = {port for port in list(self.prober.passes) for way in prober.WAYS
                 if self.prober.passed_since(port, since, way)}
        self.difference = f"open, but not listed: {sorted(there - wanted)}"
        return there <= wanted

    # --- The judgement ---

    def course(self):
        observer, faults = self.observer, list(self.storm.happened)
        held = {box.number: reigns(box, self.storm.deaths[box.number]) for box in self.boxes}
        takeovers, splits = [], []
        for number, intervals in held.items():
            for begin, end in intervals:
                takeovers.append((begin, observer.first_word(number, "serves", begin)))
                # A box that has lost the addresses must hear of what it missed before it knows everything.
                faults.append((end, observer.next_mark(end), "joining", number))
        for begin, end, loser in overlaps(held[1], held[2]):
            splits.append((begin, max(end, observer.first_word(loser, "follows", end))))
        both = [(begin, min(end, self.closes(loser, begin, end)))
                for begin, end, loser in overlaps(observer.reigns(1, "serves"), observer.reigns(2, "serves"))]
        gone = {number: observer.reigns(number, "ended") + observer.reigns(number, "begins") for number in (1, 2)}
        dead = [(since, max(since, begin), min(until, end)) for number in (1, 2) for since, until in gone[number]
                for begin, end in observer.reigns(3 - number, "serves") if begin < until and since < end]
        restarts = []
        for number, words in observer.words.items():
            for at, word in words:
                served = observer.first_word(number, "serves", at)
                if word in ("ended", "begins") and served != math.inf:
                    restarts.append((at - observer.period(), served, number))
        relevant = [fault for fault in faults if fault[2] in RELEVANT]
        alone = [moment(at) for box in self.boxes for at in LEFT.findall(box.read("middlebox.log"))]
        return excuses.Course(self.plan.replicas, self.plan.durable, observer.marks, observer.period(), takeovers, splits,
                              restarts, relevant, alone, self.plan.clock_step, both, dead)

    def closes(self, loser, begin, end):
        """When a box at the latest lets no packet pass that has lost its place while the other one serves: looks after simco-takeover has
        told its middlebox, unless that stood still."""
        if any(fault[2] in ("middlebox", "power") and fault[3] == loser and excuses.touches(fault, begin, end)
               for fault in self.storm.happened):
            return math.inf
        serves = max((at for at, _ in self.observer.reigns(loser, "serves") if at <= begin), default=begin)
        told = min((at for at in self.boxes[loser - 1].closings() if at > serves), default=math.inf)
        return max(begin, told) + LOOKS * self.observer.period()

    def judge(self):
        self.check_passes()
        course = self.course()
        self.undoings = excuses.excuses_of(course)
        slack = excuses.slack_of(course)
        by_pid = self.histories()
        for pid, operations in sorted(by_pid.items()):
            # Worth knowing, though legal: an identifier given twice, and a refused rule that is there.
            enabled = [one for one in operations if one.kind == ENABLE]
            self.given_twice += len([one for one in enabled if one.certain]) > 1
            self.refused_there += (any(one.kind == ON for one in operations)
                                   and any(STORE_FAILS in one.source for one in enabled))
            if not enabled:
                operations.extend(self.candidates())
            self.judge_one(pid, operations, self.undoings + excuses.taken_back(course, operations), slack)
        return len(by_pid), sum(map(len, by_pid.values()))

    def judge_one(self, pid, operations, undoings, slack):
        try:
            if Search(operations, (), slack).run():
                return
            search = Search(operations, undoings, slack)
            if search.run():
                self.excused.update(self.needed(operations, undoings, slack))
                return
        except Undecided as why:
            raise Failure(f"rule {pid}: not decided, {why}") from None
        excused = "\n".join(f"   {one}" for one in undoings)
        raise Anomaly(f"rule {pid} has no legal order:\n{search.explain()}\nexcuses:\n{excused}")

    @staticmethod
    def needed(operations, undoings, slack):
        """The excuses of which each alone is enough, or all."""
        alone = {one.reason for one in undoings if Search(operations, (one,), slack).run()}
        return alone or {one.reason for one in undoings}

    def histories(self):
        joined, settled, refused = {}, {}, set()
        for box in self.boxes:
            refused |= {int(port) if kind == "PER" else (int(pid), float(lifetime))
                        for kind, pid, port, lifetime in REFUSED.findall(box.read("middlebox.log"))}
            for at, pid, port in AUDIT.findall(box.read("middlebox.log")):
                asked = self.book.asked.get(int(port))
                if asked and asked[4] is None:
                    joined[int(port)] = int(pid)
                    settled.setdefault(int(port), moment(at) + MILLISECOND + self.plan.clock_step)
        instants = {at for operations in self.book.operations.values() for one in operations for at in (one.begin, one.end)}
        instants |= {at for one in self.undoings for at in (one.begin, one.end)}
        self.joined = joined
        return agents.histories(self.book, prober.thinned(self.prober.passes, instants), joined, settled, refused)

    def candidates(self):
        """Any unanswered request may have made a rule that the audit does not name."""
        return [Operation(ENABLE, asked[0], math.inf, asked[2], port, "no answer")
                for port, asked in self.book.asked.items()
                if asked[3] in ("unknown", STORE_FAILS) and port not in self.joined]

    def check_passes(self):
        """Nothing passes that nobody has asked for, or that was refused for another reason than the store."""
        for port, times in self.prober.passes.items():
            asked = self.book.asked.get(port)
            if asked is None or asked[3] not in ("ok", "unknown", STORE_FAILS):
                raise Anomaly(f"packets from port {port} pass: {asked}")
            if min(got for _, got in times) < asked[0]:
                raise Anomaly(f"packets from port {port} pass before it was asked for: {asked}")

    def end(self):
        for box in self.boxes:
            box.powered = False
        self.observer.stopping.set()
        for box in self.boxes:
            for kind in ("keepalived", "middlebox", "redis"):
                box.signal(kind, signal.SIGKILL)
