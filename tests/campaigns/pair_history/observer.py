"""Looks at both boxes all the time: which role they have, and when the second had all that the first had. It
has that if its Redis has the same batch and its middlebox follows, which takes a moment.
Restarts processes that have ended, as systemd does."""
import datetime
import re
import threading
import time

from .resp import Redis

PERIOD = 0.15
MOMENT = 0.5  # for the second's middlebox, and as long again as a look took at most
STATE = re.compile(r"\((?:inside|outside)\) Entering (MASTER|BACKUP|FAULT) STATE")
STAMP = re.compile(r"^(\w{3} \w{3} +\d+ [\d:]{8} \d{4}): ")


class Observer(threading.Thread):
    def __init__(self, boxes):
        super().__init__(daemon=True)
        self.boxes = boxes
        self.redis = {box.number: Redis(box.host) for box in boxes}
        self.marks = []
        self.words = {box.number: [] for box in boxes}  # (time, word of the middlebox)
        self.states = {box.number: {} for box in boxes}
        self.rounds = []
        self.crashed = None
        self.stopping = threading.Event()

    def run(self):
        try:
            while not self.stopping.wait(PERIOD):
                self.look()
        except Exception as why:  # for the run, which ends with it
            self.crashed = f"{type(why).__name__}: {why}"

    def look(self):
        now = time.time()
        self.rounds.append(now)
        for box in self.boxes:
            box.supervise()
            word = box.last_word()
            if not self.words[box.number] or self.words[box.number][-1][1] != word:
                self.words[box.number].append((time.time(), word))
        if self.follows():
            self.marks.append(now)

    def follows(self):
        """Asks the primary first: whatever it had then is compared."""
        roles = {number: (redis.ask("ROLE") or ["?"])[0] for number, redis in self.redis.items()}
        primary = next((number for number, role in roles.items() if role == "master"), None)
        if primary is None or roles[3 - primary] != "slave":
            return False
        about = [self.redis[number].ask("HMGET", "simco:about", "owner", "batch") for number in (primary, 3 - primary)]
        follower = self.boxes[2 - primary]
        return (about[0] is not None and about[0] == about[1] and about[0][0] is not None
                and not self.boxes[primary - 1].store_fails() and follower.last_word() == "follows" and follower.runs("middlebox"))

    def stop(self):
        self.stopping.set()
        self.join()

    # --- What follows from it ---

    def period(self):
        """The longest time until the next look, and a moment."""
        gaps = [later - earlier for earlier, later in zip(self.rounds, self.rounds[1:])]
        return max(gaps, default=PERIOD) + MOMENT

    def first_word(self, number, word, since):
        """When the middlebox of a box was seen to say `word` after `since`, or never."""
        words = self.words[number]
        for i, (at, said) in enumerate(words):
            ended = words[i + 1][0] if i + 1 < len(words) else float("inf")
            if said == word and ended >= since:
                return max(at, since)
        return float("inf")

    def reigns(self, number, word):
        """When the middlebox of a box was seen to say `word`: (begin, end)."""
        words = self.words[number]
        ends = [at for at, _ in words[1:]] + [float("inf")]
        return [(at, end) for (at, said), end in zip(words, ends) if said == word]

    def next_mark(self, since):
        return min((mark for mark in self.marks if mark >= since), default=float("inf"))


def stamp_of(line):
    """The second in which keepalived logged the line."""
    found = STAMP.match(line)
    return datetime.datetime.strptime(found[1], "%a %b %d %H:%M:%S %Y").timestamp() if found else None


def reigns(box, deaths):
    """When keepalived of a box says that it had the addresses: (begin, end), at most. One that was killed
    leaves them where they are; `deaths` of the box take them away."""
    events = [(at, "DEAD", None) for at in deaths]
    for at, line in box.said:
        if found := STATE.search(line):
            logged = stamp_of(line)
            events.append((min(at, logged) if logged else at - 1.0, found[1], at))
    result, begin = [], None
    for at, state, read in sorted(events, key=lambda one: one[0]):
        if state == "MASTER":
            begin = at if begin is None else begin
        elif begin is not None:
            result.append((begin, read or at))
            begin = None
    if begin is not None:
        result.append((begin, float("inf")))
    return result
