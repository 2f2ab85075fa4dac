"""Scenarios: the points of a correct one, and what is said of an incorrect one."""

import dataclasses
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import trial
from simco_lab import scenario
from simco_lab.judge import claims, prediction
from simco_lab.measure.quantities import QUANTITIES
from simco_lab.run import job
from simco_lab.scenario import catalogue, sizes, variant

TRIAL = dict(workload="echo", quick=dict(count=100, variant=["sctp-16"]), full=dict(count={0.1: 50, 10: 4000}, replications=3),
             matrix=dict(variant=["tcp-4", "sctp-16", "sctp-unordered"], loss_percent=[0, 1], rate=[1, 100]))
SIP = dict(workload="sip", lose_at=10, quick=dict(count=100), full=dict(count=1000),
           matrix=dict(variant=["tcp", "udp"], delay_ms=[20], lose_run=[0, 2], rate=[10, 40]))
TEXT = """\
from simco_lab.scenario import Scenario, paper, plot

lab = Scenario(
    "A trial", workload="echo", matrix=dict(variant=["tcp-4", "sctp-16"], rate=[1, 100]), quick=dict(count=100), full=dict(count=200),
    plots=[plot("p", "P", "mean", where=dict(rate=100))],
    papers=[paper("mean", 20, rate=100)],
)
lab.claim("X", "SCTP is faster",
          lambda r: r.mean("sctp-16") < r.mean("tcp-4"), rate=100)
"""


class Points(unittest.TestCase):
    def test_points(self):
        made = trial.made(TRIAL)
        self.assertEqual(len(list(made.points("quick"))), 1 * 2 * 2)
        full = list(made.points("full"))
        self.assertEqual(len(full), 3 * 2 * 2 * 3)
        self.assertEqual({point.count for point in full if point.rate == 1}, {50})
        self.assertEqual({point.count for point in full if point.rate == 100}, {4000})
        self.assertEqual(len({point.name for point in full}), len(full))

    def test_variants(self):
        for name, (transport, streams, connections, unordered), label in (
                ("tcp", ("tcp", 1, 1, False), "TCP"), ("tcp-4", ("tcp", 1, 4, False), "TCP-4"),
                ("sctp-1", ("sctp", 1, 1, False), "SCTP-1"), ("sctp-16", ("sctp", 16, 1, False), "SCTP-16"),
                ("sctp-unordered", ("sctp", 1, 1, True), "SCTP unordered"), ("quic-16", ("quic", 16, 1, False), "QUIC-16")):
            parsed = variant.Variant.parse(name)
            self.assertEqual(parsed, variant.Variant(catalogue.TRANSPORTS[transport], streams, connections, unordered))
            self.assertEqual((str(parsed), parsed.label), (name, label))
        for name in ("tcp-0", "tcp-10000", "tcp-01", "tcp-", "tcp-unordered", "sctp", "sctp-0", "sctp-100000",
                     "udp-2", "dccp", "dccp-2", "quic", "quic-1025", "quic-unordered", "sctp-16-unordered", "", 4):
            with self.assertRaises(ValueError):
                variant.Variant.parse(name)

    def test_a_further_transport_is_a_row(self):
        row = dataclasses.replace(catalogue.TRANSPORTS["tcp"], name="dccp", label="DCCP", number="connections", number_max=2,
                                  rto_ms=None)
        with mock.patch.dict(catalogue.TRANSPORTS, dccp=row):
            points = list(trial.made(TRIAL, matrix=dict(variant=["dccp-2", "sctp-16", "dccp"])).points("full"))
            with self.assertRaises(ValueError):
                variant.Variant.parse("dccp-3")
        self.assertEqual({str(point.variant) for point in points}, {"dccp-2", "sctp-16", "dccp"})
        lossy = next(point for point in points if str(point.variant) == "dccp-2" and point.loss_percent)
        self.assertEqual(lossy.variant.label, "DCCP-2")
        self.assertIn("--transport dccp ", job.Job(lossy).files["settings"])
        self.assertIsNone(prediction.predicted(lossy))
        self.assertEqual(prediction.marks(lossy, "rate"), [])

    def test_several_matrices(self):
        one, other = TRIAL["matrix"], dict(variant=["tcp"], loss_percent=[1, 5])

        def points(*matrices):
            made = scenario.Scenario("Trial", **{**TRIAL, "matrix": [one, other, one, *matrices]})
            return [list(made.points(scale)) for scale in scenario.SCALES]

        quick, full = points()
        # A scale narrows each: the second has no SCTP. A point that two of them have is there once.
        self.assertEqual({(str(p.variant), p.rate) for p in quick}, {("sctp-16", 1.0), ("sctp-16", 100.0)})
        self.assertEqual(len(full), 3 * (3 * 2 * 2 + 2))
        # One that is of a scale only has no points at the other.
        for scale, counts in (("quick", [len(quick) + 2, len(full)]), ("full", [len(quick), len(full) + 6])):
            further = dict(scale=scale, variant=["sctp-16"], loss_percent=[5, 7], rate=[100])
            self.assertEqual(list(map(len, points(further))), counts)


