"""SIP in the laboratory: the programs' options, what the server saw, and throughput."""

import dataclasses
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy

import trial
from simco_lab.measure import deliveries, run_record
from simco_lab.measure.samples import read_samples
from simco_lab.run import job, tls

TRIAL = dict(workload="sip", measure="one-way", response="none", invite_size=512, capture=True, skip_s=2, quick=dict(count=1000),
             full=dict(count=2000), matrix=dict(variant=["tcp", "udp", "sctp-1", "tls"], profile=["ns2"], delay_ms=[45], rate=[100]))


def points():
    return {str(point.variant): point for point in trial.points(TRIAL)}


class Programs(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.object(tls, "FOLDER", Path(folder) / "tls"))
        self.files = {name: job.Job(point).files for name, point in points().items()}

    def test_without_response(self):
        self.assertIn("--response none --t1 500 --invite-size 512 --drain 2", self.files["tcp"]["settings"])

    def test_over_udp_each_needs_one(self):
        self.assertIn("--response 100 --t1 500 --invite-size 512'", self.files["udp"]["settings"])

    def test_a_packet_carries_one_message(self):
        self.assertIn("agent ip route change default via 10.72.1.2 dev left advmss 512 initcwnd 2 quickack 1\n",
                      self.files["tcp"]["setup"])
        self.assertIn("box ip route change default via 10.72.2.2 dev right mtu lock 560\n", self.files["sctp-1"]["setup"])
        self.assertIn("--sctp-sack-delay 0", self.files["sctp-1"]["settings"])
        self.assertNotIn("advmss", self.files["udp"]["setup"])

    def test_a_least_timeout_of_tcp(self):
        setup = {name: job.Job(dataclasses.replace(points()[name], profile="tuned-tcp")).files["setup"] for name in ("tcp", "sctp-1")}
        for end, device in (("agent", "left"), ("box", "right")):
            self.assertRegex(setup["tcp"], rf"(?m)^{end} ip route change default via \S+ dev {device} rto_min 40ms$")
            self.assertIn(f"{end} echo '1' >/proc/sys/net/ipv4/tcp_reordering\n", setup["tcp"])
        self.assertNotRegex(setup["sctp-1"], "rto_min|reordering")

    def test_tls(self):
        found = self.files["tls"]
        self.assertIn("--transport tcp --connect 10.72.2.1 --workload sip", found["settings"])
        self.assertIn("transport=tcp\n", found["settings"])
        words = "--tls-ca $job/certificate.pem --tls-certificate $job/certificate.pem --tls-key $job/key.pem"
        self.assertEqual(found["settings"].count(words), 2)
        self.assertIn("BEGIN CERTIFICATE", found["certificate.pem"])
        self.assertEqual(found["background"], "", "its records cannot be told apart")

    def test_what_the_kernel_does_itself(self):
        usual, replayed = ({name: job.Job(point, replays).files["settings"] for name, point in points().items()} for replays in (False, True))
        self.assertEqual([name for name in usual if usual[name] != replayed[name]], ["tcp", "udp", "sctp-1"])
        server, load = (re.search(rf"(?m)^{end}_command='?(.*?)'?$", replayed["tcp"])[1] for end in ("server", "load"))
        self.assertTrue(server.startswith("simco-replay box simco-sip --transport tcp --listen 10.72.2.1 "))
        plan, own = load.split(" -- ")
        self.assertEqual(plan, server.replace(" box ", " agent "))
        self.assertIn(own, usual["tcp"])
        for changes in (dict(burst=300), dict(network="two-paths", skip_s=0, matrix=dict(variant=["tcp"], profile=["modern"], paths=[2]))):
            self.assertNotIn("simco-replay", job.Job(trial.points(TRIAL, capture=False, **changes)[0], True).files["settings"])

    def test_what_it_does_of_other_workloads(self):
        def replayed(workload, variant, **dimensions):
            matrix = dict(variant=[variant], delay_ms=[10], rate=[10], **{name: [value] for name, value in dimensions.items()})
            sizes = dict(quick=dict(count=1000), full=dict(count=1000))
            [point] = trial.points(dict(workload=workload, matrix=matrix, **sizes))
            return "simco-replay" in job.Job(point, True).files["settings"]

        self.assertTrue(replayed("per", "tcp") and replayed("per", "sctp-16") and replayed("echo", "tcp-4"))
        self.assertFalse(replayed("per", "quic-16") or replayed("echo", "usrsctp-4"))
        self.assertFalse(replayed("per", "tcp", backend="nftables"))
        self.assertFalse(replayed("per", "tcp-4"), "each session would hear of the others' rules")

    def test_captures_at_both_ends(self):
        first, second = self.files["sctp-1"]["background"].splitlines()
        self.assertIn("-s 1600 -B 8192 -i left -w $out/agent.pcap 'ip and dst host 10.72.2.1'", first)
        self.assertIn("-i right -w $out/box.pcap", second)
        self.assertIn("timers agent cat /proc/timer_list\n", self.files["sctp-1"]["collect"])


