"""Which variant a map recommends, on results made for the purpose; and what `lab advise` makes of a map."""

import contextlib
import io
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
        self.assertEqual(found.as_good, [None, True, False])
        self.assertEqual([one.conditions.variant for one in found.possible], [TCP, SCTP])

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


HEADER = "profile,variant,delay_ms,loss_percent,rate,mean_ms,mean_low_ms,mean_high_ms,p95_ms,p95_low_ms,p95_high_ms,p999_ms,p999_low_ms,p999_high_ms,as_good"


def row(variant, delay_ms, as_good, factor=1.0):
    figures = ",".join(f"{factor * 2 * delay_ms * one:.3f}" for one in (1, 0.9, 1.1) * 3)
    return f"tuned,{variant},{delay_ms},1,100,{figures},{as_good}"


class Advice(unittest.TestCase):
    def said(self, rows, rtt_ms=40.0, loss_percent=1.0, rate=100.0):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "map").mkdir()
            (Path(folder) / "map" / "results.csv").write_text("\n".join([HEADER, *rows]) + "\n")
            said = io.StringIO()
            with mock.patch.multiple(advise, PUBLISHED=Path(folder), MAPS={"map": "Title"}), contextlib.redirect_stdout(said):
                advise.say(rtt_ms, loss_percent, rate)
            return said.getvalue()

    def test_between_two_points_figures_are_between_theirs(self):
        said = self.said([row("tcp", delay, "True") for delay in (10, 40)], rtt_ms=40)  # the middle of 20 and 80, by logarithms
        self.assertIn("Use TCP.", said)
        self.assertIn("mean 40.0 (36.0 to 44.0)", said)
        self.assertIn("20 ms 1 % 100/s, 80 ms 1 % 100/s", said)

    def test_the_first_that_is_as_good_at_all_points_is_named(self):
        self.assertIn("Use SCTP-16.", self.said([row("tcp", 20, "False", 2), row("sctp-16", 20, "True")]))

    def test_points_that_disagree_leave_it_open(self):
        said = self.said([row("tcp", 10, "True"), row("tcp", 40, "False", 2), row("sctp-16", 10, "True"), row("sctp-16", 40, "True")])
        self.assertIn("Undecided: TCP may be as good as SCTP-16.", said)

    def test_a_value_without_end_stays_one(self):
        said = self.said([row("udp", 20, "True").replace("44.000", "inf")])
        self.assertIn("to inf", said)

    def test_beyond_the_points_there_is_no_advice(self):
        with self.assertRaisesRegex(LabError, "loss 9 has not been measured: it is between 1 and 1"):
            self.said([row("tcp", 20, "True")], loss_percent=9.0)


if __name__ == "__main__":
    unittest.main()
