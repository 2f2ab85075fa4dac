"""Scenarios: reading and checking a TOML file such as those in scripts/lab.d."""

import itertools
import math
import re
import tomllib
from pathlib import Path

from . import parts
from .catalogue import PROFILES, WORKLOADS, default, words
from .conditions import AXES, BELOW, DEFAULTS, DIMENSIONS, FORMS_OF, NUMBERS, PARSERS, WORDS
from .errors import ScenarioError
from .networks import NETWORKS
from .points import Scenario, Setup
from .proxies import PROXIES, obstacle
from .quantities import QUANTITIES
from .queues import Queue, check_link
from .tests_of_runs import LEVEL, ks_probability
from .variant import Variant
from .verdicts import PAIRS_MIN

FOLDER = Path(__file__).resolve().parent.parent / "lab.d"
SCALES = ("quick", "full")


# Keys of the workload sip.
SIP_KEYS = ("measure", "capture", "invite_size", "response", "response_size", "drain_s", "large_over_udp", "skip_s",
            "large_every")
FLAGS = ("capture", "large_over_udp")


SETUP_WORDS = {"network": tuple(NETWORKS), "seeds": ("shared", "own"), "measure": ("response", "one-way"),
               "response": ("180", "100", "none")}
WHOLE = ("lose_at", "invite_size", "response_size", "large_every", "burst")
SETUP_KEYS = tuple(Setup.__dataclass_fields__)