class Schedules(unittest.TestCase):
    def read(self, **changes):
        return trial.points(TRIAL, **{"capture": None, **changes})[0]

    def test_a_burst_at_the_end(self):
        files = job.Job(self.read(burst=300)).files
        times = [float(line) for line in files["due"].splitlines()]
        self.assertEqual((len(times), times), (1000, sorted(times)))
        self.assertEqual(times[-300:], [times[-1]] * 300)
        self.assertAlmostEqual(times[-301], times[-1] - 1, places=6)
        self.assertAlmostEqual(times[699], 7.0, delta=1.5)
        self.assertIn("--arrivals-file $job/due --warmup", files["settings"])

    def test_a_point_may_stop_before_the_burst(self):
        whole, quiet = (self.read(burst=300, matrix=dict(stop=[stop])) for stop in ("end", "burst"))
        both = [job.Job(point).files["due"].splitlines() for point in (whole, quiet)]
        self.assertEqual((len(both[1]), both[1]), (700, both[0][:700]), "the same arrivals up to there")
        self.assertEqual((whole.sent, quiet.sent), (1000, 700))
        self.assertNotEqual(whole.name, quiet.name)
        self.assertIn("stops before the burst", quiet.place)
        with self.assertRaisesRegex(ValueError, "'stop' burst needs 'burst'"):
            self.read(matrix=dict(stop=["burst"]))

    def test_large_messages(self):
        large = dict(large_size=[16000], profile=["modern"])
        point = self.read(matrix=large, large_over_udp=True)
        self.assertIn("--large-size 16000 --large-every 50", job.Job(point).files["settings"])
        with self.assertRaisesRegex(ValueError, "'capture' needs messages of one size"):
            self.read(matrix=large, capture=True)
        with self.assertRaisesRegex(ValueError, "'burst' must be below the count, 1000"):
            self.read(burst=1000)

    def test_what_captures_cannot_tell_apart_is_refused(self):
        for words, changes in (("variant 'tcp-2': 'capture' cannot tell messages of several", dict(matrix=dict(variant=["tcp-2"]))),
                               ("variant 'sctp-1': .* must be 1452 at most", dict(invite_size=1453)),
                               ("variant 'sctp-1': .* 452 at most", dict(matrix=dict(mtu_to=[500])))):
            with self.assertRaisesRegex(ValueError, words):
                trial.points(TRIAL, **changes)


SAMPLES = """index,tid,stream,scheduled_ns,sent_ns,received_ns,outcome
0,0,0,1000000,1000100,,completed
1,1,0,2000000,2000100,,completed
2,0,0,3000000,,,unanswered
"""


class Deliveries(unittest.TestCase):
    def test_a_call_that_did_not_arrive_has_its_line(self):
        joined = deliveries.join(SAMPLES, {1: (503000000, 2)}, 500000000)
        self.assertEqual(joined.splitlines()[1:], ["0,0,0,1000000,1000100,,completed,,",
                                                   "1,1,0,2000000,2000100,,completed,3000000,2",
                                                   "2,0,0,3000000,,,unanswered,,"])
        self.assertEqual(list(read_samples(joined.splitlines(), "one-way")[1]),
                         [float("inf"), 1.0, float("inf")])

    def test_only_calls_of_the_run_have_arrived(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "arrived.csv"
            path.write_text("call,arrived_ns,copies,run\n1,500,2,9e3779b9\n1,700,1,3c6ef372\n2,800,1,3c6ef372\n")
            self.assertEqual(deliveries.arrivals(path, "3c6ef372"), {1: (700, 1), 2: (800, 1)})

    def test_messages_that_are_not_large(self):
        self.assertEqual(list(deliveries.others(SAMPLES, numpy.array([1.0, 2.0, 3.0]), 2)), [1.0, 3.0])
        self.assertEqual(list(deliveries.others(SAMPLES, numpy.array([1.0, 2.0, 3.0]), 3)), [1.0, 2.0, 3.0])

    def test_goodput(self):
        arrived = (10**9, 3 * 10**9, 4 * 10**9, 12 * 10**9)
        self.assertEqual(deliveries.throughput(arrived, 500, 10**9, (2, 10)), 500 * 2 / 8)
        lines = ['{"at_ns": %d, "flow": 1, "octets": 80}' % (second * 10**9) for second in (2, 3, 4, 11, 12)]
        self.assertEqual(deliveries.cross_goodput(lines, 10**9, (2, 10)), 80 * 2 / 8)

    def test_copies_without_need(self):
        server = {"copies": 2, "transport_stats": {"a": {"received_duplicate_chunks": 3}}}
        self.assertEqual(run_record.wasted(server, {"transport_stats": None}, {"agent": {"TCPDSACKRecv": 4}, "box": {}}), 9)
        self.assertEqual(run_record.wasted({"copies": 0, "transport_stats": {}}, {}, {"agent": {}, "box": {"TCPDSACKRecv": 1}}), 1)

    def test_window(self):
        schedule = "header\n" + "".join(f"{n},{n},0,{n * 10**9 // 2},{n},,unanswered\n" for n in range(25))
        window = deliveries.window_of(points()["tcp"], schedule)
        self.assertEqual(window, (2, 12), "from skip_s to the last message's time")
        due = [time for _, _, time in deliveries.sent(schedule)]
        self.assertEqual(deliveries.throughput(due, 500, 0, window), 500 * 20 / 10)
