"""Scenarios: reading and checking a TOML file such as those in scripts/lab.d, and the points it describes."""

import hashlib
import itertools
import math
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from .catalogue import PROFILES, WORKLOADS, default, words
from .conditions import AXES, BELOW, DEFAULTS, DIMENSIONS, FORMS_OF, NUMBERS, PARSERS, WORDS, Conditions, shown
from .errors import ScenarioError
from .networks import NETWORKS
from .quantities import QUANTITIES
from .queues import Queue, check_link
from .tests_of_runs import LEVEL, ks_probability
from .variant import Variant

FOLDER = Path(__file__).resolve().parent.parent / "lab.d"
SCALES = ("quick", "full")
FEWEST = 100  # transactions of a point, however small the fraction


@dataclass(frozen=True)
class Setup:
    """What a scenario says once for all of its points."""

    network: str = default(NETWORKS)
    seeds: str = "shared"  # shared: all variants meet the same arrivals and losses; own: each point has its own
    abort_lag_s: float = 1.0  # IKR report 53: a message handed over later ends the curve; 0: it does not
    lose_at: int = 0  # the first message of a run of lost ones
    mtu_at_s: float = 10.0  # when the middle link's MTU changes
    cross_lead_s: float | None = None  # how long competing traffic runs ahead; None: as its kind does
    cross_from_s: float = 0.0  # when it begins, if it is part of the run only
    cross_for_s: float = 0.0  # for how long; 0: all the time
    skip_s: float = 0.0  # from the start, before throughput is counted
    measure: str = "response"  # response: until the reply; one-way: until the request arrives
    capture: bool = False  # packets, for the parts of the delay
    invite_size: int = 450  # octets, and the rest of the workload sip
    response: str = "180"  # none: over a transport that loses messages it is 100
    response_size: int = 300
    drain_s: float = 2.0  # without responses, for what is under way at the end
    large_over_udp: bool = False


# Keys of the workload sip.
SIP_KEYS = ("measure", "capture", "invite_size", "response", "response_size", "drain_s", "large_over_udp", "skip_s")
FLAGS = ("capture", "large_over_udp")


SETUP_WORDS = {"network": tuple(NETWORKS), "seeds": ("shared", "own"), "measure": ("response", "one-way"),
               "response": ("180", "100", "none")}
WHOLE = ("lose_at", "invite_size", "response_size")
SETUP_KEYS = tuple(Setup.__dataclass_fields__)


