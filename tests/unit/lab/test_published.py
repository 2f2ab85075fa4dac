"""doc/results holds for each scenario a short report, its table, and the figures that a page shows, and nothing else. The rest
belongs in an archive (`scripts/lab archive`)."""

import re
import tempfile
import unittest
from pathlib import Path

from simco_lab import scenario
from simco_lab.draw import account

DOC = Path(__file__).resolve().parents[3] / "doc"
PUBLISHED = DOC / "results"
LINES_MAX = 7600  # of all but figures
REPORT_LINES_MAX = 150
BEGIN = re.compile(r"# .*\n\n\| id \| claim \| paper \| here \(times in ms\) \| verdict \|\n")
ALLOWED = re.compile(r"README\.md|[\w-]+/(report\.md|results\.csv|[\w.@-]+\.svg|[\w-]+\.patch)")
FIGURE = re.compile(r"!\[.*?\]\((?:results/)?([^)]*\.svg)\)")
ROW = re.compile(r"^\| (.*) \|$", re.MULTILINE)
AT = re.compile(rf"({'|'.join(account.VERDICTS)}) at (\d+)")
PROGRAMS = re.compile(r"^- Measured in virtual time on (.*?), .*, programs: (\w+)\.", re.MULTILINE)
DIGEST = re.compile(r"`([0-9a-f]{12})`")
OWN = re.compile(r" (\d+ of \d+) statements and (\d+ of \d+) places are decided\.")
DECIDED = re.compile(r"^\| \[([\w-]+)\]\([^)]*/report\.md\) \| (.*) \| (.*) \|$", re.MULTILINE)
NO_NUMBER = re.compile(r"\bnan\b|\binf\b")
LINK = re.compile(r"\]\((results/[^)#]*)")


def complaints(folder, shown=()):
    """Returns a sentence for each file that is not as it should be. `shown` are the figures that pages show."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    found = [f"{name}: not a report, a table, a figure or a patch" for name in files if not ALLOWED.fullmatch(name)]
    found += [f"{name}: no page shows it" for name in files if name.endswith(".svg") and name not in shown]
    total = sum(path.read_bytes().count(b"\n") for name, path in files.items() if not name.endswith(".svg"))
    if total > LINES_MAX:
        found.append(f"{total} lines in all")
    for result in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        found += [f"{result}/{name}: missing" for name in ("report.md", "results.csv") if f"{result}/{name}" not in files]
    return found + [f"{name}: {one}" for name, path in files.items() if name.endswith("/report.md") for one in misshapen(path.read_text())]


def misshapen(report):
    lines = report.count("\n")
    return ["does not begin with the table of its claims"] * (not BEGIN.match(report)) + [f"{lines} lines"] * (lines > REPORT_LINES_MAX)


def rows_of(report):
    """Returns the rows of a report's first table, {column: cell} each."""
    header, *rows = [line.split(" | ") for line in ROW.findall(report.split("\n\n")[1])]
    return [dict(zip(header, row, strict=True)) for row in rows]


def stale(report, claims, paper):
    """Returns what a report lacks of a scenario's statements and of the paper's numbers, what the scenario no longer states, and
    numbers that are none."""
    rows, stated = rows_of(report), {one.id: one.text for one in claims}
    judged = {(row["id"], row["claim"]) for row in rows}
    printed = {(row["claim"], row["paper"]) for row in rows}
    found = [f"{one} {claim}: not judged" for one, claim in stated.items() if (one, claim) not in judged]
    found += [f"{row['id']}: not in the scenario" for row in rows if row["id"] and row["id"] not in stated]
    found += [f"{number['what']}: no row" for number in paper if (number["what"], str(number["value"])) not in printed]
    return found + [f"{word}: no number" for word in NO_NUMBER.findall(report)]


def decided(report):
    """Returns how many of a report's statements are decided, and of their places: ("3 of 4", "24 of 26")."""
    found = [{word: int(count) for word, count in AT.findall(row["verdict"])} for row in rows_of(report) if row["id"]]
    judged = [(sum(one.values()), *(one.get(account.WORDS[holds], 0) for holds in (True, False))) for one in found if one]
    whole = sum(account.is_decided(*one) for one in judged)
    known, places = sum(holding + failing for _, holding, failing in judged), sum(places for places, *_ in judged)
    return f"{whole} of {len(judged)}", f"{known} of {places}"