class Shipped(unittest.TestCase):
    def shipped(self):
        return [scenario.read(path) for path in (*scenario.available(), *Path(__file__).parents[2].glob("lab/*.py"))]

    def test_each_can_be_run(self):
        for one in self.shipped():
            claims.rehearse(one)
            for scale in scenario.SCALES:
                self.assertTrue(list(one.points(scale)), one.path)

    def test_each_quantity_serves_one(self):
        asked = set()
        with mock.patch.object(claims, "check_quantity", lambda _, name: asked.add(name)):
            for one in self.shipped():
                claims.rehearse(one)
        self.assertEqual(set(QUANTITIES) - asked, set())


class Files(unittest.TestCase):
    """What is wrong in a file is said with its name and the line."""

    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trial.py"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            found = scenario.read(path)
            claims.rehearse(found)
            return found

    def wrong(self, words, line, *change):
        text = TEXT
        for old, new in zip(change[::2], change[1::2]):
            self.assertIn(old, text)
            text = text.replace(old, new)
        with self.assertRaises(scenario.ScenarioError) as caught:
            self.read(text)
        self.assertIn(f"trial.py:{line}: ", str(caught.exception))
        self.assertIn(words, str(caught.exception))

    def test_a_good_one(self):
        found = self.read(TEXT)
        self.assertEqual((found.name, [claim.id for claim in found.claims]), ("trial", ["X"]))

    def test_claims_of_another(self):
        text = TEXT.replace('variant=["tcp-4"', 'profile=["tuned"], variant=["tcp", "tcp-4"')
        found = self.read(text + '\nlab.claims_of("low-rate", "R1")\n')
        self.assertEqual([(claim.id, claim.where) for claim in found.claims][1:], [("R1", {"profile": ["tuned"]})])
        self.wrong("scenario 'low-rate' has no claim 'Q9'; it has R1", 10, ', rate=100)\n', ', rate=100)\nlab.claims_of("low-rate", "Q9")\n')

    def test_unknown_keys(self):
        self.wrong("unexpected keyword argument 'workbench'", 3, "workload=", "workbench=")
        self.wrong("unknown dimension 'rat'; known are profile, ", 3, "rate=[1, 100]", "rat=[1]")
        self.wrong("unexpected keyword argument 'colour'", 5, '"mean", where', '"mean", colour=1, where')
        self.wrong("unknown dimension 'rats'", 6, "20, rate", "20, rats")
        self.wrong("unknown dimension 'rats'", 8, 'r.mean("tcp-4"), rate', 'r.mean("tcp-4"), rats')

    def test_unknown_values(self):
        self.wrong("unknown variant 'dccp'", 3, '"tcp-4", "sctp-16"]', '"dccp", "sctp-16"]')
        self.wrong("unknown variant 'dccp'", 9, 'r.mean("tcp-4")', 'r.mean("dccp")')
        self.wrong("no point has variant tcp-5; they have sctp-16, tcp-4", 9, 'r.mean("tcp-4")', 'r.mean("tcp-5")')
        self.wrong("unknown quantity 'average'", 9, 'r.mean("tcp-4")', 'r.average("tcp-4")')
        self.wrong("'kind' must be one of mean, over", 5, '"P", "mean"', '"P", "pie"')
        self.wrong("'x' must be one of", 5, '"mean", where', '"mean", x="losses", where')
        self.wrong("'workload' must be one of per, echo, sip", 3, '"echo"', '"ping"')

    def test_what_is_no_scenario(self):
        self.wrong("closing parenthesis ']' does not match", 5, "rate=100))]", "rate=100)]")
        self.wrong("two claims are named X", 10, ", rate=100)\n", ", rate=100)\nlab.claim('X', 'y', None)\n")
        for text, words in (("x = 1\n", ": it must make one Scenario"), (b"\xe9", ":1: .*'utf-8' codec can't decode byte 0xe9")):
            with self.assertRaisesRegex(scenario.ScenarioError, f"trial.py{words}"):
                self.read(text)


