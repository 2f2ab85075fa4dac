"""What a point's conditions do to the networks, and what their routers must have counted."""

import json
import tempfile
import unittest
from pathlib import Path

from simco_lab.errors import BadRun
from simco_lab.run import job
from simco_lab.scenario import drd, networks
from trial import points

TRIAL = dict(workload="echo", network="dumbbell", mtu_at_s=7, quick=dict(count=1000), full=dict(count=2000),
             matrix=dict(variant=["tcp", "tcp@vegas", "sctp-1"], profile=["modern", "2006"], delay_ms=[20], rate=[100],
                         queue=["pfifo-50"], link_mbit=[2]))
NO_LINK = dict(queue=None, link_mbit=None)
ON_A_LINE = dict(network=None, mtu_at_s=None, matrix=NO_LINK)
TWO_PATHS = dict(workload="per", network="two-paths", fail_at_s=2, quick=dict(count=1000), full=dict(count=1000),
                 matrix=dict(variant=["tcp", "tcp-2", "mptcp", "sctp-1"], delay_ms=[20], rate=[100], paths=[1, 2],
                             failure=["none", "down-3", "silent-3", "lossy-3", "requests-3"]))
DRD = dict(queue=["drd-10-20"], link_mbit=None)


def files(variant="tcp", profile="modern", **changes):
    return job.Job(next(point for point in points(TRIAL, **changes)
                        if (str(point.variant), point.profile) == (variant, profile))).files


class Setup(unittest.TestCase):
    def test_a_shaped_link_delays_at_its_edges(self):
        setup = files()["setup"].splitlines()
        for where in ("router tc qdisc add dev left", "router tc qdisc add dev source", "far tc qdisc add dev right",
                      "far tc qdisc add dev sink"):
            self.assertIn(f"{where} root netem delay 20ms rate 2mbit limit 100000", setup)
        self.assertIn("far tc qdisc add dev middle parent 1: handle 2: pfifo limit 50", setup)

    def test_a_delay_line_is_the_queue(self):
        found = files(matrix=DRD)
        self.assertIn("router tc qdisc add dev middle root netem delay 20ms limit 100000\n", found["setup"])
        self.assertNotIn("dev left root", found["setup"])
        self.assertIn("router tc filter add dev middle egress bpf da object-pinned /run/bpf/drd/enter_request",
                      found["setup"])
        self.assertIn("drd.json router bpftool", found["collect"])

    def test_seeds_of_the_queue_are_those_of_the_point(self):
        self.assertEqual(files(matrix=DRD)["setup"], files(matrix=DRD)["setup"])
        self.assertNotEqual(files(matrix=DRD)["setup"], files(matrix=DRD, seed=2)["setup"])

    def test_congestion_control_and_profile(self):
        self.assertIn("agent echo 'vegas' >/proc/sys/net/ipv4/tcp_congestion_control", files("tcp@vegas")["setup"])
        old = files("tcp", "2006")["setup"]
        self.assertIn("box ip route change default via 10.72.2.2 dev right initcwnd 3", old)
        self.assertIn("agent echo 'bic' >/proc/sys/net/ipv4/tcp_congestion_control\n", old)
        self.assertEqual(files("sctp-1", "2006")["setup"], files("sctp-1")["setup"])

    def test_the_mtu_changes_at_both_ends_of_the_link(self):
        found = files(matrix=dict(queue=None, link_mbit=None, mtu_to=[1000], fragments=["drop"]))
        self.assertEqual(found["events"], "7 router ip link set middle mtu 1000\n7 far ip link set middle mtu 1000\n")
        self.assertIn("frag-off & 0x1fff != 0", found["far.nft"])
        self.assertNotIn("frag-off", files()["far.nft"])

    def test_packets_with_requests_are_counted_on_both_sides_of_the_queue(self):
        found = files()
        self.assertIn('forward iifname "left" meta length >= 256 counter name messages', found["arm-messages.nft"])
        self.assertIn('iifname "middle" oifname "right" meta length >= 256 counter name messages', found["arm-far.nft"])
        self.assertIn("counter messages", found["far.nft"])
        order = found["arm"].splitlines()
        self.assertLess(order.index("router nft -f $job/arm.nft"), order.index("router nft -f $job/arm-messages.nft"))

    def test_a_run_of_lost_messages(self):
        found = files(workload="sip", lose_at=500, matrix=dict(lose_run=[3]))
        self.assertIn("500 : goto lost-request, 501 : goto lost-request, 502 : goto lost-request", found["loss.nft"])
        self.assertIn('iifname "left" meta length >= 256 jump request', found["arm.nft"])

    def test_the_line_is_as_before(self):
        found = files(**ON_A_LINE)
        self.assertEqual(found["setup"], "router tc qdisc add dev left root netem delay 20ms limit 100000\n"
                         "router tc qdisc add dev right root netem delay 20ms limit 100000\nrouter nft -f $job/loss.nft\n")
        self.assertEqual(found["background"] + found["events"], "")


