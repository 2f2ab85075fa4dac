"""Scenarios: reading and checking a TOML file such as those in scripts/lab.d, and the points it describes."""

import hashlib
import itertools
import math
import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path

from .catalogue import BACKENDS, PROFILES, WORKLOADS, default, words
from .errors import ScenarioError
from .variant import Variant

FOLDER = Path(__file__).resolve().parent.parent / "lab.d"
SCALES = ("quick", "full")
FEWEST = 100  # transactions of a point, however small the fraction


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions of a point: a value for every dimension, the default if the scenario does not name it."""

    profile: str = default(PROFILES)
    variant: Variant
    delay_ms: float = 10.0  # one way
    jitter_ms: float = 0.0  # one way, +-; packets overtake each other
    loss_percent: float = 0.0  # of IP packets
    loss_correlation: float = 0.0  # of neighbouring packets
    lose: str = "both"  # both, request or reply
    rate: float = 100.0  # transactions per second
    backend: str = default(BACKENDS)  # of the middlebox

    @property
    def short_name(self):
        """A readable name: the values that differ from the defaults."""
        marks = {"delay_ms": "delay", "jitter_ms": "jitter", "loss_percent": "loss",
                 "loss_correlation": "corr", "rate": "rate"}
        return "_".join(f"{marks.get(name, '')}{shown(value)}" for name, value in self.items()
                        if name in ("profile", "variant") or value != DEFAULTS[name])

    @property
    def place(self):
        """Returns the conditions in words, without the variant: "modern, 10 ms, 2.5 %, 100/s"."""
        parts = [self.profile]
        for name, form in (("delay_ms", "{:g} ms"), ("jitter_ms", "+-{:g} ms"), ("loss_percent", "{:g} %"),
                           ("rate", "{:g}/s")):
            value = getattr(self, name)
            if value or name == "loss_percent":
                parts.append(form.format(value))
        return ", ".join(parts)

    def items(self):
        """Returns [(dimension, value)] in the order of the dimensions."""
        return [(name, getattr(self, name)) for name in DIMENSIONS]

    def without(self, *dimensions):
        """Returns a key that is the same for all points that differ in `dimensions` only."""
        return tuple((name, value) for name, value in self.items() if name not in dimensions)


DIMENSIONS = tuple(field.name for field in fields(Conditions))
DEFAULTS = {field.name: field.default for field in fields(Conditions) if field.default is not MISSING}
NUMBERS = {name for name, value in DEFAULTS.items() if isinstance(value, float)}
BELOW = {"loss_percent": 100, "loss_correlation": 1}  # at these, nothing arrives
WORDS = {
    "profile": tuple(PROFILES),
    "lose": ("both", "request", "reply"),
    "backend": tuple(BACKENDS),
}


def label_of(value):
    """Returns a dimension's value as figures and reports show it."""
    return value.label if isinstance(value, Variant) else shown(value)


