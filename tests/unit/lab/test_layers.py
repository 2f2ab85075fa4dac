"""Which module of the laboratory imports which, and which may spell the name of what is measured."""

import ast
import re
import unittest
from pathlib import Path

import simco_lab
from simco_lab import catalogue

FOLDER = Path(simco_lab.__file__).parent
# From the bottom up: a module imports only from earlier rows.
LAYERS = (
    ("errors", "model", "pattern", "statistics", "strokes", "svg", "wording"),
    ("archive", "capture", "catalogue", "tls", "deliveries", "drd", "schedule", "tests_of_runs"),
    ("variant", "queues", "cross", "quantities", "parts", "proxies", "sizes"),
    ("conditions", "networks"),
    ("costs", "points", "prediction", "verdicts", "obstacles"),
    ("scenario",),
    ("job", "statements", "traces", "trends"),
    ("guest", "native", "results"),
    ("runner", "claims", "plots", "values"),
    ("report",),
    ("summary",),
    ("cli",),
)
DRAWING = {"plots"}  # loads matplotlib: nothing that judges or tabulates may need it
TABLES = (catalogue.TRANSPORTS, catalogue.WORKLOADS, catalogue.BACKENDS, catalogue.PROFILES)
NAMES = {*(name for table in TABLES for name in table), *catalogue.PROGRAMS} - {"simco-loadgen"}
# The tool's own key in what `nft -j` prints; the name of a kind of competing traffic.
OTHERS = {"networks": {"nftables"}, "cross": {"tcp"}}
# A name, or one with more behind it, such as tcp-4 or sctp-unordered.
SPELLING = re.compile(f"({'|'.join(map(re.escape, sorted(NAMES)))})(-.*)?")


def imports(source):
    """Returns the names of the package's modules that `source` imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found |= {node.module} if node.module else {alias.name for alias in node.names}
    return found


def upward(layers, module, source):
    """Returns the imports of `module` that are not below it."""
    row = next(i for i, names in enumerate(layers) if module in names)
    below = {name for names in layers[:row] for name in names}
    return imports(source) - below


def spelt(source):
    """Returns the names of transports, variants, workloads, backends, profiles and servers that are values in
    `source`."""
    return {node.value for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SPELLING.fullmatch(node.value)}


class Layers(unittest.TestCase):
    def modules(self):
        return {path.stem: path.read_text() for path in FOLDER.glob("*.py") if path.stem != "__init__"}

    def test_every_module_has_its_layer(self):
        self.assertEqual(set(self.modules()), {name for names in LAYERS for name in names})

    def test_imports_run_down(self):
        for module, source in self.modules().items():
            self.assertEqual(upward(LAYERS, module, source), set(), module)

    def test_only_the_command_line_draws(self):
        users = {module for module, source in self.modules().items() if imports(source) & DRAWING}
        self.assertEqual(users, {"cli"})

    def test_an_import_that_runs_up_is_found(self):
        self.assertEqual(upward(LAYERS, "model", "from .report import table"), {"report"})
        self.assertEqual(upward(LAYERS, "results", "from . import guest, pattern"), {"guest"})
        self.assertEqual(upward(LAYERS, "values", "from .claims import judged"), {"claims"})

    def test_what_is_measured_is_named_in_one_place(self):
        for module, source in self.modules().items():
            if module != "catalogue":
                self.assertEqual(spelt(source) - OTHERS.get(module, set()), set(), module)

    def test_a_name_elsewhere_is_found(self):
        self.assertEqual(spelt('if name.startswith("tcp-") or point.backend == "null": "a tcp"'), {"tcp-", "null"})
        self.assertEqual(spelt("'sctp-unordered'; 'simco-echo'; f'{x}2006'"), {"sctp-unordered", "simco-echo", "2006"})


if __name__ == "__main__":
    unittest.main()
