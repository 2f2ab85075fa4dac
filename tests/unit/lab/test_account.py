"""What reports say besides the numbers: what a mean leaves out, which verdicts it lists, and which caveats it has."""

import tempfile
import unittest
from pathlib import Path

import numpy

import trial
from simco_lab import scenario
from simco_lab.draw import account, report
from simco_lab.judge.verdicts import Verdict
from simco_lab.measure import results
from simco_lab.scenario import Claim


def combination(times, variant="tcp", **conditions):
    return trial.combination(variant, times, **conditions)


def of(name, *combinations):
    """The results of the scenario `name` with these combinations only."""
    with tempfile.TemporaryDirectory() as folder:
        found = results.Results(folder, scenario.find(name), "quick")
    found.combinations, found.missing = list(combinations), []
    return found


def written(name, *combinations):
    """The full report on them."""
    found = of(name, *combinations)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / report.FULL
        report.write_full(path, found, account.sample_of(found, [], "Here."), [("p", "A figure")])
        return path.read_text()


class Means(unittest.TestCase):
    def test_what_they_leave_out(self):
        self.assertEqual(account.mark(combination([1.0, 2.0])), "")
        self.assertEqual(account.mark(combination([1.0, numpy.inf, numpy.inf])), " (2 unanswered)")
        self.assertIn("1.0 ± 0.0 (1 unanswered)", written("sip-mtu", combination([1.0] * 99 + [numpy.inf], mtu_to=1000)))


class Notes(unittest.TestCase):
    def test_what_a_paper_does_not_give_comes_first(self):
        text = written("sip-burst", combination([1.0, 2.0]))
        notes = "\n".join(f"- {note}" for note in scenario.find("sip-burst").notes)
        self.assertIn(f"\n## Notes\n\n{notes}\n\n## ", text)
        self.assertNotIn("## Notes", written("sip-storm", combination([1.0, 2.0])))


class Size(unittest.TestCase):
    def test_what_was_measured_and_what_it_took(self):
        known, older = combination([1.0] * 1500), combination([1.0] * 1000, mtu_to=1000)
        known.runs[0]["processor_s"] = 90.0
        self.assertIn("Runs: 1, transactions: 1,500, minutes of a processor: 1.5.", written("sip-mtu", known))
        self.assertIn("Runs: 2, transactions: 2,500.\n", written("sip-mtu", known, older))
        shared = combination([1.0] * 1500, profile="tuned", record={**known.runs[0], "processor_s": 0.0})
        self.assertIn("Runs: 1, transactions: 1,500, minutes of a processor: 1.5.", written("sip-mtu", known, shared))
        known.runs[0]["programs"] = older.runs[0]["programs"] = "12ab"
        self.assertIn("transactions: 2,500, programs: 12ab.\n", written("sip-mtu", known, older))


class Numbers(unittest.TestCase):
    """The papers' numbers, beside what was measured."""

    def lines(self, name, *combinations):
        return ["| " + " | ".join(row) + " |" for row in account.paper_rows(of(name, *combinations))]

    def test_each_place_has_a_line(self):
        lost = [combination([50.0] * 999 + [late], variant="udp", lose_run=1, rate=rate) for rate, late in ((109, 551), (330, 1102))]
        found = [line for line in self.lines("camarillo03-oneloss", *lost) if line.startswith("| the lost message, UDP")]
        self.assertEqual([line.split(" | ", 2)[2] for line in found],
                         ["modern, 10 ms, 0 %, 109/s, 1 lost in a row: udp | 551.0 (x 1.00) |",
                          "modern, 10 ms, 0 %, 330/s, 1 lost in a row: udp | 1102.0 (x 2.00) |"])

    def test_what_was_not_measured_is_said(self):
        self.assertIn("| the lost message, SCTP | 176 | not measured | - |",
                      self.lines("camarillo03-oneloss", combination([1.0], variant="udp")))

    def test_variances(self):
        two = [combination(times, variant="sctp-1", rate=330, loss_percent=0) for times in
               ([0.0, 538.2096, numpy.inf], [5.0])]
        rows = [line for line in self.lines("camarillo03-hol", *two) if line.startswith("| table 1, 85 % of the link: variance")]
        self.assertEqual([row.split(" | ", 1)[1] for row in rows],
                         ["72735.5 | not measured | - |",
                          "72416.9 | modern, 10 ms, 0 %, 330/s: sctp-1 | 144834.8 (x 2.00) (1 unanswered) |",
                          "72416.9 | modern, 10 ms, 0 %, 330/s: sctp-1 | - |"])

    def test_a_small_ratio_is_not_nothing(self):
        number, measured = {"value": 72735.5}, results.statistics.Estimate(160.8)
        self.assertEqual(account.ratio_to(number, measured), " (x 0.0022)")

    def test_two_variants_apart(self):
        two = [combination([50.0] * 900, variant=name, rate=330, loss_percent=0) for name in
               ("sctp-1", "sctp-unordered")]
        two[0].times = [numpy.full(900, 52.0)]
        found = [line for line in self.lines("camarillo03-hol", *two) if "less in order" in line and "not measured" not in line]
        self.assertEqual(found, ["| table 1, 85 % of the link: unordered less in order | -3.4 (-6.95 to 0.15), x 1.0085 |"
                                 " modern, 10 ms, 0 %, 330/s | -2.00 (-2.00 to -2.00), x 1.0400 by pairs |"])