class Wrong(unittest.TestCase):
    def wrong(self, words, given=TRIAL, **changes):
        with self.assertRaises(ValueError) as caught:
            trial.made(given, **changes)
        self.assertIn(words, str(caught.exception))

    def test_values(self):
        for key, value, words in (("t1_ms", 0, "a whole number from 1 to 60,000"), ("t1_ms", 0.5, "a whole number"),
                                  ("mtu_to", 10, "0 or a whole number from 68 to 1,500"), ("jitter_ms", float("nan"), "a number"),
                                  ("loss_percent", "much", "a number"), ("loss_percent", 100, "a number from 0 to below 100"),
                                  ("rate", 0, "a number from 0.000001 to 10,000,000, not 0")):
            self.wrong(f"'{key}' must be {words}", SIP, matrix={key: [value]})
        self.wrong("'rate' has no value", matrix=dict(rate=[]))
        self.wrong("quick: 'count' and 'replications' must be whole numbers of 1 or more, not 0", quick=dict(count=0))
        for key, value, words in (("warmup", -5, "a whole number of 0 or more"), ("abort_lag_s", "x", "a number of 0 or more"),
                                  ("response", "RINGING", "180, 100 or none"), ("capture", 1, "True or False")):
            self.wrong(f"'{key}' must be {words}", SIP, **{key: value})

    def test_names_of_figures(self):
        for name in ("../../x", "/x", ".", ".x", "", "a b"):
            with self.assertRaisesRegex(ValueError, "the name of a figure must be letters"):
                scenario.plot(name, "P", "mean")

    def test_what_does_not_go_with_the_workload(self):
        self.wrong("variant 'udp': the echo workload needs a reliable transport", matrix=dict(variant=["udp"]))
        self.wrong("'invite_size' is of the sip workload", invite_size=500)
        self.wrong("profile 'ns2' needs messages of one size", workload="per", matrix=dict(variant=["tcp"], profile=["ns2"]))
        self.wrong("profile 'ns2' needs messages of one size", SIP, matrix=dict(profile=["ns2"], variant=["tcp"], large_size=[0, 1200]))
        self.wrong("unordered variants are for the echo or sip workload", workload="per")
        for key, value, words in (("lose", "messages", "lose = messages"), ("lose_run", 3, "lose_run")):
            self.wrong(f"'{words}' is of the sip workload", network="dumbbell", matrix={key: [value]})

    def test_sizes(self):
        over = dict(large_over_udp=True)
        for changes, words in ((dict(invite_size=100), "an INVITE over TCP has at least 395 octets"),
                               (dict(invite_size=395, matrix=dict(variant=["sctp-1"])), "an INVITE over SCTP has at least 396 octets"),
                               (dict(invite_size=70000), "a message has at most 65536 octets"),
                               (dict(response_size=8193), "a response has at most 8192 octets"),
                               (dict(invite_size=2000), "INVITEs of more than 1300 octets over UDP need 'large_over_udp'"),
                               (dict(invite_size=65508, **over), "a datagram carries at most 65507"),
                               (dict(response_size=10), "a 180 response has at least 298 octets"),
                               (dict(response_size=10, response="none"), "variant 'udp': a 100 response has at least 263 octets"),
                               (dict(matrix=dict(large_size=[100])), "an INVITE over TCP has at least 395 octets"),
                               (dict(matrix=dict(large_size=[0, 16000])), "INVITEs of more than 1300 octets over UDP")):
            self.wrong(words, SIP, **changes)

    def test_the_least_invite_has_a_place_for_every_transport(self):
        for transport in catalogue.TRANSPORTS.values():
            least = sizes.INVITE_LEAST + len(transport.label)
            self.assertEqual(sizes.invite_fault(transport, least, False), "")
            self.assertNotEqual(sizes.invite_fault(transport, least - 1, False), "")

    def test_losses(self):
        self.wrong("'lose_at' must be below the count, 100", SIP, lose_at=100, matrix=dict(lose_run=None))
        self.wrong("'lose_run' goes beyond the count", SIP, lose_at=99)
        for runs in ([0], [2]):
            with self.assertRaisesRegex(ValueError, "'affected' compares with the run without losses"):
                claims.check_quantity(trial.made(SIP, matrix=dict(lose_run=runs)), "affected")

    def test_what_correlates_needs_a_correlation(self):
        for correlation in (None, [0]):
            self.wrong("'correlated' needs 'loss_correlation'", matrix=dict(correlated=["numbers"], loss_correlation=correlation))
        self.wrong("'correlated' must be one of losses, numbers, not 'gaps'", matrix=dict(correlated=["gaps"]))

    def test_competing_traffic_in_a_part_of_the_run(self):
        self.wrong("'cross_from_s' needs 'cross_for_s'", SIP, cross_from_s=20)
        self.wrong("'cross_for_s' is of tcp-N: web-3 runs all the time", SIP, cross_for_s=5, matrix=dict(cross=["none", "tcp-1", "web-3"]))


