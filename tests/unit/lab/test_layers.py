"""Which module of the laboratory imports which, and which may spell the name of what is measured."""

import ast
import re
import unittest
from pathlib import Path

import simco_lab
from simco_lab.scenario import catalogue

FOLDER = Path(simco_lab.__file__).parent
# A module imports only from its own room and from earlier ones; "" is the laboratory's folder, of which all may import the errors.
ROOMS = ("scenario", "measure", "run", "judge", "draw", "")
EVERYWHERE = {"errors"}
DRAWING = {("draw", "plots")}  # loads matplotlib: nothing that judges or tabulates may need it
TABLES = (catalogue.TRANSPORTS, catalogue.WORKLOADS, catalogue.BACKENDS, catalogue.PROFILES)
NAMES = {*(name for table in TABLES for name in table), *catalogue.PROGRAMS} - {"simco-loadgen"}
# The tool's own key in what `nft -j` prints; the name of a kind of competing traffic.
OTHERS = {"networks": {"nftables"}, "cross": {"tcp"}}
# A name, or one with more behind it, such as tcp-4 or sctp-unordered.
SPELLING = re.compile(f"({'|'.join(map(re.escape, sorted(NAMES)))})(-.*)?")


def imports(room, source):
    """Returns the package's modules that `source`, in a room, imports: {(room, module)}."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            words = [room] * (node.level == 1) + (node.module.split(".") if node.module else [])
            if not words or words[-1] in ROOMS:
                found |= {(words[-1] if words else "", alias.name) for alias in node.names}
            else:
                found.add((words[-2] if len(words) > 1 else "", words[-1]))
    return found


def upward(room, source):
    """Returns the imports of a module in a room that are of a later one."""
    allowed = ROOMS[: ROOMS.index(room) + 1]
    return {f"{other}/{module}" for other, module in imports(room, source)
            if other not in allowed and (other, module) not in {("", name) for name in EVERYWHERE}}


def spelt(source):
    """Returns the names of transports, variants, workloads, backends, profiles and servers that are values in
    `source`."""
    return {node.value for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SPELLING.fullmatch(node.value)}


class Layers(unittest.TestCase):
    def modules(self):
        """Returns {(room, name): source}."""
        paths = {path: path.parent.relative_to(FOLDER).as_posix().replace(".", "") for path in FOLDER.rglob("*.py")}
        return {(room, path.stem): path.read_text() for path, room in paths.items()}

    def test_every_module_is_in_a_room(self):
        self.assertEqual({room for room, _ in self.modules()}, set(ROOMS))

    def test_arrows_lead_to_earlier_rooms(self):
        for (room, module), source in self.modules().items():
            self.assertEqual(upward(room, source), set(), (room, module))

    def test_only_the_command_line_draws(self):
        users = {module for (room, module), source in self.modules().items() if imports(room, source) & DRAWING}
        self.assertEqual(users, {"cli"})

    def test_an_arrow_to_a_later_room_is_found(self):
        self.assertEqual(upward("measure", "from ..judge.claims import judged"), {"judge/claims"})
        self.assertEqual(upward("run", "from ..draw import plots, traces\nfrom . import job\nfrom .guest import ROOT"), {"draw/plots", "draw/traces"})
        self.assertEqual(upward("draw", "from .. import cli, errors"), {"/cli"})
        self.assertEqual(upward("scenario", "from ..errors import LabError\nfrom .files import read"), set())

    def test_what_is_measured_is_named_in_one_place(self):
        for (_, module), source in self.modules().items():
            if module != "catalogue":
                self.assertEqual(spelt(source) - OTHERS.get(module, set()), set(), module)

    def test_a_name_elsewhere_is_found(self):
        self.assertEqual(spelt('if name.startswith("tcp-") or point.backend == "null": "a tcp"'), {"tcp-", "null"})
        self.assertEqual(spelt("'sctp-unordered'; 'simco-echo'; f'{x}2006'"), {"sctp-unordered", "simco-echo", "2006"})
