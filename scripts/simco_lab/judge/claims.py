"""The language of the claims of scenarios: figures of measurements, which are compared with each other or with numbers.
A comparison gives verdicts, one for each place, and each of them holds, does not hold, or cannot be told."""

from dataclasses import dataclass, replace
from functools import partialmethod
from types import SimpleNamespace

from ..measure.quantities import QUANTITIES
from ..measure.results import Selectable
from ..scenario.catalogue import WORKLOADS, words
from ..scenario.conditions import axis_value, check_axis_name, curves_along, shown, values_of
from ..scenario.files import SCALES, mistakes_in
from . import statements, trends
from .verdicts import PAIRS_MIN, Verdicts


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
    factor: float = 1.0

    def __post_init__(self):
        self._rehearse(lambda rehearsal: rehearsal.check_places({**self.where, **self.sides}))

    @property
    def shared(self):
        """Whether all variants met the same arrivals and losses, so that their runs are pairs."""
        return self.results.scenario.setup.seeds == "shared"

    def select(self, sides):
        return [one for one in self.results.select(self.where) if one.conditions.fits(sides)]

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
        have one."""
        if not isinstance(other, Figures) or other.quantity != self.quantity:
            raise TypeError("figures are compared with those of the same quantity, or by < and > with numbers")
        if self.factor != 1 or (other.factor != 1 and not factor):
            raise ValueError("only the greater side can have a factor: a < 2 * b")
        if self.sides == other.sides:
            raise ValueError("the two sides are the same; give different ones")
        if of_runs or of_intervals and not QUANTITIES[self.quantity].within_run:
            self._rehearse(lambda rehearsal: rehearsal.check_runs(self.quantity, of_runs or PAIRS_MIN))

    def check_axis(self, axis, *ends):
        self._rehearse(lambda rehearsal: rehearsal.check_axis(self, axis, ends))

    def __rmul__(self, factor):
        return replace(self, factor=factor * self.factor)

    def __lt__(self, other):
        return statements.less(self, other) if isinstance(other, Figures) else self.within(below=other)

    def __le__(self, other):
        return statements.less(self, other, or_alike=True)

    def __gt__(self, other):
        return statements.less(other, self) if isinstance(other, Figures) else self.within(above=other)

    within = statements.within
    in_every_run = partialmethod(statements.within, runs="every")
    in_some_run = partialmethod(statements.within, runs="some")
    not_carried = statements.not_carried
    equal = statements.equal
    near_model = statements.near_model
    at_most_above_model = partialmethod(statements.near_model, above_only=True)
    faster_than = statements.faster_than
    like = statements.like
    identical_to = statements.identical_to
    flatter_than = statements.flatter_than
    independent_of = statements.independent_of
    rises_along = partialmethod(trends.moves_along, rises=True)
    falls_along = partialmethod(trends.moves_along, rises=False)
    never_falls_along = partialmethod(trends.moves_along, rises=True, or_alike=True)
    never_rises_along = partialmethod(trends.moves_along, rises=False, or_alike=True)


increasing = statements.increasing


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
        measured = [SimpleNamespace(conditions=one) for one in self.points if one.fits(where)]
        there = {axis_value(one.conditions, axis) for curve in curves_along(measured, axis) if len(curve) > 1 for one in curve}
        if not there or not set(map(float, ends)) <= there:
            raise ValueError(f"no curve along {axis} has {' and '.join(map(shown, ends)) or 'two places'}; they have"
                             f" {', '.join(map(shown, sorted(there))) or 'no values'}")


def rehearse(scenario):
    """Raises ScenarioError if a claim, figure, table or paper's number is of a quantity or place that is not measured."""
    rehearsal = Rehearsal(scenario)
    with mistakes_in(scenario.path):
        for plot in scenario.plots:
            check_quantity(scenario, plot.quantity)
            rehearsal.check_places(plot.where)
        for number in scenario.papers:
            check_quantity(scenario, number["quantity"])
            for key in ("where", "less", "than"):
                rehearsal.check_places(number.get(key, {}))
        for name in scenario.tables:
            check_quantity(scenario, name)
        for claim, verdicts in judged(rehearsal):
            if not isinstance(verdicts, Verdicts):
                raise TypeError(f"claim {claim.id} returns {verdicts!r}; it must return a comparison of figures")


def judged(results):
    """Returns [(claim, verdicts)] of the scenario."""
    return [(claim, claim.judge(View(results, claim.where))) for claim in results.scenario.claims]