class Verdicts(unittest.TestCase):
    def test_few_are_listed_and_of_many_those_that_do_not_hold(self):
        held, turned = [Verdict(True, f"place {i}", "") for i in range(account.LISTED + 1)], Verdict(False, "here", "")
        self.assertEqual(account.listed(held[:1]), held[:1])
        self.assertEqual(account.listed(held), [])
        self.assertEqual(account.listed([*held, turned]), [turned])

    def test_statements_are_decided_if_each_place_is_or_they_fail_at_more_places_than_chance_explains(self):
        held, failed, untold = (Verdict(holds, "here", "") for holds in (True, False, None))
        judged = [(None, verdicts) for verdicts in ([held] * 2, [held, untold], [failed, held, untold, untold], [failed] * 2 + [untold] * 9,
                                                     [failed] * 8 + [untold] * 8, [])]
        self.assertEqual(account.decisions(judged), " 2 of 5 statements and 15 of 35 places are decided.")
        self.assertEqual(account.decisions([(None, [])]), "")

    def test_the_full_report_has_them_all(self):
        held = [Verdict(True, f"place {i}", "1 ms, below 2") for i in range(account.LISTED + 1)]
        found = of("jitter", combination([1.0]))
        one = account.sample_of(found, [(Claim("X", "x", {}, None), held)], "Here.", choose=list)
        self.assertEqual([one.judgements[0].summary, one.judgements[0].verdicts], ["holds at 13.", held])


class Sections(unittest.TestCase):
    def test_a_table_for_each_quantity_that_the_scenario_names(self):
        measured = combination([1.0] * 99)
        measured.runs[0]["cost"] = {"busy_us": 86.25, "packets": 2.5, "octets": 300.0}
        text = written("cost", measured)
        for label, value in (("Processor time per transaction (µs)", "86.2"), ("Packets per transaction", "2.5"),
                             ("Octets per transaction", "300.0")):
            self.assertIn(f"## {label}, profile modern\n\n| TCP |\n|---|\n| {value} |\n", text)
        self.assertNotIn("Packets per", written("kiesel-exp1", measured))

    def test_the_model_is_of_requests_with_replies(self):
        self.assertIn("equation 5", written("kiesel-exp1", combination([1.0] * 99, loss_percent=1)))
        self.assertNotIn("equation 5", written("sip-mtu", combination([1.0] * 99, loss_percent=1)))

    def test_rising_times_are_a_caveat_if_nothing_changes_in_a_run(self):
        rising, says = numpy.linspace(1, 1000, 1000), "s rise during the run, so the mean depends on its length: TCP, modern, 10 ms"
        self.assertIn(f"- one-way delay{says}", written("sip-aqm", combination(rising)))
        self.assertIn(f"- response time{says}", written("jitter", combination(rising)))
        self.assertNotIn("rise during the run", written("sip-mtu", combination(rising, mtu_to=1000)))
        self.assertNotIn("rise during the run", written("camarillo03-oneloss", combination(rising, lose_run=1)))
        for name in ("sip-burst", "lulling-ftp"):
            self.assertNotIn("rise during the run", written(name, combination(rising)))

    def test_runs_by_other_programs(self):
        ours, older = trial.combination("tcp", *[[1.0] * 99] * 3), combination([1.0] * 99, mtu_to=1000)
        self.assertNotIn("other programs", written("sip-mtu", ours, older))  # neither is known
        ours.runs = [{**run, "programs": "5eed"} for run in ours.runs]
        self.assertIn("\n- 1 of 4 runs by other programs, or other settings of the guest, than most (5eed): unknown (1); run",
                      written("sip-mtu", ours, older))
        older.runs[0]["programs"] = "5eed"
        self.assertNotIn("other programs", written("sip-mtu", ours, older))

    def test_places_name_the_correlation(self):
        self.assertIn("1 %, correlation 0.8, ", combination([1], loss_percent=1, loss_correlation=0.8).conditions.place)
