"""What the claims of scenarios are written in: figures of what was measured, which are compared with each other or with numbers.
A comparison gives verdicts, one for each place, and each of them holds, does not hold, or cannot be told."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

from ..measure.quantities import QUANTITIES
from ..measure.results import Selectable
from ..measure.tests_of_runs import LEVEL, ks_probability
from ..scenario.catalogue import WORKLOADS, words
from ..scenario.conditions import axis_value, curves_along, shown, values_of
from ..scenario.files import AXES_KNOWN, SCALES, mistakes_in
from . import statements, trends
from .verdicts import PAIRS_MIN


class Verdicts(list):
    """The verdicts on a claim, one for each place."""

    def __bool__(self):
        raise TypeError("verdicts are neither true nor false: write within(above=..., below=...) instead of two comparisons")

    def at_more_than(self, share):
        """Returns one verdict: whether the claim holds at more than that share of all places."""
        return Verdicts(statements.at_more_than(list(self), share))


class View:
    """The results as a claim sees them: r.p95("tcp", rate=40) are the 95th percentiles of that variant at that rate."""

    def __init__(self, results, where):
        self._results, self._where = results, where

    def __getattr__(self, name):
        check_quantity(self._results.scenario, name)
        return lambda *variants, **sides: Figures(self._results, self._where, name, sides_of(variants, sides))


def sides_of(variants, sides):
    return values_of({**({"variant": list(variants)} if variants else {}), **sides})


@dataclass(frozen=True, eq=False)
class Figures:
    """A quantity of the combinations with some conditions. `sides` are those by which they differ from others."""

    results: object
    where: dict
    quantity: str
    sides: dict
    factor: float = field(default=1.0)

    def __post_init__(self):
        self._rehearse(lambda rehearsal: rehearsal.check_places({**self.where, **self.sides}))

    @property
    def shared(self):
        """Whether all variants met the same arrivals and losses, so that their runs are pairs."""
        return self.results.scenario.setup.seeds == "shared"

    def select(self, sides):
        return [one for one in self.results.select(self.where) if one.fits(sides)]

    def selected(self):
        """Returns the combinations of the figures by themselves."""
        if self.factor != 1:
            raise ValueError("only figures that are compared with others have a factor")
        return self.select(self.sides)

    def _rehearse(self, check):
        if isinstance(self.results, Rehearsal):
            check(self.results)

    def comparable(self, other, *, of_runs=0, of_intervals=False, factor=False):
        """Checks that it can be compared with `other`, by tests that need so many runs, or by intervals. With `factor` the other may
        have one. Returns it."""
        if not isinstance(other, Figures) or other.quantity != self.quantity:
            raise TypeError("figures are compared with those of the same quantity, or by < and > with numbers")
        if self.factor != 1 or (other.factor != 1 and not factor):
            raise ValueError("only the greater side can have a factor: a < 2 * b")
        if self.sides == other.sides:
            raise ValueError("the two sides are the same; give different ones")
        if of_runs or of_intervals and not QUANTITIES[self.quantity].within_run:
            self._rehearse(lambda rehearsal: rehearsal.check_runs(self.quantity, of_runs or PAIRS_MIN))
        return other

    def _along(self, axis, *ends):
        self._rehearse(lambda rehearsal: rehearsal.check_axis(self, axis, ends))
        return axis

    def __rmul__(self, factor):
        return replace(self, factor=factor * self.factor)

    def __lt__(self, other):
        if not isinstance(other, Figures):
            return self.within(below=other)
        return Verdicts(statements.less(self, self.comparable(other, of_intervals=True, factor=True)))

    def __le__(self, other):
        return Verdicts(statements.less(self, self.comparable(other, of_intervals=True, factor=True), or_alike=True))

    def __gt__(self, other):
        return other < self if isinstance(other, Figures) else self.within(above=other)

    def within(self, *, below=None, above=None, rtts=0):
        """They are on that side of the limits, or between them; `rtts` round-trip times are added to these."""
        return Verdicts(statements.bound(self, below, above, rtts))

    def in_every_run(self, *, below=None, above=None):
        return Verdicts(statements.bound(self, below, above, runs="every"))

    def in_some_run(self, *, below=None, above=None):
        return Verdicts(statements.bound(self, below, above, runs="some"))

    def equal(self, *, within_ms):
        """All variants differ by no more than that."""
        return Verdicts(statements.equal(self, within_ms))

    def near_model(self, *, percent):
        """Each is within that share of equation 5."""
        return Verdicts(statements.near_model(self, percent))

    def at_most_above_model(self, *, percent):
        return Verdicts(statements.near_model(self, percent, above_only=True))

    def faster_than(self, other):
        """A test of the runs tells the two apart, and these are less."""
        return Verdicts(statements.faster_than(self, self.comparable(other, of_runs=RUNS_OF_TESTS)))

    def like(self, other):
        """A test of the runs does not tell the two apart."""
        return Verdicts(statements.like(self, self.comparable(other, of_runs=0 if self.quantity == "mean" else RUNS_OF_TESTS)))

    def identical_to(self, other):
        """Each run has the samples of its counterpart, and no queue dropped a packet."""
        return Verdicts(statements.identical(self, self.comparable(other)))

    def flatter_than(self, other, axis, start, end, *, added=False):
        """They rise by a smaller factor than the others from one place of the axis to another; with `added`, by less."""
        self._along(axis, start, end)
        return Verdicts(statements.flatter_than(self, self.comparable(other, of_intervals=True), axis, (start, end), added))

    def never_worse_with_more_streams(self):
        return Verdicts(statements.never_worse_with_more_streams(self))

    def rises_along(self, axis):
        return Verdicts(trends.moves_along(self, self._along(axis), rises=True))

    def falls_along(self, axis):
        return Verdicts(trends.moves_along(self, self._along(axis), rises=False))

    def never_falls_along(self, axis):
        return Verdicts(trends.moves_along(self, self._along(axis), rises=True, or_alike=True))

    def never_rises_along(self, axis):
        return Verdicts(trends.moves_along(self, self._along(axis), rises=False, or_alike=True))

    def independent_of(self, axis, *, on):
        """By least squares on the axes `on`, the first has no influence."""
        for name in (axis, *on):
            check_axis_name(name)
        if axis not in on:
            raise ValueError(f"'{axis}' must be one of 'on'")
        return Verdicts(statements.independent_of(self, axis, on))


def increasing(*groups):
    """Each of the figures is below the next."""
    for one, other in zip(groups, groups[1:]):
        one.comparable(other)
    return Verdicts(statements.increasing(groups))


def check_axis_name(name):
    if name not in AXES_KNOWN:
        raise ValueError(f"unknown axis '{name}'; known are {', '.join(AXES_KNOWN)}")


def check_quantity(scenario, name):
    """Raises an error unless runs of the scenario have that quantity."""
    if name not in QUANTITIES:
        raise AttributeError(f"unknown quantity '{name}'; known are {', '.join(QUANTITIES)}")
    quantity = QUANTITIES[name]
    if quantity.sip and not WORKLOADS[scenario.workload].sip:
        raise ValueError(f"'{name}' is of the {words([row.name for row in WORKLOADS.values() if row.sip])} workload")
    if quantity.captured and not scenario.setup.capture:
        raise ValueError(f"'{name}' needs 'capture'")
    runs = {value for scale in SCALES for dimensions in scenario.dimensions(scale) for value in dimensions["lose_run"]}
    if quantity.twin and (0 not in runs or len(runs) < 2):
        raise ValueError(f"'{name}' compares with the run without losses: give 'lose_run' 0 and others")


RUNS_OF_TESTS = next(runs for runs in range(1, 9) if ks_probability(runs, runs, runs * runs) < LEVEL)  # that can reject at all


class Rehearsal(Selectable):
    """Results without a run, on which claims are tried before hours of them: figures of places that no point has, or that so few
    runs cannot tell, raise ValueError."""

    def __init__(self, scenario):
        self.scenario, self.combinations = scenario, []
        self.points = {point.conditions: None for scale in SCALES for point in scenario.points(scale) if point.replication == 0}

    def check_places(self, where):
        for name, values in where.items():
            known = {getattr(conditions, name) for conditions in self.points}
            for value in values:
                if value not in known:
                    raise ValueError(f"no point has {name} {shown(value)}; they have {', '.join(sorted(map(shown, known)))}")

    def check_runs(self, quantity, needed):
        runs = min(scale["replications"] for scale in self.scenario.scales.values())
        if runs < needed:
            raise ValueError(f"{quantity} cannot be told with {runs} runs: give 'replications' of {needed} or more")

    def check_axis(self, figures, axis, ends):
        check_axis_name(axis)
        where = {**figures.where, **({} if ends else figures.sides)}
        measured = [SimpleNamespace(conditions=one) for one in self.points if all(getattr(one, name) in where[name] for name in where)]
        there = {axis_value(one.conditions, axis) for curve in curves_along(measured, axis) if len(curve) > 1 for one in curve}
        if not there or not set(map(float, ends)) <= there:
            raise ValueError(f"no curve along {axis} has {' and '.join(map(shown, ends)) or 'two places'}; they have"
                             f" {', '.join(map(shown, sorted(there))) or 'no values'}")


def rehearse(scenario):
    """Raises ScenarioError if a claim, figure, table or paper's number is of what is not measured."""
    rehearsal = Rehearsal(scenario)
    with mistakes_in(scenario.path):
        for entry in (*scenario.plots, *scenario.papers):
            check_quantity(scenario, entry.get("quantity", "mean"))
            for key in ("where", "less", "than"):
                rehearsal.check_places(entry.get(key, {}))
        for name in scenario.tables:
            check_quantity(scenario, name)
        for claim, verdicts in judged(rehearsal):
            if not isinstance(verdicts, Verdicts):
                raise TypeError(f"claim {claim.id} returns {verdicts!r}; it must return a comparison of figures")


def judged(results):
    """Returns [(claim, verdicts)] of the scenario."""
    return [(claim, claim.judge(View(results, claim.where))) for claim in results.scenario.claims]