class Papers(unittest.TestCase):
    def test_a_number_for_each_variant(self):
        several = scenario.paper("mean", {"sctp-16": 4.5, "tcp-4": 7}, rate=100)
        self.assertEqual([(number["value"], list(map(str, number["where"]["variant"])), number["where"]["rate"])
                          for number in several], [(4.5, ["sctp-16"], [100.0]), (7, ["tcp-4"], [100.0])])


class Jobs(unittest.TestCase):
    def setUp(self):
        self.points = {(str(p.variant), p.loss_percent, p.rate, p.replication): p for p in trial.made(TRIAL).points("full")}

    def test_every_variant_meets_the_same_losses_and_arrivals(self):
        tcp, sctp = self.points["tcp-4", 1, 100, 0], self.points["sctp-16", 1, 100, 0]
        self.assertEqual(job.Job(tcp).patterns, job.Job(sctp).patterns)
        self.assertEqual(tcp.seed("arrivals"), sctp.seed("arrivals"))

    def test_replications_differ(self):
        first, second = self.points["tcp-4", 1, 100, 0], self.points["tcp-4", 1, 100, 1]
        self.assertNotEqual(job.Job(first).patterns, job.Job(second).patterns)
        self.assertNotEqual(job.Job(first).files["settings"], job.Job(second).files["settings"])

    def test_without_a_correlation_it_does_not_matter_what_correlates(self):
        for seeds in ("shared", "own"):
            made = trial.made(TRIAL, seeds=seeds, matrix=dict(variant=["sctp-16"], loss_percent=[5], rate=[100],
                                                              loss_correlation=[0, 0.8], correlated=["losses", "numbers"]))
            points = {(point.loss_correlation, point.correlated): point for point in made.points("quick")}
            for correlation, same in ((0, True), (0.8, False)):
                losses, numbers = (job.Job(points[correlation, correlated]).files for correlated in ("losses", "numbers"))
                self.assertEqual(losses == numbers, same, (seeds, correlation))
        self.assertIn("5 %, correlation 0.8, correlated numbers, 100/s", points[0.8, "numbers"].place)
        self.assertIn("_corr0.8_numbers_n", points[0.8, "numbers"].name)

    def test_a_job_is_always_the_same(self):
        point = self.points["sctp-unordered", 1, 100, 2]
        self.assertEqual(job.archive(job.Job(point).files), job.archive(job.Job(point).files))
        self.assertIn("--unordered", job.Job(point).files["settings"])
