"""Reading the files of runs, and judging them."""

import io
import json
import math
import tempfile
import unittest
from pathlib import Path

import numpy
import trial
from trial import combination
from simco_lab import errors, scenario
from simco_lab.judge import claims, prediction, verdicts
from simco_lab.measure import results, run_record
from simco_lab.measure.combination import Run
from simco_lab.measure.quantities import QUANTITIES
from simco_lab.measure.samples import read_samples
from simco_lab.run import job
from simco_lab.scenario import pattern, points
from simco_lab.scenario.catalogue import TRANSPORTS
from simco_lab.scenario.variant import Variant

SAMPLES = """\
index,tid,stream,scheduled_ns,sent_ns,received_ns,outcome
0,1,1,1000000,1000100,21500000,completed
1,2,2,2000000,,,unanswered
2,3,3,3000000,3000100,,timed_out
"""
NETSTAT = """\
TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes
TcpExt: 0 {timeouts} 3
Tcp: RetransSegs
Tcp: 7
SctpT3RtxExpireds               \t{expired}
"""


class Reading(unittest.TestCase):
    def test_an_unanswered_transaction_takes_infinitely_long(self):
        _, times = read_samples(io.StringIO(SAMPLES), "response")
        self.assertEqual(list(times), [20.5, math.inf, math.inf])

    def test_the_longest_time_without_a_reply(self):
        def of(name, *times):
            run = Run(numpy.array(times), {}, scheduled=numpy.array([0.0, 10.0, 20.0, 30.0][:len(times)]))
            return QUANTITIES[name].of_run(run)

        self.assertEqual(of("silence", 5, 5, 5, 5), 10)
        self.assertEqual(of("silence", 70, 5, 5, 5), 35)  # the replies are at 70, 15, 25 and 35
        self.assertEqual(of("silence", 40, math.inf, 900, 5), 880)
        self.assertEqual(of("silence", 40), 40)
        self.assertEqual(of("silence", math.inf, math.inf), math.inf)
        self.assertEqual(of("late", 500, 501, math.inf, 5), 2)

    def test_messages_that_have_waited_for_the_next_one(self):
        run = Run(numpy.array([20, 30.1, 29, 35, 40, math.inf, 20, 20]), {"point": {"delay_ms": 10, "rate": 100}})
        self.assertEqual(QUANTITIES["bundled"].of_run(run), 25)

    def test_a_window_is_in_octets_whatever_it_was_counted_in(self):
        for figures, octets in (({"cwnd_segments": 10.0, "mss_octets": 1448.0, "rtt_ms": 40.0}, 14480.0),
                                ({"cwnd_octets": 4380.0}, 4380.0), ({"sent_datagrams": 3.0}, None)):
            self.assertEqual(run_record.window_at_the_end(figures).get("cwnd_octets"), octets)

    def test_a_refused_transaction_has_no_answer(self):
        samples = SAMPLES.replace("timed_out", "refused").replace("3000100,,", "3000100,4000000,")
        self.assertIn("4000000,refused", samples)
        self.assertEqual(list(read_samples(io.StringIO(samples), "response")[1]), [20.5, math.inf, math.inf])

    def test_counters_of_both_shapes(self):
        with tempfile.TemporaryDirectory() as folder:
            for end in ("agent", "box"):
                for when, timeouts, expired in (("before", 1, 2), ("after", 5, 2)):
                    path = Path(folder) / f"counters.{end}.{when}"
                    path.write_text(NETSTAT.format(timeouts=timeouts, expired=expired))
            self.assertEqual(run_record.counter_changes(Path(folder), TRANSPORTS["tcp"])["agent"], {"TCPTimeouts": 4})
            self.assertEqual(run_record.counter_changes(Path(folder), TRANSPORTS["sctp"])["box"], {})

    def test_losses_that_differ_from_the_pattern(self):
        point = points.Point(variant=Variant.parse("tcp"), loss_percent=10.0, scenario="trial", count=400,
                               replication=0, workload="per", arrivals="poisson", warmup=0, base_seed=1)
        patterns = job.Job(point).patterns
        counts = {}
        for direction, (packets, lost) in patterns.items():
            counts[f"seen-{direction}"] = 700
            counts[f"lost-{direction}"] = pattern.expected_losses(700, packets, lost)
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder, counts)
            self.assertEqual(run_record.check_losses(Path(folder), patterns)["reply"][0], 700)
            counts["lost-reply"] += 1
            self.write(folder, counts)
            with self.assertRaisesRegex(errors.BadRun, "direction 'reply'"):
                run_record.check_losses(Path(folder), patterns)

    @staticmethod
    def write(folder, counts):
        entries = [{"counter": {"name": name, "packets": value}} for name, value in counts.items()]
        (Path(folder) / "drops.json").write_text(json.dumps({"nftables": [{"metainfo": {}}, *entries]}))


def figures(measured):
    return claims.Figures(measured, {}, "mean", {})


