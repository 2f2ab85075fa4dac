"""doc/results holds a report, its table and its figures for each scenario, and nothing else. Samples and logs
belong in an archive (`scripts/lab archive`)."""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

from simco_lab import scenario

DOC = Path(__file__).resolve().parents[3] / "doc"
PUBLISHED = DOC / "results"
TOTAL_MAX = 5_000_000  # octets of all results
FIGURE_MAX = 40_000  # of one figure
LARGER = ("larger", "full")  # of a result: the reports of larger samples of some of its points, and of the papers' full ones
ALLOWED = re.compile(rf"[\w-]+/(?:(?:{'|'.join(LARGER)})/)?(report\.md|results\.csv|plots/[\w.@-]+\.svg|[\w-]+\.patch)")
FIGURE = re.compile(r"!\[.*?\]\((plots/[^)]*)\)")
STATEMENT = re.compile(r"^\*\*(\S+)\*\* ", re.MULTILINE)
SUMMARY = re.compile(r"^\*\*\S+\*\* .*?: ((?:holds|does not hold|inconclusive)\b.*)$", re.MULTILINE)
AT = re.compile(r"(holds(?: \(no difference shown\))?|does not hold|inconclusive) at (\d+)")
DECIDED = re.compile(r"(\d+ of \d+)\]\(results/([^)]*/report\.md)\)|"
                     r"^\| \[[\w-]+\]\(results/([^)]*/report\.md)\) \| (\d+ of \d+) \|", re.MULTILINE)
NO_NUMBER = re.compile(r"\bnan\b|\binf\b")
LINK = re.compile(r"\]\((results/[^)#]*)")


def complaints(folder):
    """Returns a sentence for each file that is not as it should be."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    found = [f"{name}: not a report, a table, a figure or a patch" for name in files if not ALLOWED.fullmatch(name)]
    found += [f"{name}: {path.stat().st_size} octets" for name, path in files.items()
              if path.suffix == ".svg" and path.stat().st_size > FIGURE_MAX]
    total = sum(path.stat().st_size for path in files.values())
    if total > TOTAL_MAX:
        found.append(f"{total} octets in all")
    for result in sorted(path for path in folder.iterdir() if path.is_dir()):
        found += incomplete(result.name, files)
        for part in LARGER:
            if (result / part).is_dir():
                found += incomplete(f"{result.name}/{part}", files)
    return found


def incomplete(part, files):
    """Returns a sentence for each missing file of a report's folder, and for each figure that the report does not show."""
    lacking = [f"{part}/{name}: missing" for name in ("report.md", "results.csv") if f"{part}/{name}" not in files]
    if lacking:
        return lacking
    shown = {f"{part}/{name}" for name in FIGURE.findall(files[f"{part}/report.md"].read_text())}
    there = {name for name in files if name.startswith(f"{part}/plots/")}
    return [f"{name}: missing" for name in sorted(shown - there)] + \
        [f"{name}: not in the report" for name in sorted(there - shown)]


def stale(report, expectations, paper):
    """Returns what a report lacks of a scenario's statements and of the paper's numbers, what the scenario no longer states, and
    numbers that are none."""
    stated = [(one["id"], one["claim"]) for one in expectations]
    judged = STATEMENT.findall(report)
    found = [f"{one} {claim}: not judged" for one, claim in stated if f"**{one}** {claim}: " not in report]
    found += [f"{one}: not in the scenario" for one in judged if one not in dict(stated)]
    found += [f"{number['what']}: no row" for number in paper if f"| {number['what']} | {number['value']} |" not in report]
    return found + [f"{word}: no number" for word in NO_NUMBER.findall(report)]


def decided(report):
    """Returns of how many places a report's statements are decided: "24 of 26"."""
    counts = [(word, int(count)) for summary in SUMMARY.findall(report) for word, count in AT.findall(summary)]
    total = sum(count for _, count in counts)
    return f"{total - sum(count for word, count in counts if word == 'inconclusive')} of {total}"