def shown(value):
    """Returns a dimension's value as scenarios and result files spell it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def conditions_of(texts):
    """Returns the conditions that `texts`, {dimension: text}, spell as shown() does."""
    def value(name, text):
        if name == "variant":
            return Variant.parse(text)
        return float(text) if name in NUMBERS else text

    return Conditions(**{name: value(name, texts[name]) for name in DIMENSIONS})


KEYS = {
    "": {"title", "source", "workload", "arrivals", "seed", "matrix", "quick", "full", "plot",
         "expect", "paper", "warmup"},
    "matrix": set(DIMENSIONS),
    "quick": {"count", "replications", *DIMENSIONS},
    "full": {"count", "replications", *DIMENSIONS},
    "plot": {"name", "title", "kind", "x", "curves", "where", "log_x", "model", "y_max", "paper_figure"},
    "expect": {"id", "claim", "kind", "quantity", "less", "than", "where", "tolerance_ms",
               "percent", "side", "factor"},
    "paper": {"what", "value", "quantity", "where"},
}
PLOT_KINDS = {"mean", "ccdf"}
# A plot's x besides the dimensions: numbers that are part of the variant's name.
PLOT_AXES = ("streams", "connections", "rate_per_connection")
# The keys that an expectation of each kind needs.
EXPECT_KINDS = {"less": ("less", "than"), "equal": ("tolerance_ms",), "model": ("percent",), "monotone": ()}
QUANTITIES = {"mean", "p50", "p95", "p99", "p999"}


@dataclass(frozen=True, kw_only=True)
class Point(Conditions):
    """One run: its conditions, how much to measure, and which replication it is."""

    scenario: str
    count: int
    replication: int
    workload: str
    arrivals: str
    warmup: int
    base_seed: int

    @property
    def conditions(self):
        return Conditions(**dict(self.items()))

    @property
    def name(self):
        """The name of the folder with its results."""
        return f"{self.short_name}_n{self.count}_r{self.replication}"

    def seed(self, purpose):
        """Returns a number for `purpose` that is the same for every variant, profile and backend: all meet the
        same arrivals and the same losses."""
        shared = [str(value) for value in
                  (self.delay_ms, self.jitter_ms, self.loss_percent, self.loss_correlation, self.rate)]
        words = "/".join([str(self.base_seed), self.scenario, *shared, str(self.replication), purpose])
        return int.from_bytes(hashlib.sha256(words.encode()).digest()[:6], "big")


@dataclass
class Scenario:
    name: str
    path: Path
    title: str
    source: str
    workload: str
    arrivals: str
    warmup: int
    seed: int
    scales: dict  # of quick and full: {"count": ..., "replications": ..., dimension: [...]}
    matrix: dict
    plots: list = field(default_factory=list)
    expectations: list = field(default_factory=list)
    paper: list = field(default_factory=list)

    def dimensions(self, scale):
        """Returns {dimension: values} at `scale`, with every dimension."""
        chosen = {**self.matrix, **{k: v for k, v in self.scales[scale].items() if k in DIMENSIONS}}
        return {name: chosen.get(name) or [DEFAULTS[name]] for name in DIMENSIONS}

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
        for scale in self.scales.values():
            count = scale["count"]
            scale["count"] = {rate: self._part(n, fraction) for rate, n in count.items()} \
                if isinstance(count, dict) else self._part(count, fraction)

    @staticmethod
    def _part(count, fraction):
        return min(count, max(FEWEST, round(count * fraction)))

    def points(self, scale):
        dimensions = self.dimensions(scale)
        for values in itertools.product(*dimensions.values()):
            conditions = dict(zip(dimensions, values))
            count = self.count_at(scale, conditions["rate"])
            for replication in range(self.scales[scale]["replications"]):
                yield Point(**conditions, scenario=self.name, count=count, replication=replication,
                            workload=self.workload, arrivals=self.arrivals, warmup=self.warmup,
                            base_seed=self.seed)


class _Reader:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()

    def fail(self, text, table="", key="", nth=0):
        raise ScenarioError(f"{self.path}:{self.line_of(table, key, nth)}: {text}")

    def line_of(self, table, key, nth):
        """Returns the line of `key` in the `nth` table of that name, or of the table's header if it lacks the key."""
        current, seen, header = "", -1, 1
        for number, line in enumerate(self.text.splitlines(), 1):
            match = re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]", line)
            if match:
                current = match[1].split(".")[0]
                if current == table:
                    seen += 1
                    header = number if seen == nth else header
            elif current == table and (table == "" or seen == nth):
                if key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                    return number
        return header

    def check_keys(self, table, given, nth=0):
        for key in given:
            if key not in KEYS[table]:
                where = f" in [{table}]" if table else ""
                self.fail(f"unknown key '{key}'{where}; known are {', '.join(sorted(KEYS[table]))}",
                          table, key, nth)

    def values(self, table, key, value):
        """Returns the list of values of a dimension, checked."""
        listed = value if isinstance(value, list) else [value]
        if not listed:
            self.fail(f"'{key}' has no value", table, key)
        return [self.value(table, key, given) for given in listed]

    def value(self, table, key, given, nth=0, line_key=None):
        line_key = line_key or key
        if key in NUMBERS:
            if not isinstance(given, (int, float)) or isinstance(given, bool) or given < 0:
                self.fail(f"'{key}' must be a number that is not negative, not {given!r}", table, line_key, nth)
            if given >= BELOW.get(key, math.inf):
                self.fail(f"'{key}' must be below {BELOW[key]}, not {given!r}", table, line_key, nth)
            if key == "rate" and given == 0:
                self.fail("'rate' must be above 0", table, line_key, nth)
            return float(given)
        if key == "variant":
            try:
                return Variant.parse(given)
            except ValueError as error:
                self.fail(str(error), table, line_key, nth)
        if given not in WORDS[key]:
            self.fail(f"'{key}' must be one of {', '.join(WORDS[key])}, not {given!r}", table, line_key,
                      nth)
        return given

    def scale(self, name, given):
        self.check_keys(name, given)
        result = {key: self.values(name, key, value) for key, value in given.items()
                  if key in DIMENSIONS}
        result["replications"] = given.get("replications", 1)
        count = given.get("count")
        if isinstance(count, dict):
            count = {float(rate): number for rate, number in count.items()}
        if count is None or not all(isinstance(n, int) and n > 0
                                    for n in (count.values() if isinstance(count, dict) else [count])):
            self.fail(f"[{name}] needs 'count': transactions, or a table of them by rate", name, "count")
        result["count"] = count
        if result["replications"] < 1:
            self.fail("'replications' must be at least 1", name, "replications")
        return result

    def where(self, table, nth, line_key, given):
        """Returns the conditions of `line_key` in the nth table, {dimension: list of values}."""
        for key in given:
            if key not in DIMENSIONS:
                self.fail(f"unknown dimension '{key}'; known are {', '.join(DIMENSIONS)}", table, line_key, nth)
        listed = {key: value if isinstance(value, list) else [value] for key, value in given.items()}
        return {key: [self.value(table, key, value, nth, line_key) for value in values]
                for key, values in listed.items()}

    def axes(self, nth, plot):
        known = (*sorted(NUMBERS), *PLOT_AXES)
        if plot.get("x", "loss_percent") not in known:
            self.fail(f"'x' must be one of {', '.join(known)}", "plot", "x", nth)
        if plot.get("curves", "variant") not in DIMENSIONS:
            self.fail(f"'curves' must be one of {', '.join(DIMENSIONS)}", "plot", "curves", nth)

    def section(self, name, given):
        """Returns the tables of [[plot]], [[expect]] or [[paper]], checked."""
        needed = {"plot": ("name", "title", "kind"), "expect": ("id", "claim", "kind"),
                  "paper": ("what", "value")}[name]
        kinds = {"plot": PLOT_KINDS, "expect": EXPECT_KINDS}.get(name)
        for nth, entry in enumerate(given):
            self.check_keys(name, entry, nth)
            for key in needed:
                if key not in entry:
                    self.fail(f"[[{name}]] needs '{key}'", name, "", nth)
            if kinds and entry["kind"] not in kinds:
                self.fail(f"'kind' must be one of {', '.join(sorted(kinds))}", name, "kind", nth)
            if name == "expect":
                for key in EXPECT_KINDS[entry["kind"]]:
                    if key not in entry:
                        self.fail(f"an expectation of kind '{entry['kind']}' needs '{key}'", name, "kind", nth)
            if name == "plot":
                self.axes(nth, entry)
            if entry.get("side", "above") != "above":
                self.fail("'side' must be above", name, "side", nth)
            if entry.get("quantity", "mean") not in QUANTITIES:
                self.fail(f"'quantity' must be one of {', '.join(sorted(QUANTITIES))}", name, "quantity", nth)
            for key in ("where", "less", "than"):
                if key in entry:
                    entry[key] = self.where(name, nth, key, entry[key])
        return given