KEYS = {
    "": {"title", "source", "workload", "arrivals", "seed", "matrix", "quick", "full", "plot",
         "expect", "paper", "warmup", *SETUP_KEYS},
    "matrix": set(DIMENSIONS),
    "quick": {"count", "replications", *DIMENSIONS},
    "full": {"count", "replications", *DIMENSIONS},
    "plot": {"name", "title", "kind", "x", "curves", "where", "log_x", "model", "y_max", "paper_figure", "quantity",
             "panels", "from", "to"},
    "expect": {"id", "claim", "kind", "quantity", "less", "than", "where", "tolerance_ms",
               "percent", "side", "factor", "below", "above", "rtts", "share", "order", "axis", "from", "to", "on",
               "falls"},
    "paper": {"what", "value", "quantity", "where"},
}
PLOT_KINDS = {"mean", "over", "ccdf", "trace", "delivery", "parts"}
TRACE_AXES = ("message", "time")  # a trace's x
# The keys that an expectation of each kind needs.
EXPECT_KINDS = {"less": ("less", "than"), "equal": ("tolerance_ms",), "model": ("percent",), "monotone": (),
                "differs": ("less", "than"), "alike": ("less", "than"), "identical": ("less", "than"), "bound": (),
                "order": ("order",), "step": ("less", "than", "axis", "from", "to"), "regression": ("axis", "on")}


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
    setup: Setup = Setup()

    @property
    def conditions(self):
        return Conditions(**dict(self.items()))

    @property
    def name(self):
        """The name of the folder with its results."""
        return f"{self.short_name}_n{self.count}_r{self.replication}"

    def seed(self, purpose):
        """Returns a number for `purpose` that is the same for every variant, profile, queue and backend: all meet
        the same arrivals and the same losses. With seeds of their own, every point has another."""
        shared = [str(value) for value in
                  (self.delay_ms, self.jitter_ms, self.loss_percent, self.loss_correlation, self.rate)]
        if self.setup.seeds == "own":
            shared = [shown(value) for _, value in self.items()]
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
    setup: Setup
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
                            base_seed=self.seed, setup=self.setup)

    @property
    def columns(self):
        """The dimensions that its tables have: those of the dumbbell only where there is one."""
        everywhere = self.setup.network != default(NETWORKS)
        return [name for name in DIMENSIONS if everywhere or name not in FORMS_OF]


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
        if key == "variant" or key in PARSERS:
            try:
                parsed = Variant.parse(given) if key == "variant" else PARSERS[key](given)
                return parsed if key == "variant" else given
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

    def setup(self, document, workload):
        """Returns the Setup of a document."""
        for key, allowed in SETUP_WORDS.items():
            if document.get(key, allowed[0]) not in allowed:
                self.fail(f"'{key}' must be {words(allowed)}", "", key)
        given = {key: document[key] for key in SETUP_KEYS if key in document}
        for key, value in given.items():
            if key in SIP_KEYS and not WORKLOADS[workload].sip:
                able = words([row.name for row in WORKLOADS.values() if row.sip])
                self.fail(f"'{key}' is of the {able} workload", "", key)
            if key in FLAGS and not isinstance(value, bool):
                self.fail(f"'{key}' must be true or false", "", key)
            if key not in (*SETUP_WORDS, *FLAGS) and (isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0):
                self.fail(f"'{key}' must be a number that is not negative, not {value!r}", "", key)
        for key in WHOLE:
            if not isinstance(given.get(key, 0), int):
                self.fail(f"'{key}' must be a whole number", "", key)
        return Setup(**{"network": WORKLOADS[workload].network, **given})

    def check_runs(self, scenario):
        """Checks that tests on runs have as many as they need."""
        for nth, entry in enumerate(scenario.expectations):
            runs = min(scenario.scales[scale]["replications"] for scale in SCALES)
            if entry["kind"] == "differs" and ks_probability(runs, runs, runs * runs) >= LEVEL:
                self.fail(f"'differs' cannot be told with {runs} runs: give 'replications' of 4 or more", "expect", "kind",
                          nth)

    def check_matrix(self, scenario):
        """Checks what the values of different dimensions have to do with each other, at each scale."""
        for scale in SCALES:
            dimensions = scenario.dimensions(scale)

            def wrong(key, text, scale=scale):
                self.fail(text, scale if key in scenario.scales[scale] else "matrix", key)

            row = WORKLOADS[scenario.workload]
            for variant in dimensions["variant"]:
                if not variant.transport.reliable and not row.sip:
                    wrong("variant", f"variant '{variant}': the {row.name} workload needs a reliable transport")
            for profile in dimensions["profile"]:
                if PROFILES[profile].one_size and not (row.sip or row.octets):
                    wrong("profile", f"profile '{profile}' needs messages of one size; those of {row.name} vary")
            if dimensions["t1_ms"] != [DEFAULTS["t1_ms"]] and not row.sip:
                wrong("t1_ms", "'t1_ms' is of the workload " + words([w.name for w in WORKLOADS.values() if w.sip]))
            for key in FORMS_OF:
                if key not in scenario.columns and dimensions[key] != [DEFAULTS[key]]:
                    wrong(key, f"'{key}' is of network {words([name for name in NETWORKS if name != default(NETWORKS)])}")
            for queue, mbit in itertools.product(dimensions["queue"], dimensions["link_mbit"]):
                try:
                    check_link(Queue.parse(queue), mbit)
                except ValueError as error:
                    wrong("queue", str(error))
            fewest = min(point.count for point in scenario.points(scale))
            if scenario.setup.lose_at + max(dimensions["lose_run"]) > fewest and max(dimensions["lose_run"]):
                wrong("lose_run", f"'lose_run' goes beyond the count: 'lose_at' is {scenario.setup.lose_at},"
                                  f" and a point has {fewest} transactions")

    def where(self, table, nth, line_key, given):
        """Returns the conditions of `line_key` in the nth table, {dimension: list of values}."""
        for key in given:
            if key not in DIMENSIONS:
                self.fail(f"unknown dimension '{key}'; known are {', '.join(DIMENSIONS)}", table, line_key, nth)
        listed = {key: value if isinstance(value, list) else [value] for key, value in given.items()}
        return {key: [self.value(table, key, value, nth, line_key) for value in values]
                for key, values in listed.items()}

    def axes(self, nth, plot):
        known = TRACE_AXES if plot["kind"] == "trace" else (*sorted(NUMBERS), *AXES)
        if plot.get("x", known[0]) not in known:
            self.fail(f"'x' must be one of {', '.join(known)}", "plot", "x", nth)
        if plot.get("curves", "variant") not in DIMENSIONS:
            self.fail(f"'curves' must be one of {', '.join(DIMENSIONS)}", "plot", "curves", nth)
        for name in plot.get("panels", []):
            if name not in DIMENSIONS:
                self.fail(f"'panels' must be of {', '.join(DIMENSIONS)}, not {name!r}", "plot", "panels", nth)

    def statement(self, nth, entry):
        """Checks what only some kinds of expectations have, and reads their conditions."""
        known = (*sorted(NUMBERS), *AXES)
        for axis in (*([entry["axis"]] if "axis" in entry else []), *entry.get("on", [])):
            if axis not in known:
                self.fail(f"unknown axis {axis!r}; known are {', '.join(known)}", "expect",
                          "axis" if axis == entry.get("axis") else "on", nth)
        if entry["kind"] == "regression" and entry["axis"] not in entry["on"]:
            self.fail("'axis' must be one of 'on'", "expect", "axis", nth)
        if entry["kind"] == "bound" and not {"below", "above"} & set(entry):
            self.fail("an expectation of kind 'bound' needs 'below' or 'above'", "expect", "kind", nth)
        for key in ("below", "above", "rtts", "share"):
            if not isinstance(entry.get(key, 0), (int, float)) or isinstance(entry.get(key), bool):
                self.fail(f"'{key}' must be a number", "expect", key, nth)
        if "order" in entry:
            entry["order"] = [self.where("expect", nth, "order", group) for group in entry["order"]]

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
                self.statement(nth, entry)
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
    setup = reader.setup(document, workload)
    scenario = Scenario(
        name=path.stem, path=path, title=document["title"], source=document.get("source", ""),
        workload=workload, arrivals=document.get("arrivals", "poisson"),
        warmup=document.get("warmup", 0), seed=document.get("seed", 1), setup=setup,
        scales={scale: reader.scale(scale, document[scale]) for scale in SCALES},
        matrix={key: reader.values("matrix", key, value) for key, value in document["matrix"].items()},
        plots=reader.section("plot", document.get("plot", [])),
        expectations=reader.section("expect", document.get("expect", [])),
        paper=reader.section("paper", document.get("paper", [])))
    ordered = WORKLOADS[workload].always_ordered
    if ordered and any(variant.unordered for scale in SCALES for variant in scenario.dimensions(scale)["variant"]):
        able = words([row.name for row in WORKLOADS.values() if not row.always_ordered])
        reader.fail(f"unordered variants are for the {able} workload: {ordered}", "matrix", "variant")
    reader.check_matrix(scenario)
    reader.check_runs(scenario)
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
