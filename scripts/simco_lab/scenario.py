"""Scenarios: reading and checking a TOML file such as those in scripts/lab.d. What each key takes is in `keys`, what goes
together in `checks`."""

import contextlib
import math
import re
import reprlib
import tomllib
from pathlib import Path

from . import checks
from .catalogue import WORKLOADS, default
from .conditions import DIMENSIONS, NUMBERS, PARSERS, RANGES, WORDS
from .errors import ScenarioError
from .keys import ALONG_AN_AXIS, AXES_KNOWN, EXPECT_KINDS, KEYS, KINDS_WITH, NEEDED, OWN, SCALES, SETUP, SIP, TRACE_AXES
from .points import Scenario, Setup
from .variant import Variant

FOLDER = Path(__file__).resolve().parent.parent / "lab.d"
HEADER = re.compile(r"\s*\[\[?\s*([\w.-]+)\s*\]")


class _Reader:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.place = "", 0  # the table that is read, and its number

    def fail(self, text, table="", key="", nth=0):
        raise ScenarioError(f"{self.path}:{self.line_of(table, key, nth)}: {text}")

    @contextlib.contextmanager
    def mistakes(self):
        """Makes a ScenarioError of what is wrong with the text."""
        try:
            yield
        except tomllib.TOMLDecodeError as error:
            match = re.search(r"\(at line (\d+), column \d+\)", str(error))
            line = match[1] if match else "1"
            raise ScenarioError(f"{self.path}:{line}: {str(error).split(' (at')[0]}") from error
        except RecursionError as error:
            raise ScenarioError(f"{self.path}:1: lists or tables within each other are too many") from error
        except (TypeError, ValueError) as error:  # of a value that the table of keys lets pass
            table, nth = self.place
            self.fail(f"cannot be read: {error}", table, "", nth)

    def line_of(self, table, key, nth):
        """Returns the line of `key` in the `nth` table of that name, or of the table's header if it lacks the key. At the top
        a table is a key, too."""
        current, seen, header = "", -1, 1
        for number, line in enumerate(self.text.splitlines(), 1):
            match = HEADER.match(line)
            if match:
                current = match[1].split(".")[0]
                if current == table:
                    seen += 1
                    header = number if seen == nth else header
                if table == "" and current == key:
                    return number
            elif current == table and (table == "" or seen == nth):
                if key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                    return number
        return header

    def check_keys(self, table, given, nth=0):
        """Checks that the table has the keys that it needs, and that each takes its value."""
        self.place = table, nth
        for key, value in given.items():
            if key not in KEYS[table]:
                where = f" in [{table}]" if table else ""
                self.fail(f"unknown key '{key}'{where}; known are {', '.join(sorted(KEYS[table]))}", table, key, nth)
            shape = KEYS[table][key]
            if not shape.fits(value):
                self.fail(f"'{key}' must be {shape.words}, not {reprlib.repr(value)}", table, key, nth)
        for key in NEEDED[table]:
            if key not in given:
                self.fail(f"[{table}] needs '{key}'" if table else f"'{key}' is missing", table, "", nth)

    def values(self, table, key, value, nth=0, line_key=None):
        """Returns the list of values of a dimension, checked."""
        listed = value if isinstance(value, list) else [value]
        if not listed:
            self.fail(f"'{key}' has no value", table, line_key or key, nth)
        return [self.value(table, key, given, nth, line_key or key) for given in listed]

    def value(self, table, key, given, nth, line_key):
        if key in NUMBERS:
            if not RANGES[key].fits(given):
                self.fail(f"'{key}' must be {RANGES[key].words}, not {reprlib.repr(given)}", table, line_key, nth)
            return float(given)
        if key == "variant" or key in PARSERS:
            try:
                parsed = Variant.parse(given) if key == "variant" else PARSERS[key](given)
                return parsed if key == "variant" else given
            except ValueError as error:
                self.fail(str(error), table, line_key, nth)
        if given not in WORDS[key]:
            self.fail(f"'{key}' must be one of {', '.join(WORDS[key])}, not {reprlib.repr(given)}", table, line_key, nth)
        return given

    def matrices(self, given):
        """Returns the matrices of [matrix] or of several [[matrix]], each {dimension: values}, with "scale" if it is of one
        scale only."""
        listed = given if isinstance(given, list) else [given]
        for nth, matrix in enumerate(listed):
            self.check_keys("matrix", matrix, nth)
        return [{key: value if key == "scale" else self.values("matrix", key, value, nth) for key, value in matrix.items()}
                for nth, matrix in enumerate(listed)]

    def scale(self, name, given):
        self.check_keys(name, given)
        count = given["count"]
        if isinstance(count, dict):
            count = {float(rate): number for rate, number in count.items()}
        return {**{key: self.values(name, key, value) for key, value in given.items() if key in DIMENSIONS},
                "replications": given.get("replications", 1), "count": count}

    def setup(self, document, workload):
        """Returns the Setup of a document."""
        given = {key: document[key] for key in SETUP if key in document}
        for key in given:
            if key in SIP and not WORKLOADS[workload].sip:
                self.fail(f"'{key}' is of the {checks.sip_workloads()} workload", "", key)
        return Setup(**{"network": WORKLOADS[workload].network, **given})

    def where(self, table, nth, line_key, given):
        """Returns the conditions of `line_key` in the nth table, {dimension: list of values}."""
        for key in given:
            if key not in DIMENSIONS:
                self.fail(f"unknown dimension '{key}'; known are {', '.join(DIMENSIONS)}", table, line_key, nth)
        return {key: self.values(table, key, value, nth, line_key) for key, value in given.items()}

    def plot(self, nth, entry):
        """Checks what only some kinds of figures have."""
        known = TRACE_AXES if entry["kind"] == "trace" else AXES_KNOWN
        if entry.get("x", known[0]) not in known:
            self.fail(f"'x' must be one of {', '.join(known)}", "plot", "x", nth)
        if entry.get("from", -math.inf) >= entry.get("to", math.inf):
            self.fail("'from' must be less than 'to'", "plot", "from", nth)

    def expect(self, nth, entry):
        """Checks what only some kinds of expectations have, and reads their conditions."""
        for key in EXPECT_KINDS[entry["kind"]]:
            if key not in entry:
                self.fail(f"an expectation of kind '{entry['kind']}' needs '{key}'", "expect", "kind", nth)
        if entry["kind"] == "regression" and entry["axis"] not in entry["on"]:
            self.fail("'axis' must be one of 'on'", "expect", "axis", nth)
        if entry["kind"] == "bound" and not {"below", "above"} & set(entry):
            self.fail("an expectation of kind 'bound' needs 'below' or 'above'", "expect", "kind", nth)
        for key, kinds in KINDS_WITH.items():
            if key in entry and entry["kind"] not in kinds:
                self.fail(f"'{key}' is of the kind {' or '.join(map(repr, kinds))}", "expect", key, nth)
        for key in ALONG_AN_AXIS:
            if entry["kind"] == "monotone" and key in entry and "axis" not in entry:
                self.fail(f"'{key}' of 'monotone' needs 'axis'", "expect", key, nth)
        if entry.get("above", -math.inf) >= entry.get("below", math.inf):
            self.fail("'above' must be less than 'below'", "expect", "above", nth)
        if "order" in entry:
            entry["order"] = [self.where("expect", nth, "order", group) for group in entry["order"]]

    def section(self, name, given):
        """Returns the tables of [[plot]], [[expect]] or [[paper]], checked."""
        seen = set()
        for nth, entry in enumerate(given):
            self.check_keys(name, entry, nth)
            if name in OWN:
                own = entry[OWN[name]]
                if own in seen:
                    self.fail(f"two [[{name}]] have the {OWN[name]} '{own}'", name, OWN[name], nth)
                seen.add(own)
                getattr(self, name)(nth, entry)
            for key in ("where", "less", "than"):
                if key in entry:
                    entry[key] = self.where(name, nth, key, entry[key])
        return given

    def numbers(self, given):
        """Returns the numbers of the [[paper]] tables, each with that of its table as "nth": the one of `value`, or those of
        `values`, {variant: number}."""
        result = []
        for nth, entry in enumerate(self.section("paper", given)):
            if ("value" in entry) == ("values" in entry):
                self.fail("[[paper]] needs one of 'value' and 'values'", "paper", "", nth)
            if ("less" in entry) != ("than" in entry):
                self.fail("[[paper]] needs both of 'less' and 'than', or neither", "paper", "", nth)
            if "value" in entry:
                result.append({**entry, "nth": nth})
            for variant, value in entry.get("values", {}).items():
                where = {**entry.get("where", {}), "variant": [self.value("paper", "variant", variant, nth, "values")]}
                result.append({**entry, "value": value, "where": where, "nth": nth})
        return result

    def scenario(self):
        """Returns the scenario of the text."""
        document = tomllib.loads(self.text)
        self.check_keys("", document)
        workload = document.get("workload", default(WORKLOADS))
        scenario = Scenario(
            name=self.path.stem, path=self.path, title=document["title"], source=document.get("source", ""),
            workload=workload, arrivals=document.get("arrivals", "poisson"),
            warmup=document.get("warmup", 0), seed=document.get("seed", 1), setup=self.setup(document, workload),
            notes=document.get("notes", []),
            scales={scale: self.scale(scale, document[scale]) for scale in SCALES},
            matrices=self.matrices(document["matrix"]),
            plots=self.section("plot", document.get("plot", [])),
            expectations=self.section("expect", document.get("expect", [])),
            paper=self.numbers(document.get("paper", [])),
            tables=document.get("tables", []))
        checks.check(scenario, self.fail)
        return scenario


def text_of(path):
    """Returns the text of a file. Raises ScenarioError."""
    try:
        octets = path.read_bytes()
        return octets.decode()
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = octets.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{path}:{line}: not in UTF-8: octet 0x{octets[error.start]:02x}") from error


def read(path):
    """Returns the scenario of a file. Raises ScenarioError."""
    path = Path(path)
    reader = _Reader(path, text_of(path))
    with reader.mistakes():
        return reader.scenario()


def available():
    return sorted(FOLDER.glob("*.toml"))


def find(name):
    """Returns the scenario of that name, or of that file. Raises ScenarioError."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.exists():
        known = ", ".join(path.stem for path in available())
        raise ScenarioError(f"unknown scenario '{name}'; known are {known}")
    return read(path)