def read(path):
    """Returns the scenario of a file. Raises ScenarioError."""
    path = Path(path)
    try:
        reader = _Reader(path)
        document = tomllib.loads(reader.text)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = match[1] if match else "1"
        raise ScenarioError(f"{path}:{line}: {str(error).split(' (at')[0]}") from error
    reader.check_keys("", document)
    for key in ("title", "matrix", *SCALES):
        if key not in document:
            reader.fail(f"'{key}' is missing")
    workload = document.get("workload", default(WORKLOADS))
    if workload not in WORKLOADS:
        reader.fail(f"'workload' must be {words(WORKLOADS)}", "", "workload")
    if document.get("arrivals", "poisson") not in ("poisson", "constant"):
        reader.fail("'arrivals' must be poisson or constant", "", "arrivals")
    for key in ("warmup", "seed"):
        if not isinstance(document.get(key, 0), int):
            reader.fail(f"'{key}' must be a whole number", "", key)
    reader.check_keys("matrix", document["matrix"])
    if "variant" not in document["matrix"]:
        reader.fail("[matrix] needs 'variant'", "matrix")
    scenario = Scenario(
        name=path.stem, path=path, title=document["title"], source=document.get("source", ""),
        workload=workload, arrivals=document.get("arrivals", "poisson"),
        warmup=document.get("warmup", 0), seed=document.get("seed", 1),
        scales={scale: reader.scale(scale, document[scale]) for scale in SCALES},
        matrix={key: reader.values("matrix", key, value) for key, value in document["matrix"].items()},
        plots=reader.section("plot", document.get("plot", [])),
        expectations=reader.section("expect", document.get("expect", [])),
        paper=reader.section("paper", document.get("paper", [])))
    ordered = WORKLOADS[workload].always_ordered
    if ordered and any(variant.unordered for scale in SCALES for variant in scenario.dimensions(scale)["variant"]):
        able = words([row.name for row in WORKLOADS.values() if not row.always_ordered])
        reader.fail(f"unordered variants are for the {able} workload: {ordered}", "matrix", "variant")
    return scenario


def available():
    return sorted(FOLDER.glob("*.toml"))


def find(name):
    """Returns the scenario of that name, or of that file. Raises ScenarioError."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.exists():
        known = ", ".join(path.stem for path in available())
        raise ScenarioError(f"unknown scenario '{name}'; known are {known}")
    return read(path)
