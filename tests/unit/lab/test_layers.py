"""Which module of the laboratory imports which, and which may spell the name of a transport."""

import ast
import re
import unittest
from pathlib import Path

import simco_lab

FOLDER = Path(simco_lab.__file__).parent
# From the bottom up: a module imports only from earlier rows.
LAYERS = (
    ("errors", "model", "pattern", "statistics", "svg"),
    ("archive", "variant"),
    ("scenario",),
    ("job", "prediction"),
    ("guest", "native", "results"),
    ("runner", "expectations", "plots"),
    ("report",),
    ("cli",),
)
DRAWING = {"plots"}  # loads matplotlib: nothing that judges or tabulates may need it
SPELLING = re.compile(r"""["'](tcp|sctp)["'-]""")


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

    def test_transports_are_spelt_in_one_place(self):
        spelling = {module for module, source in self.modules().items() if SPELLING.search(source)}
        self.assertLessEqual(spelling, {"variant"})


if __name__ == "__main__":
    unittest.main()