class Wrong(unittest.TestCase):
    def wrong(self, words, **changes):
        with self.assertRaises(ValueError) as caught:
            points(TRIAL, **changes)
        self.assertIn(words, str(caught.exception))

    def test_what_only_the_dumbbell_has(self):
        self.wrong("'link_mbit' is of network dumbbell", network=None)
        for key, value in (("cross", "tcp-1"), ("cross_window", 20), ("mtu_to", 1000), ("queue", "pfifo-50")):
            self.wrong(f"'{key}' is of network dumbbell", network=None, matrix={**NO_LINK, key: [value]})
        self.wrong("'network' must be line, dumbbell or two-paths", network="star")

    def test_names_and_rates(self):
        for words, changed in (("unknown cross traffic 'ftp-1'; expected none, tcp-N", dict(cross=["ftp-1"])),
                               ("unknown congestion control 'turbo'", dict(cross=["tcp-1@turbo"])),
                               ("unknown queue 'fifo'; expected none, pfifo-N", dict(queue=["fifo"])),
                               ("'pfifo-50' is that of a link with a rate", dict(link_mbit=None)),
                               ("unknown congestion control 'turbo'", dict(variant=["tcp@turbo"])),
                               ("only TCP or TLS can have another congestion control", dict(variant=["sctp-1@reno"]))):
            self.wrong(words, matrix=changed)

    def test_runs_of_losses(self):
        self.wrong("'lose_run' goes beyond the count", workload="sip", lose_at=998, matrix=dict(lose_run=[3]))


def job_of(variant="tcp", failure="none", paths=2):
    return job.Job(next(point for point in points(TWO_PATHS)
                        if (str(point.variant), point.failure, point.paths) == (variant, failure, paths)))


class TwoPaths(unittest.TestCase):
    def load(self, *which):
        return job_of(*which).files["settings"].split("load_command=")[1].splitlines()[0]

    def test_programs_know_one_path_or_both(self):
        self.assertIn("--connect 10.73.2.1 --bind 10.73.1.1 --workload", self.load("tcp", "none", 1))
        self.assertIn("--connect 10.73.2.1,10.73.4.1 --reconnect --workload", self.load())
        self.assertIn("--reconnect --move-after 0.2 --workload", self.load("tcp-2"))
        self.assertIn("--listen 10.73.2.1,10.73.4.1", job_of().files["settings"])

    def test_a_connection_of_two_paths_needs_the_kernel_to_know_them(self):
        self.assertIn("'mptcpize run simco-loadgen --transport tcp ", self.load("mptcp"))
        self.assertIn("box ip mptcp endpoint add 10.73.4.1 signal\n", job_of("mptcp").files["setup"])
        self.assertNotIn("mptcp", job_of("mptcp", "none", 1).files["setup"])

    def test_a_link_goes_down_and_gets_its_route_back(self):
        files = job_of("tcp", "down-3").files
        self.assertEqual(files["events"], "2 agent ip link set left down\n5 agent ip -batch $job/up\n")
        self.assertIn("route replace default via 10.73.1.2 dev left", files["up"])

    def test_a_path_drops_packets_for_a_time(self):
        files = job_of("tcp", "silent-3").files
        self.assertEqual(files["events"], "2 router nft -f $job/fail.nft\n5 router nft flush chain ip failure forward\n")
        self.assertEqual(files["fail.nft"].count("counter name failed drop"), 2)
        self.assertEqual(job_of("tcp", "requests-3").files["fail.nft"],
                         'add rule ip failure forward iifname "left" counter name failed drop\n')
        self.assertIn('iifname "right" jump reply', job_of("tcp", "lossy-3").files["fail.nft"])
        self.assertEqual(job_of().files["events"], "")

    def test_a_failure_drops_packets_and_nothing_else_does(self):
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "drops.json").write_text(json.dumps({"nftables": [{"counter": {"name": "failed", "packets": 7}}]}))
            self.assertEqual(networks.two_paths_check(Path(name), job_of("tcp", "silent-3").point, None), {"failed": 7})
            for failure in ("none", "down-3"):
                with self.assertRaisesRegex(BadRun, f"the failure '{failure}' dropped 7 packets"):
                    networks.two_paths_check(Path(name), job_of("tcp", failure).point, None)

    def test_obstacles(self):
        for words, changed in (("unknown failure 'slow-3'; expected none, down-S, silent-S", dict(failure=["slow-3"])),
                               ("'failure' silent-8 ends after the run: it begins at 'fail_at_s', 2", dict(failure=["silent-8"])),
                               ("'paths' must be a whole number from 1 to 2", dict(paths=[3])),
                               ("profile '2006' changes routes", dict(profile=["2006"])),
                               ("'queue' is of network dumbbell", dict(queue=["pfifo-5"]))):
            with self.assertRaises(ValueError) as caught:
                points(TWO_PATHS, matrix=changed)
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(ValueError, "'failure' is of network two-paths"):
            points(TRIAL, matrix=dict(failure=["silent-3"]))