class Published(unittest.TestCase):
    def test_nothing_but_reports_tables_figures_and_patches(self):
        self.assertEqual(complaints(PUBLISHED), [])

    def test_each_is_of_a_scenario(self):
        names = {path.name for path in PUBLISHED.iterdir()}
        self.assertLessEqual(names, {path.stem for path in scenario.available()})

    def test_reports_have_the_notes_of_their_scenarios(self):
        for path in PUBLISHED.glob("*/report.md"):
            said = path.read_text().splitlines()
            for note in scenario.find(path.parent.name).notes:
                self.assertIn(f"- {note}", said, path)

    def test_reports_judge_every_statement_of_their_scenarios(self):
        for path in PUBLISHED.glob("*/report.md"):
            told = scenario.find(path.parent.name)
            self.assertEqual(stale(path.read_text(), told.expectations, told.paper), [], path)

    def test_figures_are_text_and_paths(self):
        for path in PUBLISHED.glob("*/plots/*.svg"):
            text = path.read_text()
            self.assertIn("</text>", text, path)
            self.assertNotIn("<image", text, path)

    def test_the_page_says_how_many_places_are_decided(self):
        told = {report or first: count or first_count
                for count, report, first, first_count in DECIDED.findall((DOC / "results.md").read_text())}
        self.assertEqual(told, {path.relative_to(PUBLISHED).as_posix(): decided(path.read_text())
                                for path in PUBLISHED.rglob("report.md")})

    def test_links_to_results_lead_somewhere(self):
        links = LINK.findall((DOC / "results.md").read_text())
        self.assertTrue(links)
        for link in links:
            self.assertTrue((DOC / link).exists(), link)


class Stale(unittest.TestCase):
    EXPECTATIONS = [{"id": "A1", "claim": "it is faster"}]
    PAPER = [{"what": "the mean", "value": 20}]
    REPORT = "**A1** it is faster: holds at 1.\n| the mean | 20 | here | 21 |\n"

    def test_a_present_report(self):
        self.assertEqual(stale(self.REPORT, self.EXPECTATIONS, self.PAPER), [])

    def test_another_claim(self):
        self.assertEqual(stale(self.REPORT.replace("faster", "slower"), self.EXPECTATIONS, self.PAPER),
                         ["A1 it is faster: not judged"])

    def test_a_statement_that_is_gone(self):
        self.assertEqual(stale(self.REPORT + "**A2** it is alike: holds at 1.\n", self.EXPECTATIONS, self.PAPER),
                         ["A2: not in the scenario"])

    def test_another_number_of_the_paper(self):
        self.assertEqual(stale(self.REPORT.replace("20", "22"), self.EXPECTATIONS, self.PAPER), ["the mean: no row"])

    def test_values_that_are_no_numbers(self):
        self.assertEqual(stale(self.REPORT + "± nan, inf", self.EXPECTATIONS, self.PAPER), ["nan: no number", "inf: no number"])


class Complaints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.leave("trial/report.md", "![A](plots/a.svg)\n")
        self.leave("trial/results.csv", "profile\n")
        self.leave("trial/plots/a.svg", "<svg/>")

    def leave(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def test_a_good_folder(self):
        self.assertEqual(complaints(self.folder), [])

    def test_other_files(self):
        for name in ("trial/plots/a.png", "trial/points/p/samples.csv.gz", "trial/ccdf/a.csv", "notes.md"):
            self.leave(name, "")
            self.assertEqual(complaints(self.folder)[0], f"{name}: not a report, a table, a figure or a patch")
            (self.folder / name).unlink()

    def test_a_large_figure(self):
        self.leave("trial/plots/a.svg", "x" * (FIGURE_MAX + 1))
        self.assertEqual(complaints(self.folder), [f"trial/plots/a.svg: {FIGURE_MAX + 1} octets"])

    def test_much_in_all(self):
        self.leave("trial/results.csv", "x" * TOTAL_MAX)
        self.assertEqual(len(complaints(self.folder)), 1)
        self.assertIn("octets in all", complaints(self.folder)[0])

    def test_what_is_missing(self):
        (self.folder / "trial/plots/a.svg").rename(self.folder / "trial/plots/b.svg")
        self.assertEqual(complaints(self.folder),
                         ["trial/plots/a.svg: missing", "trial/plots/b.svg: not in the report"])
        self.leave("trial/larger/report.md", "![C](plots/c.svg)\n")
        self.leave("trial/larger/results.csv", "profile\n")
        self.assertEqual(complaints(self.folder)[2:], ["trial/larger/plots/c.svg: missing"])
        shutil.rmtree(self.folder / "trial/larger")
        (self.folder / "trial/results.csv").unlink()
        self.assertEqual(complaints(self.folder), ["trial/results.csv: missing"])


if __name__ == "__main__":
    unittest.main()
