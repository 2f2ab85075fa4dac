"""Competing traffic: its names, its programs, and the TCP of its ends."""

import unittest

from simco_lab.run import job
from simco_lab.scenario.cross import Cross
from trial import points

TRIAL = dict(workload="echo", network="dumbbell", quick=dict(count=100), full=dict(count=200),
             matrix=dict(variant=["tcp"], profile=["2006"], delay_ms=[20], queue=["pfifo-50"], link_mbit=[2]))


def files(cross, matrix=None, **changes):
    return job.Job(points(TRIAL, matrix={"cross": [cross], **(matrix or {})}, **changes)[0]).files


class Names(unittest.TestCase):
    def test_a_name_is_what_it_says(self):
        for name, kind, number, congestion in (("none", "none", 0, ""), ("tcp-2", "tcp", 2, ""),
                                               ("tcp-1@reno", "tcp", 1, "reno"), ("web-3", "web", 3, "")):
            cross = Cross.parse(name)
            self.assertEqual((cross.kind.name, cross.number, cross.congestion), (kind, number, congestion))

    def test_other_names_are_refused(self):
        for name in ("", "tcp", "tcp-0", "tcp-x", "none-1", "web-3@reno", "tcp-1@", "ftp-1", 3):
            with self.assertRaises(ValueError):
                Cross.parse(name)


class Programs(unittest.TestCase):
    def test_bulk_runs_ahead(self):
        found = files("tcp-2")
        self.assertEqual(found["background"].splitlines()[0],
                         "cross.sink.listen listening sink simco-cross listen --listen 10.72.4.1")
        self.assertIn("bulk --connect 10.72.4.1 --connections 2 --from 0 --for", found["background"])
        self.assertIn("lead=10\n", found["settings"])

    def test_or_is_part_of_the_run(self):
        found = files("tcp-1", cross_from_s=20, cross_for_s=15)
        self.assertIn("--from 20 --for 15\n", found["background"])
        self.assertIn("lead=0\n", found["settings"])

    def test_web_data_goes_the_way_of_the_requests(self):
        background = files("web-3")["background"].splitlines()
        self.assertIn(" source simco-cross listen --listen 10.72.3.1", background[0])
        self.assertIn(" sink simco-cross web --connect 10.72.3.1 --sessions 3", background[1])

    def test_without_it_nothing_runs(self):
        self.assertEqual(files("none")["background"], "")


class Ends(unittest.TestCase):
    def test_profile(self):
        setup = files("tcp-1")["setup"]
        for text in ("source echo 'bic' >/proc/sys/net/ipv4/tcp_congestion_control",
                     "sink echo '4096 87380 174760' >/proc/sys/net/ipv4/tcp_rmem",
                     "source ip route change default via 10.72.3.2 dev source initcwnd 3"):
            self.assertIn(text + "\n", setup)
        self.assertNotRegex(setup, "agent echo .*tcp_rmem")

    def test_congestion_control_of_its_own(self):
        setup = files("tcp-1@reno")["setup"]
        self.assertIn("source echo 'reno' >/proc/sys/net/ipv4/tcp_congestion_control\n", setup)
        self.assertIn("agent echo 'bic' >/proc/sys/net/ipv4/tcp_congestion_control\n", setup)

    def test_window(self):
        self.maxDiff = None
        setup = files("tcp-1", matrix=dict(cross_window=[20]))["setup"]
        self.assertIn("sink echo '38400 38400 38400' >/proc/sys/net/ipv4/tcp_rmem\n", setup)
        self.assertIn("sink ip route change default via 10.72.4.2 dev sink initcwnd 3 advmss 960\n", setup)
        self.assertIn("source ip route change default via 10.72.3.2 dev source initcwnd 3\n", setup)
