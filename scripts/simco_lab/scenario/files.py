"""Scenarios: Python files such as those in scripts/lab.d. Matrix and figures are data, and each claim of the paper is a
function over what was measured (claims.py)."""

import contextlib
import itertools
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import ScenarioError
from . import obstacles
from .catalogue import WORKLOADS, default, words
from .conditions import AXES_KNOWN, DIMENSIONS, one_of, values_of
from .points import SIP, Point, Setup, check_setting, complete

FOLDER = Path(__file__).resolve().parents[2] / "lab.d"
EXAMPLE = FOLDER / "new" / "mine.py"  # what a scenario starts from
SCALES = ("quick", "full")
NAME, NAME_RULE = r"\w[\w.-]*", "must be letters, digits, '-', '_' and '.'"
FEWEST = 1000  # transactions of a point, however small the fraction, if it has so many
PLOTS = {"mean": AXES_KNOWN, "over": AXES_KNOWN, "ccdf": AXES_KNOWN, "trace": ("message", "time"), "delivery": AXES_KNOWN,
         "parts": AXES_KNOWN, "best": AXES_KNOWN, "groups": DIMENSIONS}  # the axes that each kind can have


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, or ours: `judge` takes the results (claims.View) of the conditions `where`, and returns verdicts."""

    id: str
    text: str
    where: dict
    judge: Callable


@dataclass(frozen=True)
class Plot:
    name: str
    title: str
    kind: str
    where: dict
    x: str = ""  # the axis; of a trace, time instead of the number of the message
    y: str = "rate"  # the other axis of a map
    curves: str = "variant"  # the dimension by which curves differ
    panels: list = field(default_factory=list)  # dimensions: a figure for each combination of their values
    quantity: str = "mean"
    model: bool = False
    log_x: bool = False
    y_max: float | None = None
    paper_figure: str = ""
    first: int = 0  # message of a trace
    last: int | None = None
    measure: str = "response"  # the scenario's

    def __post_init__(self):
        one_of("kind", self.kind, PLOTS)
        if self.x:
            one_of("x", self.x, PLOTS[self.kind])
        one_of("y", self.y, AXES_KNOWN)
        for dimension in (self.curves, *self.panels):
            one_of("curves or panels", dimension, DIMENSIONS)
        if not re.fullmatch(NAME, self.name):
            raise ValueError(f"the name of a figure {NAME_RULE}, not {self.name!r}")

    @property
    def axis(self):
        return self.x or "loss_percent"


def plot(name, title, kind, *, where=None, **more):
    """Returns a figure of a scenario; `more` are fields of Plot."""
    return Plot(name, title, kind, values_of(where or {}), **more)


def paper(what, value, *, quantity="mean", less=None, than=None, **where):
    """Returns numbers that a paper prints, each beside ours where conditions are these: one, or {variant: number}. With `less` and
    `than` they are differences of the two."""
    sides = {"less": values_of(less), "than": values_of(than)} if less else {}
    numbers = [(one, {**where, "variant": variant}) for variant, one in value.items()] if isinstance(value, dict) else [(value, where)]
    return [{"what": what, "value": one, "quantity": quantity, "where": values_of(places), **sides} for one, places in numbers]


class Scenario:
    """A measurement with its figures and claims. Raises ValueError for unknown names, and for a combination that is impossible."""

    def __init__(self, title, *, matrix, quick, full, source="", notes=(), workload=default(WORKLOADS), arrivals="poisson", warmup=0,
                 seed=1, tables=(), plots=(), papers=(), **setup):
        one_of("workload", workload, WORKLOADS)
        one_of("arrivals", arrivals, ("poisson", "constant"))
        check_setting("warmup", 0, warmup)
        self.name, self.path = "", None
        self.title, self.source, self.notes, self.tables = title, source, list(notes), list(tables)
        self.workload, self.arrivals, self.warmup, self.seed = workload, arrivals, warmup, seed
        for key in setup:
            if key in SIP and not WORKLOADS[workload].sip:
                raise ValueError(f"'{key}' is of the {words([row.name for row in WORKLOADS.values() if row.sip])} workload")
        self.setup = Setup(**{"network": WORKLOADS[workload].network, **setup})
        self.plots = [replace(one, measure=self.setup.measure) for one in plots]
        self.matrices = [self._matrix(given) for given in (matrix if isinstance(matrix, list) else [matrix])]
        self.scales = {"quick": self._scale("quick", quick), "full": self._scale("full", full)}
        self.papers = list(itertools.chain.from_iterable(papers))
        self.claims = []
        obstacles.check(self)

    @staticmethod
    def _matrix(given):
        """Returns {dimension: values}, with "scale" if it is of one scale only."""
        scale = {"scale": given["scale"]} if "scale" in given else {}
        for name in scale.values():
            one_of("scale", name, SCALES)
        return {**values_of({name: value for name, value in given.items() if name != "scale"}), **scale}

    @staticmethod
    def _scale(name, given):
        """Returns {"count": ..., "replications": ..., dimension: values}. The count is of each point, or {from that rate on: count}."""
        count, replications = given.get("count"), given.get("replications", 1)
        for number in (replications, *(count.values() if isinstance(count, dict) else [count])):
            if not isinstance(number, int) or number < 1:
                raise ValueError(f"{name}: 'count' and 'replications' must be whole numbers of 1 or more, not {number!r}")
        own = {key: value for key, value in given.items() if key not in ("count", "replications")}
        return {**values_of(own), "replications": replications, "count": count}

    def claim(self, name, text, judge, /, **where):
        """Adds a claim about the points with these conditions."""
        if any(known.id == name for known in self.claims):
            raise ValueError(f"two claims are named {name}")
        self.claims.append(Claim(name, text, values_of(where), judge))

    def claims_of(self, name, *ids, **where):
        """Takes over the claims of another scenario, those with these ids or all, for the points with these conditions."""
        known = {claim.id: claim for claim in find(name).claims}
        for one in ids or known:
            if one not in known:
                raise ValueError(f"scenario '{name}' has no claim '{one}'; it has {', '.join(known)}")
            self.claim(one, known[one].text, known[one].judge, **{**known[one].where, **where})

    def dimensions(self, scale):
        """Returns {dimension: values} with every dimension, for each matrix that has points at `scale`. If there is one
        matrix, the values of the scale replace its own; else they narrow those of each."""
        own = {name: values for name, values in self.scales[scale].items() if name in DIMENSIONS}
        if len(self.matrices) == 1:
            return [complete({**self.matrices[0], **own})]
        narrowed = [{name: [value for value in values if value in own.get(name, values)]
                     for name, values in complete(matrix).items()}
                    for matrix in self.matrices if matrix.get("scale", scale) == scale]
        return [matrix for matrix in narrowed if all(matrix.values())]

    def count_at(self, scale, rate):
        """Returns the transactions of a point: a fixed number, or that of the greatest key of the table that does
        not exceed the rate."""
        count = self.scales[scale]["count"]
        if isinstance(count, int):
            return count
        fitting = [bound for bound in count if bound <= rate]
        return count[max(fitting)] if fitting else count[min(count)]

    def take(self, fraction):
        """Reduces the transactions of every point to this share."""
        def part(count):
            return min(count, max(FEWEST, round(count * fraction)))

        for scale in self.scales.values():
            count = scale["count"]
            scale["count"] = {rate: part(n) for rate, n in count.items()} if isinstance(count, dict) else part(count)

    def points(self, scale):
        combinations = (values for dimensions in self.dimensions(scale)
                        for values in itertools.product(*dimensions.values()))
        for values in dict.fromkeys(combinations):
            conditions = dict(zip(DIMENSIONS, values))
            count = self.count_at(scale, conditions["rate"])
            for replication in range(self.scales[scale]["replications"]):
                yield Point(**conditions, scenario=self.name, count=count, replication=replication,
                            workload=self.workload, arrivals=self.arrivals, warmup=self.warmup,
                            base_seed=self.seed, setup=self.setup)

    @property
    def columns(self):
        """The dimensions that its tables have: those of all networks, and its own network's."""
        return [name for name, dimension in DIMENSIONS.items() if dimension.network in ("", self.setup.network)]


