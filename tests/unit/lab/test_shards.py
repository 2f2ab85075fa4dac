"""A run in parts: every point is in one of them, no curve is torn, and put together they are what one machine leaves."""

import tempfile
import unittest
from pathlib import Path

from simco_lab import scenario, shards
from simco_lab.run.runner import curve
from test_archive import SCENARIO, lab, leave_results


class Parts(unittest.TestCase):
    def points(self):
        return [point for name in ("kiesel-exp4", "sip-today") for point in scenario.find(name).points("quick")]

    def test_every_point_is_in_one_and_its_curve_with_it(self):
        points = self.points()
        parts = [shards.part_of(points, (number, 3)) for number in (1, 2, 3)]
        self.assertEqual(sorted(point.name for part in parts for point in part), sorted(point.name for point in points))
        curves = [{curve(point) for point in part} for part in parts]
        self.assertFalse(curves[0] & curves[1] or curves[0] & curves[2] or curves[1] & curves[2])
        self.assertEqual(shards.part_of(points, (1, 1)), points)

    def test_they_take_about_as_long(self):
        points = self.points()
        costs = [sum(map(shards.cost, shards.part_of(points, (number, 3)))) for number in (1, 2, 3)]
        self.assertLess(max(costs), 1.5 * min(costs))

    def test_what_is_no_part(self):
        for text in ("0/2", "3/2", "2", "a/b", "1/"):
            with self.assertRaisesRegex(ValueError, "K/N"):
                shards.parse(text)


class Merge(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for place in ("whole", "first", "second"):
            leave_results(self.work / place / "trial")
        for place, odd in (("first", 0), ("second", 1)):
            for number, run in enumerate(sorted((self.work / place / "trial" / "points").iterdir())):
                if number % 2 == odd:
                    (run / "run.json").unlink()

    def merge(self, *places, out="out"):
        return lab("merge", *(self.work / place for place in places), "--out", self.work / out)

    def test_parts_give_what_one_machine_does(self):
        self.assertEqual(lab("plot", self.work / "whole")[0], 0)
        self.assertEqual(self.merge("first", "second")[0], 0)
        for name in ("report.md", "results.csv"):
            self.assertEqual((self.work / "out" / "trial" / name).read_text(), (self.work / "whole" / "trial" / name).read_text())

    def test_other_programs_and_other_scenarios_are_refused(self):
        run = next(self.work.glob("whole/trial/points/*/run.json"))
        run.write_text(run.read_text().replace('"f"', '"g"'))
        code, _, err = self.merge("whole", "first", "second")
        self.assertEqual(code, 2)
        self.assertIn("of other programs or options", err)
        (self.work / "second" / "trial" / "scenario.py").write_text(SCENARIO + "# another\n")
        code, _, err = self.merge("first", "second", out="other")
        self.assertEqual(code, 2)
        self.assertIn("not of the same scenario", err)


if __name__ == "__main__":
    unittest.main()
