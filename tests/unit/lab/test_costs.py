"""What a transaction costs, from what the guest's kernel and its router counted."""

import json
import math
import tempfile
import unittest
from pathlib import Path

import numpy

from simco_lab.measure import costs
from simco_lab.measure.quantities import QUANTITIES
from simco_lab.measure.combination import Run
from simco_lab.scenario.points import Point
from simco_lab.scenario.variant import Variant

TIMERS = """\
Timer List Version: v0.9
HRTIMER_MAX_CLOCK_BASES: 8
now at {now} nsecs

cpu: 0
 clock 0:
  .index:      0
  .nohz_mode      : 2
  .idle_tick      : 32968000000 nsecs
  .idle_entrytime : 32969051024 nsecs
  .idle_sleeptime : {idle} nsecs
  .iowait_sleeptime: 5 nsecs
"""


class OfATransaction(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        counted = {"seen-request": (150, 15000), "lost-request": (7, 700), "seen-reply": (100, 9000)}
        entries = [{"counter": {"name": name, "packets": packets, "bytes": octets}}
                   for name, (packets, octets) in counted.items()]
        (self.folder / "drops.json").write_text(json.dumps({"nftables": [{"metainfo": {}}, *entries]}))

    def cost(self, **values):
        point = Point(variant=Variant.parse("tcp"), scenario="trial", count=40, replication=0, workload="per",
                      arrivals="poisson", warmup=10, base_seed=1, **values)
        return costs.of_transaction(self.folder, point, "drops.json")

    def timers(self):
        (self.folder / "timers.before").write_text(TIMERS.format(now=2_000_000, idle=1_500_000))
        (self.folder / "timers.after").write_text(TIMERS.format(now=12_000_000, idle=6_500_000))

    def test_packets_and_octets_of_both_directions(self):
        self.assertEqual(self.cost(), {"packets": 5.0, "octets": 480.0})

    def test_counters_of_requests_only_tell_nothing(self):
        self.assertEqual(self.cost(lose="messages"), {})

    def test_time_in_which_the_processor_was_not_idle(self):
        self.timers()
        self.assertEqual(self.cost()["busy_us"], (10_000 - 5_000) / 50)
        self.assertEqual(list(self.folder.glob("timers.*")), [])

    def test_quantities(self):
        self.timers()
        known, older = Run(numpy.ones(40), {"cost": self.cost()}), Run(numpy.ones(40), {})
        for name, value in (("busy", 100.0), ("packets", 5.0), ("octets", 480.0)):
            self.assertEqual(QUANTITIES[name].of_run(known), value)
            self.assertTrue(math.isnan(QUANTITIES[name].of_run(older)))