class Published(unittest.TestCase):
    def reports(self):
        return {path.parent.name: path.read_text() for path in PUBLISHED.glob("*/report.md")}

    def test_nothing_but_short_reports_tables_and_what_pages_show(self):
        shown = {name for page in DOC.glob("*.md") for name in FIGURE.findall(page.read_text())}
        self.assertEqual(complaints(PUBLISHED, shown), [])

    def test_each_is_of_a_scenario(self):
        self.assertLessEqual(set(self.reports()), {path.stem for path in scenario.available()})

    def test_reports_have_the_notes_of_their_scenarios(self):
        for name, report in self.reports().items():
            for note in scenario.find(name).notes:
                self.assertIn(f"- {note}", report.splitlines(), name)

    def test_reports_judge_every_statement_of_their_scenarios(self):
        for name, report in self.reports().items():
            told = scenario.find(name)
            self.assertEqual(stale(report, told.claims, told.papers), [], name)

    def test_the_index_counts_the_decided_places(self):
        told = {name: numbers for name, *numbers in DECIDED.findall((PUBLISHED / "README.md").read_text())}
        self.assertEqual(told, {name: [*decided(report)] for name, report in self.reports().items()})

    def test_reports_count_their_decisions(self):
        for name, report in self.reports().items():
            for own in OWN.findall(report):
                self.assertEqual(own, decided(report), name)

    def test_all_are_of_the_programs_that_the_index_names(self):
        told = {name: PROGRAMS.findall(report) for name, report in self.reports().items()}
        self.assertEqual([name for name, found in told.items() if len(found) != 1], [])
        made = {found for [found] in told.values()}
        self.assertEqual(sorted(digest for _, digest in made), sorted(DIGEST.findall((PUBLISHED / "README.md").read_text())), made)

    def test_links_to_results_lead_somewhere(self):
        links = LINK.findall((DOC / "results.md").read_text())
        self.assertTrue(links)
        for link in links:
            self.assertTrue((DOC / link).exists(), link)


class Stale(unittest.TestCase):
    CLAIMS = [scenario.Claim("A1", "it is faster", {}, None)]
    PAPER = [{"what": "the mean", "value": 20}]
    REPORT = ("# a\n\n| id | claim | paper | here (times in ms) | verdict |\n|---|---|---|---|---|\n"
              "| A1 | it is faster |  | 1 ms | holds at 1 |\n|  | the mean | 20 | 21 |  |\n")

    def test_a_report_that_does_not_fit_its_scenario(self):
        other = self.REPORT.replace
        for report, found in ((self.REPORT, []), (other("faster", "slower"), ["A1 it is faster: not judged"]),
                              (self.REPORT + "| A2 | it is alike |  |  | holds at 1 |\n", ["A2: not in the scenario"]),
                              (other("20", "22"), ["the mean: no row"]),
                              (self.REPORT + "\n± nan, inf\n", ["nan: no number", "inf: no number"])):
            self.assertEqual(stale(report, self.CLAIMS, self.PAPER), found)

    def test_how_much_is_decided(self):
        for verdict, statements, places in (("holds at 1", "1 of 1", "1 of 1"), ("holds at 3, inconclusive at 1", "0 of 1", "3 of 4"),
                                            ("holds at 1, no difference shown at 1", "0 of 1", "1 of 2"),
                                            ("holds at 1, does not hold at 1, inconclusive at 2", "0 of 1", "2 of 4"),
                                            ("does not hold at 4, inconclusive at 1", "1 of 1", "4 of 5")):
            self.assertEqual(decided(self.REPORT.replace("holds at 1", verdict)), (statements, places))


class Complaints(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.leave("trial/report.md", Stale.REPORT)
        self.leave("trial/results.csv", "profile\n")
        self.leave("trial/a.svg", "<svg>\n</svg>\n")

    def leave(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def test_files_that_do_not_belong(self):
        for name, text, found in (
                ("trial/report.md", Stale.REPORT, []), ("notes.md", "", ["notes.md: not a report, a table, a figure or a patch"]),
                ("trial/larger/results.csv", "", ["trial/larger/results.csv: not a report, a table, a figure or a patch"]),
                ("trial/b.svg", "", ["trial/b.svg: no page shows it"]),
                ("trial/c.patch", "x\n" * LINES_MAX, [f"{LINES_MAX + 7} lines in all"])):
            self.leave(name, text)
            self.assertEqual(complaints(self.folder, {"trial/a.svg"}), found)
            if found:
                (self.folder / name).unlink()

    def test_a_long_report_and_one_without_its_table(self):
        self.leave("trial/report.md", "# a\n" + "\n" * REPORT_LINES_MAX)
        self.assertEqual(complaints(self.folder, {"trial/a.svg"}),
                         ["trial/report.md: does not begin with the table of its claims", f"trial/report.md: {REPORT_LINES_MAX + 1} lines"])

    def test_a_result_without_its_table(self):
        (self.folder / "trial/results.csv").unlink()
        self.assertEqual(complaints(self.folder, {"trial/a.svg"}), ["trial/results.csv: missing"])
