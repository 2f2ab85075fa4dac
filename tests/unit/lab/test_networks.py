"""What a point's conditions do to the dumbbell, and what its routers must have counted."""

import json
import tempfile
import unittest
from pathlib import Path

from simco_lab import job, networks, scenario
from simco_lab.errors import BadRun, ScenarioError

TEXT = """\
title = "Trial"
workload = "echo"
network = "dumbbell"
mtu_at_s = 7
[matrix]
variant = ["tcp", "tcp@vegas", "sctp-1"]
profile = ["modern", "2006"]
delay_ms = [20]
rate = [100]
queue = ["pfifo-50"]
link_mbit = [2]
[quick]
count = 1000
[full]
count = 2000
"""
SIP = TEXT.replace('"echo"', '"sip"')
LINE = TEXT.replace('network = "dumbbell"\n', "").replace('queue = ["pfifo-50"]\nlink_mbit = [2]\n', "").replace(
    "mtu_at_s = 7\n", "")


def parse(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.toml"
        path.write_text(text)
        return scenario.read(path)


def files(text, variant="tcp", profile="modern"):
    return job.Job(next(point for point in parse(text).points("quick")
                        if (str(point.variant), point.profile) == (variant, profile))).files


class Setup(unittest.TestCase):
    def test_a_shaped_link_delays_at_its_edges(self):
        setup = files(TEXT)["setup"].splitlines()
        for where in ("router tc qdisc add dev left", "router tc qdisc add dev source", "far tc qdisc add dev right",
                      "far tc qdisc add dev sink"):
            self.assertIn(f"{where} root netem delay 20ms rate 2mbit limit 100000", setup)
        self.assertIn("far tc qdisc add dev middle parent 1: handle 2: pfifo limit 50", setup)

    def test_a_delay_line_is_the_queue(self):
        text = TEXT.replace("pfifo-50", "drd-10-20").replace("link_mbit = [2]", "")
        found = files(text)
        self.assertIn("router tc qdisc add dev middle root netem delay 20ms limit 100000\n", found["setup"])
        self.assertNotIn("dev left root", found["setup"])
        self.assertIn("router tc filter add dev middle egress bpf da object-pinned /run/bpf/drd/enter_request",
                      found["setup"])
        self.assertIn("drd.json router bpftool", found["collect"])

    def test_seeds_of_the_queue_are_those_of_the_point(self):
        text = TEXT.replace("pfifo-50", "drd-10-20").replace("link_mbit = [2]", "")
        self.assertEqual(files(text)["setup"], files(text)["setup"])
        self.assertNotEqual(files(text)["setup"], files(text.replace("mtu_at_s", "seed = 2\nmtu_at_s"))["setup"])

    def test_congestion_control_and_profile(self):
        self.assertIn("agent sysctl -q -w 'net.ipv4.tcp_congestion_control=vegas'", files(TEXT, "tcp@vegas")["setup"])
        old = files(TEXT, "tcp", "2006")["setup"]
        self.assertIn("box ip route change default via 10.72.2.2 dev right initcwnd 3", old)
        self.assertIn("net.ipv4.tcp_congestion_control=bic", old)
        self.assertEqual(files(TEXT, "sctp-1", "2006")["setup"], files(TEXT, "sctp-1")["setup"])

    def test_the_mtu_changes_at_both_ends_of_the_link(self):
        text = TEXT.replace('queue = ["pfifo-50"]\nlink_mbit = [2]', 'mtu_to = [1000]\nfragments = ["drop"]')
        found = files(text)
        self.assertEqual(found["events"], "7 router ip link set middle mtu 1000\n7 far ip link set middle mtu 1000\n")
        self.assertIn("frag-off & 0x1fff != 0", found["far.nft"])
        self.assertNotIn("frag-off", files(TEXT)["far.nft"])

    def test_packets_with_requests_are_counted_on_both_sides_of_the_queue(self):
        found = files(TEXT)
        self.assertIn('forward iifname "left" meta length >= 256 counter name messages', found["arm-messages.nft"])
        self.assertIn('iifname "middle" oifname "right" meta length >= 256 counter name messages', found["arm-far.nft"])
        self.assertIn("counter messages", found["far.nft"])
        order = found["arm"].splitlines()
        self.assertLess(order.index("router nft -f $job/arm.nft"), order.index("router nft -f $job/arm-messages.nft"))

    def test_a_run_of_lost_messages(self):
        text = SIP.replace("rate = [100]", "rate = [100]\nlose_run = [3]").replace("mtu_at_s", "lose_at = 500\nmtu_at_s")
        found = files(text)
        self.assertIn("500 : goto lost-request, 501 : goto lost-request, 502 : goto lost-request", found["loss.nft"])
        self.assertIn('iifname "left" meta length >= 256 jump request', found["arm.nft"])

    def test_the_line_is_as_before(self):
        text = TEXT.replace('network = "dumbbell"\n', "").replace('queue = ["pfifo-50"]\nlink_mbit = [2]\n', "")
        found = files(text)
        self.assertEqual(found["setup"], "router tc qdisc add dev left root netem delay 20ms limit 100000\n"
                         "router tc qdisc add dev right root netem delay 20ms limit 100000\nrouter nft -f $job/loss.nft\n")
        self.assertEqual(found["background"] + found["events"], "")


class Wrong(unittest.TestCase):
    def wrong(self, text, line, words):
        with self.assertRaises(ScenarioError) as caught:
            parse(text)
        self.assertIn(f"trial.toml:{line}: ", str(caught.exception))
        self.assertIn(words, str(caught.exception))

    def test_what_only_the_dumbbell_has(self):
        self.wrong(TEXT.replace('network = "dumbbell"\n', ""), 10, "'link_mbit' is of network dumbbell")
        for line in ('cross = ["tcp-1"]', 'cross_window = [20]', 'mtu_to = [1000]'):
            self.wrong(LINE.replace("rate = [100]", f"rate = [100]\n{line}"), 8, f"'{line.split()[0]}' is of network dumbbell")
        self.wrong(LINE.replace("rate = [100]", 'rate = [100]\nqueue = ["pfifo-50"]'), 8, "'queue' is of network dumbbell")
        self.wrong(TEXT.replace('"dumbbell"', '"star"'), 3, "'network' must be line or dumbbell")

    def test_competing_traffic(self):
        for name, words in (("ftp-1", "unknown cross traffic 'ftp-1'; expected none, tcp-N"),
                            ("tcp-1@turbo", "unknown congestion control 'turbo'")):
            self.wrong(TEXT.replace("rate = [100]", f'rate = [100]\ncross = ["{name}"]'), 10, words)

    def test_queues_and_rates(self):
        self.wrong(TEXT.replace("pfifo-50", "fifo"), 10, "unknown queue 'fifo'; expected none, pfifo-N")
        self.wrong(TEXT.replace("pfifo-50", "drd-20-10"), 10, "thresholds of queue 'drd-20-10' must rise")
        self.wrong(TEXT.replace("link_mbit = [2]\n", ""), 10, "'pfifo-50' is that of a link with a rate")

    def test_congestion_control(self):
        self.wrong(TEXT.replace("tcp@vegas", "tcp@turbo"), 6, "unknown congestion control 'turbo'")
        self.wrong(TEXT.replace("tcp@vegas", "sctp-1@reno"), 6, "only TCP or TLS can have another congestion control")

    def test_runs_of_losses(self):
        text = SIP.replace("rate = [100]", "rate = [100]\nlose_run = [3]").replace("mtu_at_s", "lose_at = 998\nmtu_at_s")
        self.wrong(text, 11, "'lose_run' goes beyond the count")


class Counts(unittest.TestCase):
    def check(self, point, losses, far, dropped, messages=(60, 55)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            counters = [{"counter": {"name": counter, "packets": packets}}
                        for counter, packets in {"fragments": 0, "messages": messages[1], **far}.items()]
            near = [{"counter": {"name": "messages", "packets": messages[0]}}]
            (folder / "drops.json").write_text(json.dumps({"nftables": near}))
            (folder / "drops.far.json").write_text(json.dumps({"nftables": counters}))
            for router in networks.ROUTERS:
                entry = {"kind": "pfifo", "handle": "2:", "dev": "middle", "drops": dropped, "options": {"limit": 50}}
                (folder / f"qdisc.{router}.json").write_text(json.dumps([entry]))
            return networks.dumbbell_check(folder, point, losses)

    def test_what_the_queue_did_to_the_flow(self):
        point = next(parse(TEXT).points("quick"))
        found = self.check(point, {"request": (100, 10), "reply": (70, 5)}, {"request": 80, "reply": 72}, 15)
        self.assertEqual(found["lost"], {"request": 10, "reply": 2})
        self.assertEqual(found["entered"], {"request": 90, "reply": 72})
        self.assertEqual(found["dropped"], {"request": 15, "reply": 15})
        self.assertEqual(found["messages"], {"entered": 60, "lost": 5})
        with self.assertRaisesRegex(BadRun, "20 packets with requests did not pass the queue, which dropped 15"):
            self.check(point, {"request": (100, 10), "reply": (70, 5)}, {"request": 80, "reply": 72}, 15, (60, 40))

    def test_a_packet_that_nobody_dropped_is_missing(self):
        point = next(parse(TEXT).points("quick"))
        with self.assertRaisesRegex(BadRun, "10 packets of 'request' did not pass the queue, which dropped 3"):
            self.check(point, {"request": (100, 10), "reply": (70, 5)}, {"request": 80, "reply": 72}, 3)


if __name__ == "__main__":
    unittest.main()
