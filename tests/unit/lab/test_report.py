"""The short report: claims with their numbers in one table, and every place that was judged."""

import tempfile
import unittest
from pathlib import Path

from simco_lab import scenario
from simco_lab.draw import report
from simco_lab.draw.account import Judgement, Sample
from simco_lab.judge.verdicts import Verdict

HOLDS = Verdict(True, "modern, 1 %", "1.0 against 2.0 ms (-1.0 ± 0.1)")
TURNED = Verdict(False, "modern, 5 %", "4.0 against 3.0 ms (+1.0 ± 0.1)")
OPEN = Verdict(None, "tuned, 5 %", "tcp was aborted")


def written(sample):
    """The report on this sample of a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.md"
        report.write(path, scenario.find("jitter"), sample)
        return path.read_text()


def sample(verdicts, told="holds at 1.", paper=()):
    return Sample("Measured here.", [Judgement("A1", "it is faster", told, verdicts)], list(paper), [], ["late at 1 %"])


class Table(unittest.TestCase):
    def rows(self, *words, **more):
        return written(sample(*words, **more)).split("\n\n")[1].splitlines()[2:]

    def test_it_comes_first(self):
        self.assertTrue(written(sample([HOLDS])).startswith(
            f"# jitter: {scenario.find('jitter').title}\n\n| id | claim | paper | here (times in ms) | verdict |\n|---|"))

    def test_a_claim_at_one_place_has_its_numbers(self):
        self.assertEqual(self.rows([HOLDS]),
                         ["| A1 | it is faster |  | 1.0 against 2.0 ms (-1.0 ± 0.1) | holds at 1 |"])

    def test_a_claim_at_several_has_their_range(self):
        details = [verdict.detail for verdict in (HOLDS, TURNED, OPEN)]
        self.assertEqual(report.in_short(details), "1.0 to 4.0 against 2.0 to 3.0 ms")
        self.assertEqual(report.in_short(details[:1] * 2), "1.0 against 2.0 ms")

    def test_numbers_that_the_full_report_alone_has(self):
        self.assertIn("| in results.csv | holds at 24 |", self.rows([], "holds at 24.")[0])
        self.assertIn("| at the other places: 4.0 against 3.0 ms |",
                      self.rows([TURNED], "holds at 24, does not hold at 1.")[0])

    def test_the_papers_numbers_follow(self):
        paper = [("the mean", "20", "modern", "21.0 ± 0.1"), ("the mean", "20", "tuned", "20.5 ± 0.1"), ("the mean", "30", "", "-")]
        self.assertEqual(self.rows([HOLDS], paper=paper)[1:],
                         ["|  | the mean | 20 | 20.5 to 21.0 |  |", "|  | the mean | 30 | - |  |"])
        self.assertIn("\n- the mean, 20 in the paper: modern: 21.0 ± 0.1 · tuned: 20.5 ± 0.1\n", written(sample([HOLDS], paper=paper)))


class Rest(unittest.TestCase):
    def test_every_place_is_under_its_verdict(self):
        self.assertIn("\n- **A1**: *holds*: modern, 1 %: 1.0 against 2.0 ms (-1.0 ± 0.1). *does not hold*: modern, 5 %: 4.0 against"
                      " 3.0 ms (+1.0 ± 0.1). *inconclusive*: tuned, 5 %: tcp was aborted.\n", written(sample([HOLDS, TURNED, OPEN])))

    def test_the_sample_and_its_caveats_are_named(self):
        for line in ("- Measured here.", "- late at 1 %"):
            self.assertIn(f"\n{line}\n", written(sample([HOLDS])))
