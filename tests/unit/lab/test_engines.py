"""What each engine refuses."""

import unittest
from pathlib import Path

from simco_lab.errors import LabError
from simco_lab.run import engines
from simco_lab.scenario import files


class Engines(unittest.TestCase):
    def refused(self, name, scenarios=(), points=(), shift=0):
        with self.assertRaises(LabError) as error, engines.started(name, Path("nowhere"), scenarios, points, shift):
            self.fail("it started")
        return str(error.exception)

    def test_user_mode_linux_has_no_processor_time(self):
        self.assertIn("cost counts instructions; --engine qemu can", self.refused("uml", [files.find("cost")]))
        self.assertNotIn("busy", files.find("kiesel-exp1").tables)

    def test_only_qemu_has_instructions_of_a_length(self):
        for name in ("uml", "native"):
            self.assertIn("--shift is for --engine qemu", self.refused(name, shift=1))

    def test_the_guest_has_no_preload(self):
        trial = files.find("path-failure")
        points = [point for point in trial.points("quick") if point.variant.transport.wrapper]
        self.assertTrue(points)
        with self.assertRaisesRegex(LabError, "the guest lacks mptcpize for MPTCP; --engine uml has it"):
            engines.check("qemu", [trial], points, 0, None)
        engines.check("uml", [trial], points, 0, None)

    def test_workers_have_virtual_time(self):
        with self.assertRaisesRegex(LabError, "--on is for engines with virtual time"):
            engines.check("native", [], [], 0, "dask://127.0.0.1:1")

    def test_each_is_a_choice(self):
        from simco_lab import cli
        for name in engines.NAMES:
            self.assertEqual(cli.parser().parse_args(["run", "cost", "--engine", name]).engine, name)
        self.assertEqual(cli.parser().parse_args(["run", "cost", "--native"]).engine, "native")