KEYS = {
    "": {"title", "source", "notes", "workload", "arrivals", "seed", "matrix", "quick", "full", "plot",
         "expect", "paper", "warmup", "tables", *SETUP_KEYS},
    "matrix": {"scale", *DIMENSIONS},
    "quick": {"count", "replications", *DIMENSIONS},
    "full": {"count", "replications", *DIMENSIONS},
    "plot": {"name", "title", "kind", "x", "curves", "where", "log_x", "model", "y_max", "paper_figure", "quantity",
             "panels", "from", "to"},
    "expect": {"id", "claim", "kind", "quantity", "less", "than", "where", "tolerance_ms",
               "percent", "side", "factor", "below", "above", "rtts", "share", "order", "axis", "from", "to", "on",
               "falls", "runs", "or_alike"},
    "paper": {"what", "value", "values", "quantity", "where", "less", "than"},
}
PLOT_KINDS = {"mean", "over", "ccdf", "trace", "delivery", "parts"}
TRACE_AXES = ("message", "time")  # a trace's x
# The keys that an expectation of each kind needs.
EXPECT_KINDS = {"less": ("less", "than"), "equal": ("tolerance_ms",), "model": ("percent",), "monotone": (),
                "differs": ("less", "than"), "alike": ("less", "than"), "identical": ("less", "than"), "bound": (),
                "order": ("order",), "step": ("less", "than", "axis", "from", "to"), "regression": ("axis", "on")}


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

    def values(self, table, key, value, nth=0):
        """Returns the list of values of a dimension, checked."""
        listed = value if isinstance(value, list) else [value]
        if not listed:
            self.fail(f"'{key}' has no value", table, key, nth)
        return [self.value(table, key, given, nth) for given in listed]

    def matrices(self, given):
        """Returns the matrices of [matrix] or of several [[matrix]], each {dimension: values}, with "scale" if it is of one
        scale only."""
        listed = given if isinstance(given, list) else [given]
        for nth, matrix in enumerate(listed):
            self.check_keys("matrix", matrix, nth)
            if "variant" not in matrix:
                self.fail("[matrix] needs 'variant'", "matrix", "", nth)
            if matrix.get("scale", SCALES[0]) not in SCALES:
                self.fail(f"'scale' must be {words(SCALES)}", "matrix", "scale", nth)
        return [{key: value if key == "scale" else self.values("matrix", key, value, nth) for key, value in matrix.items()}
                for nth, matrix in enumerate(listed)]

    def notes(self, document):
        """Returns what a reader of the report must know besides the numbers."""
        given = document.get("notes", [])
        if not isinstance(given, list) or not all(isinstance(note, str) and note for note in given):
            self.fail("'notes' must be a list of sentences", "", "notes")
        return given

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
                self.fail(f"'{key}' is of the {self.sip_workloads()} workload", "", key)
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
            quantity = entry.get("quantity", "mean" if entry["kind"] == "less" else "p95")
            if entry["kind"] in ("less", "step") and runs < PAIRS_MIN and not QUANTITIES[quantity].within_run:
                self.fail(f"'{entry['kind']}' of {quantity}, which has no interval within a run, cannot be told with {runs}"
                          f" runs: give 'replications' of {PAIRS_MIN} or more", "expect", "kind", nth)

    def check_quantities(self, scenario):
        """Checks that runs have the quantities that are asked of them."""
        tables = {"plot": scenario.plots, "expect": scenario.expectations, "paper": scenario.paper}
        for table, nth, entry in ((name, *pair) for name, entries in tables.items() for pair in enumerate(entries)):
            quantity = QUANTITIES[entry.get("quantity", "mean")]
            if quantity.sip and not WORKLOADS[scenario.workload].sip:
                self.fail(f"'{quantity.name}' is of the {self.sip_workloads()} workload", table, "quantity", nth)
            if quantity.captured and not scenario.setup.capture:
                self.fail(f"'{quantity.name}' needs 'capture'", table, "quantity", nth)
        for name in scenario.tables:
            if name not in QUANTITIES:
                self.fail(f"'tables' must be of {', '.join(sorted(QUANTITIES))}, not {name!r}", "", "tables")

    @staticmethod
    def sip_workloads():
        return words([row.name for row in WORKLOADS.values() if row.sip])

    def check_matrix(self, scenario):
        """Checks what the values of different dimensions have to do with each other, at each scale."""
        for scale in SCALES:
            fewest = min((point.count for point in scenario.points(scale)), default=None)
            if fewest is None:
                self.fail(f"[{scale}] leaves no point of any matrix", scale)
            for nth, dimensions in enumerate(scenario.dimensions(scale)):

                def wrong(key, text, scale=scale, nth=nth):
                    narrowed = key in scenario.scales[scale]
                    self.fail(text, scale if narrowed else "matrix", key, 0 if narrowed else nth)

                self.check_workload(WORKLOADS[scenario.workload], dimensions, wrong)
                self.check_network(scenario, dimensions, wrong)
                if scenario.setup.capture and any(dimensions["large_size"]):
                    wrong("large_size", "'capture' needs messages of one size: leave 'large_size' out")
                if scenario.setup.capture:
                    self.check_capture(scenario.setup.invite_size, dimensions, wrong)
                if scenario.setup.burst >= fewest:
                    self.fail(f"'burst' must be below the count, {fewest}", "", "burst")
                last = scenario.setup.lose_at + max(dimensions["lose_run"])
                if last > fewest and max(dimensions["lose_run"]):
                    wrong("lose_run", f"'lose_run' goes beyond the count: 'lose_at' is {scenario.setup.lose_at},"
                                      f" and a point has {fewest} transactions")

    @staticmethod
    def check_capture(octets, dimensions, wrong):
        for variant, mtu in itertools.product(dimensions["variant"], dimensions["mtu_to"]):
            if why := parts.refusal(variant.transport, variant.connections, octets, mtu):
                wrong("variant", f"variant '{variant}': 'capture' {why}")

    def check_workload(self, row, dimensions, wrong):
        for variant in dimensions["variant"]:
            if variant.unordered and row.always_ordered:
                able = words([other.name for other in WORKLOADS.values() if not other.always_ordered])
                wrong("variant", f"unordered variants are for the {able} workload: {row.always_ordered}")
            if not variant.transport.reliable and not row.sip:
                wrong("variant", f"variant '{variant}': the {row.name} workload needs a reliable transport")
            if variant.transport.tls and not variant.transport.own_tls and not row.sip:
                wrong("variant", f"variant '{variant}': the {row.name} workload is measured without TLS")
        for profile in dimensions["profile"]:
            if PROFILES[profile].one_size and not (row.sip or row.octets):
                wrong("profile", f"profile '{profile}' needs messages of one size; those of {row.name} vary")
        self.check_repetition(row, dimensions, wrong)
        for variant, proxy in itertools.product(dimensions["variant"], dimensions["proxy"]):
            if why := obstacle(PROXIES[proxy], variant):
                wrong("proxy", f"proxy '{proxy}', variant '{variant}': {why}")
        for key in ("t1_ms", "large_size", "proxy"):
            if dimensions[key] != [DEFAULTS[key]] and not row.sip:
                wrong(key, f"'{key}' is of the {self.sip_workloads()} workload")
        # Requests are told from acknowledgements by their size; the other workloads' are too small for that.
        for key, one_way in (("lose", "messages" in dimensions["lose"]), ("lose_run", any(dimensions["lose_run"]))):
            if one_way and not row.sip:
                wrong(key, f"losses of messages only are of the {self.sip_workloads()} workload")

    @staticmethod
    def check_repetition(row, dimensions, wrong):
        if not any(dimensions["repeat_after"]):
            return
        if not row.repeats:
            able = words([other.name for other in WORKLOADS.values() if other.repeats])
            wrong("repeat_after", f"'repeat_after' is of the {able} workload")
        if any(0 < value <= 1 for value in dimensions["repeat_after"]):
            wrong("repeat_after", "'repeat_after' must be more than 1 round trip, or 0")
        for variant in dimensions["variant"]:
            if variant.transport.number != "streams":
                wrong("variant", f"variant '{variant}': 'repeat_after' needs a transport with streams")

    @staticmethod
    def check_network(scenario, dimensions, wrong):
        for key in FORMS_OF:
            if key not in scenario.columns and dimensions[key] != [DEFAULTS[key]]:
                wrong(key, f"'{key}' is of network {words([name for name in NETWORKS if name != default(NETWORKS)])}")
        for queue, mbit in itertools.product(dimensions["queue"], dimensions["link_mbit"]):
            try:
                check_link(Queue.parse(queue), mbit)
            except ValueError as error:
                wrong("queue", str(error))

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
        for key, kind, allowed in (("runs", "bound", ("every", "some")), ("or_alike", "less", (True, False))):
            if key in entry and (entry["kind"] != kind or entry[key] not in allowed):
                self.fail(f"'{key}' is of the kind '{kind}' and must be {words(map(str, allowed)).lower()}", "expect", key, nth)
        for key in ("below", "above", "rtts", "share"):
            if not isinstance(entry.get(key, 0), (int, float)) or isinstance(entry.get(key), bool):
                self.fail(f"'{key}' must be a number", "expect", key, nth)
        if "order" in entry:
            entry["order"] = [self.where("expect", nth, "order", group) for group in entry["order"]]

    def section(self, name, given):
        """Returns the tables of [[plot]], [[expect]] or [[paper]], checked."""
        needed = {"plot": ("name", "title", "kind"), "expect": ("id", "claim", "kind"),
                  "paper": ("what",)}[name]
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
        return [number for nth, entry in enumerate(given) for number in self.numbers(nth, entry)] if name == "paper" else given

    def numbers(self, nth, entry):
        """Returns the numbers of a [[paper]]: the one of `value`, or those of `values`, {variant: number}."""
        if ("value" in entry) == ("values" in entry):
            self.fail("[[paper]] needs one of 'value' and 'values'", "paper", "", nth)
        if ("less" in entry) != ("than" in entry):
            self.fail("[[paper]] needs both of 'less' and 'than', or neither", "paper", "", nth)
        if "value" in entry:
            return [entry]
        where = entry.get("where", {})
        return [{**entry, "value": value, "where": {**where, "variant": [self.value("paper", "variant", variant, nth, "values")]}}
                for variant, value in entry["values"].items()]


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
    matrices = reader.matrices(document["matrix"])
    setup = reader.setup(document, workload)
    scenario = Scenario(
        name=path.stem, path=path, title=document["title"], source=document.get("source", ""),
        workload=workload, arrivals=document.get("arrivals", "poisson"),
        warmup=document.get("warmup", 0), seed=document.get("seed", 1), setup=setup, notes=reader.notes(document),
        scales={scale: reader.scale(scale, document[scale]) for scale in SCALES},
        matrices=matrices,
        plots=reader.section("plot", document.get("plot", [])),
        expectations=reader.section("expect", document.get("expect", [])),
        paper=reader.section("paper", document.get("paper", [])),
        tables=document.get("tables", []))
    reader.check_matrix(scenario)
    reader.check_runs(scenario)
    reader.check_quantities(scenario)
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
