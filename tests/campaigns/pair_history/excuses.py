"""The documented limits of the pair: when a rule may go back to an earlier state, each with the sentence
that says so. Nothing else excuses an anomaly."""
import dataclasses
import pathlib

from .operation import EXTEND, STORE_FAILS
from .register import Slack, Undoing

ROOT = pathlib.Path(__file__).resolve().parents[3]
WRITES = 10.0  # seconds until a box has stored what it could not, also if no other box follows
LEASE = 1.4  # seconds that the first box waits for the second before it goes on alone, and a moment

# Each sentence, and the document that has it (tests/unit/pair compares).
SENTENCES = {
    "alone": ("doc/high-availability.md", "While the second box has no lease, as when it starts or is cut off, it may lack "
              "the first box's last changes (0x0343)."),
    "unreachable": ("doc/high-availability.md", "Rules end on the first box even if the second does not hear of it (with "
                    "`replicas=1`, too): if it then takes over, it lets those packets pass for the rest of the lifetime."),
    "refused": ("doc/high-availability.md", "A request that was refused with 0x0342, as Redis or its replica did not answer "
                "in time, may be in force after a takeover, and on the second box until the first has taken it back."),
    "split": ("doc/high-availability.md", "if only the boxes lose each other, both may have the addresses."),
    "place": ("doc/high-availability.md", "**A box that has lost its place closes** when `simco-takeover` tells its middlebox (SIGUSR1), "
              "or when that notices that its Redis is a replica."),
    "dead": ("doc/high-availability.md", "One that stands still as a whole, or whose middlebox does not run, keeps its last "
             "rules until they end"),
    "clock": ("doc/high-availability.md", "The clocks of both boxes must agree (NTP): the rest of a lifetime is "
              "calculated from the clock."),
    "memory": ("doc/high-availability.md", "Set `appendonly yes` if rules must survive a failure of both boxes."),
    "store": ("doc/operating.md", "If the middlebox dies before the file is updated, a deleted rule comes back for the "
              "rest of its lifetime"),
}


@dataclasses.dataclass
class Course:
    """What is known of a run, beside the operations: times by one clock."""
    replicas: bool  # the middlebox waits for the replica
    durable: bool  # Redis has an append-only file
    marks: list  # when the second box had everything that the first had acknowledged, in kernel and Redis
    period: float  # the longest time between two looks of the observer, and a moment
    takeovers: list  # (begin, end): a box gets the addresses, until it serves
    splits: list  # (begin, end): both have the addresses
    restarts: list  # (begin, end, box): a middlebox ended and serves again
    faults: list  # (begin, end, kind, box)
    alone: tuple = ()  # when the first box said that it goes on without the second
    clock_step: float = 0.0
    both: tuple = ()  # (begin, end): the middleboxes of both boxes serve
    dead: tuple = ()  # (since, begin, end): one has not run since, while that of the other box serves


def last_mark(course, time):
    """A moment before it: the second box's kernel is a moment behind its Redis."""
    return max((mark for mark in course.marks if mark <= time), default=float("-inf")) - course.period


def first_mark(course, time):
    return min((mark for mark in course.marks if mark >= time), default=float("inf"))


def touches(one, begin, end):
    return one[0] <= end and one[1] >= begin


def takeover_excuse(course, begin, end):
    """It may not know what happened since it was last seen to have everything."""
    since = last_mark(course, begin)
    if any(touches(fault, since, begin) for fault in course.faults):
        return Undoing(since, begin, end, course.replicas, "unreachable")
    left = [at for at in course.alone if since - LEASE <= at <= begin + LEASE]
    return Undoing(min(left) - LEASE, begin, end, course.replicas, "alone") if left else None


def excuses_of(course):
    found = [one for begin, end in course.takeovers if (one := takeover_excuse(course, begin, end))]
    for begin, end in course.splits:
        found.append(Undoing(last_mark(course, begin), begin, end, course.replicas, "split"))
    for begin, end in course.both:
        found.append(Undoing(last_mark(course, begin), begin - course.period, end + course.period, True, "place"))
    for since, begin, end in course.dead:
        found.append(Undoing(since - course.period, begin - course.period, end + course.period, True, "dead"))
    for begin, end, box in course.restarts:
        for fault in course.faults:
            # A store that works again takes a moment until it has what the box could not store.
            unwritten = (fault[0], min(first_mark(course, fault[1]), fault[1] + WRITES))
            if fault[2] in ("redis", "disk") and fault[3] == box and touches(unwritten, begin, end):
                found.append(Undoing(fault[0], begin, end, True, "store"))
    if not course.durable:
        for fault in course.faults:
            if fault[2] == "memory":
                found.append(Undoing(float("-inf"), fault[0], max(one[1] for one in course.faults), False, "memory"))
    return found


def taken_back(course, operations):
    """A refused extension may be in force until the first box takes it back, to what that extension has replaced."""
    faults = [fault[1] for fault in course.faults]
    return [Undoing(float("inf"), one.begin, max([one.begin, *faults]) + WRITES, reason="refused", of=one) for one in operations
            if one.kind == EXTEND and STORE_FAILS in one.source]


def slack_of(course):
    """A clock that steps moves the end of rules that a box takes over."""
    return Slack(1.0 + course.clock_step, 2.0 + course.clock_step)