@contextlib.contextmanager
def mistakes_in(path):
    """Makes a ScenarioError, with the file's name and the line, of an exception from a scenario."""
    try:
        yield
    except SyntaxError as error:
        raise ScenarioError(f"{path}:{error.lineno or 1}: {error.msg}") from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        raise ScenarioError(f"{path}:{lines[-1] if lines else 1}: {error}") from error


def read(path):
    """Returns the scenario of a file, which is run. Raises ScenarioError."""
    path, names = Path(path), {}
    with mistakes_in(path):
        exec(compile(path.read_bytes(), str(path), "exec"), names)  # noqa: S102 - it is a program
    found = [value for value in names.values() if isinstance(value, Scenario)]
    if len(found) != 1:
        raise ScenarioError(f"{path}: it must make one Scenario(), not {len(found)}")
    found[0].name, found[0].path = path.stem, path
    return found[0]


def available():
    return sorted(FOLDER.glob("*.py"))


def find(name):
    """Returns the scenario of that name, or of that file. Raises ScenarioError."""
    path = Path(name) if name.endswith(".py") else FOLDER / f"{name}.py"
    if not path.exists():
        known = ", ".join(path.stem for path in available())
        raise ScenarioError(f"unknown scenario '{name}' (a file of yours is named with its .py); known are {known}")
    return read(path)


def new(name):
    """Writes a scenario to start from, NAME.py in the current folder, and returns its path. Raises ScenarioError."""
    path = Path(name.removesuffix(".py") + ".py")
    if not re.fullmatch(NAME, path.stem) or path.parent != Path():
        raise ScenarioError(f"the name of a scenario {NAME_RULE}, not {name!r}")
    if path.name in {known.name for known in available()}:
        raise ScenarioError(f"'{path.stem}' is one of the laboratory's scenarios: choose another name")
    try:
        with path.open("x") as file:
            file.write(EXAMPLE.read_text())
    except OSError as error:
        raise ScenarioError(f"{path} is not written: {error.strerror}: choose another name or folder") from error
    return path