class Counts(unittest.TestCase):
    def check(self, point, losses, far, dropped, messages=(60, 55), waiting=0):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            counters = [{"counter": {"name": counter, "packets": packets}}
                        for counter, packets in {"fragments": 0, "messages": messages[1], **far}.items()]
            near = [{"counter": {"name": "messages", "packets": messages[0]}}]
            (folder / "drops.json").write_text(json.dumps({"nftables": near}))
            (folder / "drops.far.json").write_text(json.dumps({"nftables": counters}))
            for router in networks.ROUTERS:
                queue = {"kind": "pfifo", "handle": "2:", "dev": "middle", "drops": dropped, "options": {"limit": 50}}
                line = {"kind": "netem", "handle": "8001:", "dev": "middle", "drops": 0, "qlen": waiting}
                (folder / f"qdisc.{router}.json").write_text(json.dumps([line if point.queue.startswith("drd") else queue]))
            counted = {**dict.fromkeys(drd.FIELDS, 0), "min": 10, "max": 20, "in": 99, "out": 99 - waiting}
            (folder / "drd.json").write_text(json.dumps([{"formatted": {"value": counted}}] * 2))
            return networks.dumbbell_check(folder, point, losses)

    def test_what_the_queue_did_to_the_flow(self):
        point = points(TRIAL)[0]
        found = self.check(point, {"request": (100, 10), "reply": (70, 5)}, {"request": 80, "reply": 72}, 15)
        self.assertEqual(found["lost"], {"request": 10, "reply": 2})
        self.assertEqual(found["entered"], {"request": 90, "reply": 72})
        self.assertEqual(found["dropped"], {"request": 15, "reply": 15})
        self.assertEqual(found["messages"], {"entered": 60, "lost": 5})
        with self.assertRaisesRegex(BadRun, "20 packets with requests did not pass the queue, which dropped 15"):
            self.check(point, {"request": (100, 10), "reply": (70, 5)}, {"request": 80, "reply": 72}, 15, (60, 40))

    def test_a_packet_that_nobody_dropped_is_missing(self):
        point = points(TRIAL)[0]
        with self.assertRaisesRegex(BadRun, "10 packets of 'request' did not pass the queue, which dropped 3"):
            self.check(point, {"request": (100, 10), "reply": (70, 5)}, {"request": 80, "reply": 72}, 3)

    def test_a_packet_that_is_still_under_way_is_not_missing(self):
        point, losses, far = points(TRIAL, matrix=DRD)[0], {"request": (100, 10), "reply": (70, 5)}, {"request": 89, "reply": 71}
        self.assertEqual(self.check(point, losses, far, 0, (60, 59), waiting=1)["lost"], {"request": 0, "reply": 0})
        arrived = {"request": 90, "reply": 70}  # another flow's packet
        self.assertEqual(self.check(point, losses, arrived, 0, (60, 60), waiting=1)["lost"], {"request": 0, "reply": 0})
        with self.assertRaisesRegex(BadRun, "1 packets of 'request' did not pass the queue, which dropped 0"):
            self.check(point, losses, far, 0)