class Judging(unittest.TestCase):
    def setUp(self):
        rng = numpy.random.default_rng(1)
        self.fast = combination("sctp-16", rng.normal(21, 1, 3000))
        self.slow = combination("tcp", rng.normal(25, 1, 3000))
        self.same = combination("tcp", rng.normal(21, 1, 3000))

    def test_less(self):
        self.assertIs(verdicts.compare(self.fast, self.slow, "mean").holds, True)
        self.assertIs(verdicts.compare(self.slow, self.fast, "mean").holds, False)
        self.assertTrue(verdicts.compare(self.fast, self.same, "mean").alike)
        wide = combination("sctp-16", numpy.random.default_rng(2).normal(21, 30, 3000))
        self.assertIsNone(verdicts.compare(self.fast, wide, "mean").holds)
        self.assertIs(verdicts.compare(self.fast, self.slow, "mean", factor=0.5).holds, False)

    def test_an_aborted_run_has_no_mean_to_compare(self):
        broken = combination("sctp-16", self.fast.times[0], record={"aborted": True}, loss_percent=1.0)
        whole = combination("tcp", self.fast.times[0], loss_percent=1.0)
        for judged in (figures(self.results([broken])).near_model(percent=5), figures(self.results([broken, whole])).equal(within_ms=1)):
            self.assertEqual([(verdict.holds, verdict.detail) for verdict in judged], [(None, "sctp-16 was aborted")])

    def test_equal_by_the_whole_interval(self):
        later = combination("tcp", self.fast.times[0] + 1.0)
        for other, within_ms, holds in ((later, 2.0, True), (later, 0.5, False), (self.slow, 4.0, None)):
            [verdict] = figures(self.results([self.fast, other])).equal(within_ms=within_ms)
            self.assertIs(verdict.holds, holds, verdict.detail)

    def test_where_all_were_aborted_nothing_is_compared(self):
        ended = [combination(name, self.fast.times[0], record={"aborted": True}) for name in ("sctp-1", "sctp-4")]
        one, other = (claims.Figures(self.results(ended), {}, "mean", {"variant": [Variant.parse(name)]})
                      for name in ("sctp-1", "sctp-4"))
        self.assertEqual(list(one < other), [])
        self.assertEqual(list(figures(self.results(ended)).never_rises_along("streams")), [])

    def test_monotone(self):
        falling = self.results([combination("sctp-1", self.slow.times[0]), combination("sctp-4", self.fast.times[0])])
        self.assertTrue(figures(falling).never_rises_along("streams")[0].holds)
        rising = self.results([combination("sctp-1", self.fast.times[0]), combination("sctp-4", self.slow.times[0])])
        self.assertFalse(figures(rising).never_rises_along("streams")[0].holds)

    def test_streams_that_were_aborted_leave_it_open(self):
        times = self.fast.times[0]
        for slow, expected in ((self.slow, False), (self.fast, None)):
            results = self.results([combination("sctp-1", times), combination("sctp-2", times, record={"aborted": True}),
                                     combination("sctp-4", slow.times[0])])
            [verdict] = figures(results).never_rises_along("streams")
            self.assertIs(verdict.holds, expected)
            self.assertIn("2: aborted", verdict.detail)

    def test_streams_of_each_transport_are_compared_with_its_own(self):
        both = self.results([combination("quic-1", self.fast.times[0]), combination("sctp-2", self.slow.times[0]),
                             combination("quic-16", self.fast.times[0]), combination("sctp-4", self.slow.times[0])])
        found = figures(both).never_rises_along("streams")
        self.assertEqual([verdict.holds for verdict in found], [True, True])
        self.assertEqual(sorted(verdict.where.rpartition(": ")[2] for verdict in found), ["quic-1", "sctp-2"])

    def test_model(self):
        # equation 5 at 1 %, 100/s, 20 ms and many streams: 21.5 ms
        near = combination("sctp-16", numpy.random.default_rng(2).normal(21.4, 1, 3000), loss_percent=1.0)
        far = combination("sctp-16", numpy.random.default_rng(2).normal(25, 1, 3000), loss_percent=1.0)
        self.assertTrue(figures(self.results([near])).near_model(percent=5)[0].holds)
        self.assertFalse(figures(self.results([far])).near_model(percent=5)[0].holds)
        below = combination("sctp-16", numpy.random.default_rng(2).normal(20.1, 0.1, 3000), loss_percent=1.0)
        self.assertFalse(figures(self.results([below])).near_model(percent=5)[0].holds)
        self.assertTrue(figures(self.results([below])).at_most_above_model(percent=5)[0].holds)
        for mean, spread in ((21.5, 40), (23, 20)):  # one end of the interval is outside, or inside
            wide = combination("sctp-16", numpy.random.default_rng(2).normal(mean, spread, 3000), loss_percent=1.0)
            [verdict] = figures(self.results([wide])).near_model(percent=5)
            self.assertIsNone(verdict.holds, verdict.detail)
            self.assertIn("times the sample", verdict.detail)

    def test_marks(self):
        def plot(x, model=True):
            return scenario.plot("trial", "Trial", "mean", x=x, model=model)

        measured = [combination(variant, [20.0], loss_percent=1.0, rate=rate)
                for variant in ("tcp", "tcp-4") for rate in (300.0, 1000.0)]
        self.assertEqual([round(x, 2) for x, _, _ in prediction.marks_of(measured, plot("connections"))], [1.73, 5.77])
        self.assertEqual([x for x, _, _ in prediction.marks_of(measured, plot("streams"))], [9, 23])
        by_rate = prediction.marks_of(measured, plot("rate_per_connection"))
        self.assertEqual([round(x, 1) for x, _, _ in by_rate], [13.6, 173.2])
        self.assertEqual(prediction.marks_of(measured, plot("connections", model=False)), [])
        self.assertEqual(prediction.marks_of([combination("tcp", [20.0])], plot("connections")), [])

    @staticmethod
    def results(combinations):
        return trial.Results(combinations)
