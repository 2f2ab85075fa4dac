"""Which variant a map recommends, on results made for the purpose; and what `lab advise` makes of a map."""

import contextlib
import io
import math
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy

import trial
from simco_lab import advise
from simco_lab.draw import maps
from simco_lab.errors import LabError
from simco_lab.judge.choice import choices, choose
from simco_lab.scenario.variant import Variant

TCP, SCTP, QUIC = (Variant.parse(name) for name in ("tcp", "sctp-16", "quic-16"))


def combination(variant, level, noise=0.0, **conditions):
    """Three runs whose samples are around a level; the noise of each variant is its own."""
    random = numpy.random.default_rng(len(str(variant)))
    return trial.combination(variant, *(level + noise * random.standard_normal(2000) for _ in range(3)), **conditions)


class Choices(unittest.TestCase):
    def chosen(self, *combinations):
        return choose(list(combinations), "p99")

    def test_the_first_that_is_as_good_is_chosen(self):
        found = self.chosen(combination(TCP, 104), combination(SCTP, 100), combination(QUIC, 100))
        self.assertEqual((found.as_good, found.chosen.conditions.variant), ([True, True, True], TCP))

    def test_who_is_slower_by_more_than_the_margin_is_not(self):
        found = self.chosen(combination(TCP, 106), combination(SCTP, 102), combination(QUIC, 100))
        self.assertEqual((found.as_good, found.chosen.conditions.variant), ([False, True, True], SCTP))

    def test_noise_leaves_it_open(self):
        found = self.chosen(combination(TCP, 109, noise=40), combination(SCTP, 100, noise=40), combination(QUIC, 300))
        self.assertIsNone(found.chosen)
        self.assertEqual(found.as_good[0::2], [None, False])
        self.assertEqual([one.conditions.variant for one in found.possible], [TCP, SCTP])

    def test_one_that_is_best_by_chance_is_not_chosen(self):
        runs = [trial.combination(variant, *(numpy.full(2000, level) for level in levels))
                for variant, levels in ((TCP, (100, 140, 180)), (SCTP, (115, 155, 165)))]
        self.assertLess(runs[0].quantile(99), 181)
        self.assertIsNone(self.chosen(*runs).chosen)

    def test_an_aborted_variant_is_never_chosen(self):
        found = self.chosen(combination(TCP, 50, record={"aborted": True}), combination(SCTP, 100))
        self.assertEqual((found.as_good, found.chosen.conditions.variant), ([False, True], SCTP))
        alone = self.chosen(combination(TCP, 50, record={"aborted": True}))
        self.assertEqual((alone.as_good, alone.chosen, alone.possible), ([False], None, []))

    def test_places_differ_in_anything_but_the_variant(self):
        found = choices([combination(TCP, 20, rate=10), combination(TCP, 20, rate=100), combination(SCTP, 20, rate=100)], "p99")
        self.assertEqual([len(one.combinations) for one in found.values()], [1, 2])

    def test_a_cell_shows_its_decision(self):
        names = [TCP, SCTP, QUIC]
        decided = self.chosen(combination(TCP, 106), combination(SCTP, 100))
        self.assertEqual(maps.cell_of(decided, "p99", names), (maps.COLOURS[1], "100"))
        noisy = self.chosen(combination(TCP, 109, noise=40), combination(SCTP, 100, noise=40))
        colour, text = maps.cell_of(noisy, "p99", names)
        self.assertEqual((colour, text.splitlines()[1]), (maps.UNDECIDED, "1/2?"))


HEADER = ("profile,variant,delay_ms,loss_percent,rate,mean_ms,mean_low_ms,mean_high_ms,p95_ms,p95_low_ms,p95_high_ms,p99_ms,p99_low_ms,"
          "p99_high_ms,p999_ms,p999_low_ms,p999_high_ms,as_good")


def row(variant, delay_ms, as_good, factor=1.0):
    figures = ",".join(f"{factor * 2 * delay_ms * one:.3f}" for one in (1, 0.9, 1.1) * 4)
    return f"tuned,{variant},{delay_ms},1,100,{figures},{as_good}"


class Advice(unittest.TestCase):
    def said(self, rows, rtt_ms=40.0, loss_percent=1.0, rate=100.0):
        with tempfile.TemporaryDirectory() as folder:
            if rows:
                (Path(folder) / "map").mkdir()
                (Path(folder) / "map" / "results.csv").write_text("\n".join([HEADER, *rows]) + "\n")
            said = io.StringIO()
            with mock.patch.multiple(advise, PUBLISHED=Path(folder), MAPS={"map": "Title"}), contextlib.redirect_stdout(said):
                advise.say(rtt_ms, loss_percent, rate)
            return said.getvalue()

    def test_between_two_points_figures_are_those_of_both(self):
        said = self.said([row("tcp", delay, "True") for delay in (10, 40)], rtt_ms=40)
        self.assertIn("Title. Use TCP.", said)
        self.assertIn("p99 18.0 to 88.0, mean 18.0 to 88.0", said)
        self.assertIn("Points: 20 ms 1 % 100/s, 80 ms 1 % 100/s", said)

    def test_at_a_point_figures_are_its_own(self):
        said = self.said([row("tcp", delay, "True") for delay in (10, 40)], rtt_ms=20)
        self.assertIn("p99 18.0 to 22.0", said)

    def test_the_first_that_is_as_good_at_all_points_is_named(self):
        self.assertIn("Use SCTP-16.", self.said([row("tcp", 20, "False", 2), row("sctp-16", 20, "True")]))

    def test_points_that_disagree_leave_it_open(self):
        said = self.said([row("tcp", 10, "True"), row("tcp", 40, "False", 2), row("sctp-16", 10, "True"), row("sctp-16", 40, "True")])
        self.assertIn("Undecided: TCP or SCTP-16.", said)

    def test_what_cannot_be_told_is_undecided(self):
        self.assertIn("Undecided: TCP or SCTP-16.", self.said([row("tcp", 20, ""), row("sctp-16", 20, "True")]))

    def test_one_that_is_missing_at_a_point_was_aborted(self):
        said = self.said([row("tcp", 10, "True"), row("sctp-16", 10, "True"), row("sctp-16", 40, "True")])
        self.assertIn("Undecided: TCP or SCTP-16.", said)
        self.assertIn("aborted at some of the points", said)
        self.assertIn("None carries this.", self.said([row("tcp", 20, "False")]))

    def test_a_figure_without_an_interval_is_itself(self):
        self.assertIn("p99 40.0 to 40.0", self.said([row("tcp", 20, "True").replace("36.000", "nan")]))

    def test_beyond_the_points_there_is_no_advice(self):
        for wrong in (9.0, -1.0, math.nan):
            with self.assertRaisesRegex(LabError, "--loss .*: measured are 1 to 1 %"):
                self.said([row("tcp", 20, "True")], loss_percent=wrong)
        with self.assertRaisesRegex(LabError, "--rtt 10: measured are 40 to 40 ms"):
            self.said([row("tcp", 20, "True")], rtt_ms=10)

    def test_without_a_map_it_says_what_to_run(self):
        with self.assertRaisesRegex(LabError, "`scripts/lab run map` measures it"):
            self.said([])


if __name__ == "__main__":
    unittest.main()
