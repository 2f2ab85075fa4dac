"""Decides whether a legal order of the operations on one rule exists (linearizability). A rule is a
register: absent, enabled until its lifetime is over, extended, deleted. Rules are independent of each
other, so that each is decided on its own.

An Undoing is a time in which the documents allow the pair to go back to an earlier state of a rule.
"""
import dataclasses

from .operation import DELETE, ENABLE, EXTEND, OFF, ON, Operation

ABSENT = (None, None)  # (port, index of the operation that set the end of the lifetime)
SHOWN = 6
STEPS_MAX = 200_000  # of the search, which such histories never need


class Undecided(Exception):
    """The search takes too long."""


@dataclasses.dataclass(frozen=True)
class Undoing:
    """Between `begin` and `end` the pair may go back to any state that was replaced after `since`. If
    `ends_only`, no acknowledged grant may be undone, only the end of a rule. If `of` is given, only that operation."""
    since: float
    begin: float
    end: float
    ends_only: bool = False
    reason: str = ""
    of: Operation | None = None


@dataclasses.dataclass(frozen=True)
class Slack:
    """How much earlier and later than its lifetime says a rule may end."""
    early: float = 1.0
    late: float = 2.0


@dataclasses.dataclass(frozen=True)
class Earlier:
    """A state that was replaced, by an operation that ended at `end`; whether a grant was acknowledged since."""
    state: tuple
    end: float
    granted: bool


@dataclasses.dataclass(frozen=True)
class Point:
    """How far an order has come."""
    done: int  # a bit for each operation
    state: tuple
    earlier: frozenset
    latest: float  # the greatest begin of the operations done: nothing that ended before it can follow


class Search:
    """Of an order, depth first. What is reached twice is looked at once."""

    def __init__(self, operations, undoings=(), slack=Slack()):
        self.operations = sorted(operations, key=lambda one: (one.begin, one.end))
        self.undoings, self.slack = undoings, slack
        self.wanted = sum(1 << i for i, one in enumerate(self.operations) if one.certain)
        self.best = Point(0, ABSENT, frozenset(), float("-inf"))

    def run(self):
        stack, seen = [self.best], set()
        while stack:
            point = stack.pop()
            if point.done & self.wanted == self.wanted:
                return True
            if point in seen:
                continue
            seen.add(point)
            if len(seen) > STEPS_MAX:
                raise Undecided(f"{len(self.operations)} operations")
            if bin(point.done).count("1") > bin(self.best.done).count("1"):
                self.best = point
            stack.extend(self.next_points(point))
        return False

    def next_points(self, point):
        """The most likely one last, as it is tried first."""
        rest = [i for i in range(len(self.operations)) if not point.done >> i & 1]
        deadline = min(self.operations[i].end for i in rest)
        able = [i for i in rest if self.operations[i].begin <= deadline and point.latest <= self.operations[i].end]
        for i in able:  # an observation that holds now need not wait, unless it is too late to undo then
            if self.operations[i].kind in (ON, OFF) and not self.ends_undoing(point, self.operations[i].begin):
                state = self.after(point.state, i)
                if state == point.state:
                    return [self.advance(point, i, state)]
        found = [other for undoing in self.undoings for other in self.undone(point, undoing, deadline)]
        for i in sorted(able, key=lambda i: self.operations[i].end, reverse=True):
            state = self.after(point.state, i)
            if state is not None:
                found.append(self.advance(point, i, state))
        return found

    def ends_undoing(self, point, begin):
        return any(point.latest <= undoing.end < begin for undoing in self.undoings)

    def grants(self, state, operation):
        """Whether it is the acknowledged begin of a rule, or may have made its lifetime longer."""
        if not operation.certain or operation.kind not in (ENABLE, EXTEND):
            return False
        before = self.operations[state[1]] if state[1] is not None else None
        return before is None or operation.end + operation.lifetime >= before.begin + before.lifetime

    def advance(self, point, i, state):
        operation = self.operations[i]
        granted = self.grants(point.state, operation)
        earlier = {dataclasses.replace(one, granted=one.granted or granted) for one in point.earlier}
        if state != point.state:
            earlier.add(Earlier(point.state, operation.end, granted))
        return Point(point.done | 1 << i, state, frozenset(earlier), max(point.latest, operation.begin))

    def undone(self, point, undoing, deadline):
        if undoing.begin > deadline or undoing.end < point.latest:
            return
        if undoing.of and (point.state == ABSENT or self.operations[point.state[1]] is not undoing.of):
            return
        for one in point.earlier:
            if one.end < undoing.since or one.state == point.state or (undoing.ends_only and one.granted):
                continue
            # What it leaves may come back as well: the other box still has it.
            kept = point.earlier | {Earlier(point.state, undoing.end, False)}
            yield Point(point.done, one.state, kept, max(point.latest, undoing.begin))

    def after(self, state, i):
        """The state after operation `i`, or None if it cannot happen in `state`."""
        operation = self.operations[i]
        port, setter = state
        there = port is not None and operation.begin <= self.latest_end(setter)
        gone = port is None or operation.end >= self.earliest_end(setter)
        if operation.port is not None and operation.kind != ENABLE and port != operation.port:
            there = False
        if operation.kind == ENABLE:
            return (operation.port, i) if gone else None
        if operation.kind == OFF:
            # The list and the kernel need not agree to the millisecond about the end of a lifetime, and an extension
            # that was asked for in time may come later (doc/operating.md): the state stays, until its latest end.
            return state if gone else None
        if not there:
            return None
        return {ON: state, EXTEND: (port, i), DELETE: ABSENT}[operation.kind]

    def earliest_end(self, setter):
        one = self.operations[setter]
        return one.begin + one.lifetime - self.slack.early

    def latest_end(self, setter):
        one = self.operations[setter]
        return one.end + one.lifetime + self.slack.late

    def explain(self):
        """The operations in the longest order that was found, and the next few that do not fit."""
        lines = ["   " + str(one) for i, one in enumerate(self.operations) if self.best.done >> i & 1
                 and (one.source != "probe" or one.begin > self.best.latest - 1)]
        rest = [" ! " + str(one) for i, one in enumerate(self.operations) if not self.best.done >> i & 1]
        return "\n".join(lines + rest[:SHOWN] + ([f" ! and {len(rest) - SHOWN} more"] if len(rest) > SHOWN else []))
