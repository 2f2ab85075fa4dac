"""Queues of the dumbbell: their names, their commands, and what the kernel must have counted."""

import unittest

import drd_model
from simco_lab.errors import BadRun
from simco_lab.scenario import drd, queues
from simco_lab.scenario.queues import Queue


class Names(unittest.TestCase):
    def test_a_name_is_what_it_says(self):
        for name, kind, numbers in (("none", "none", ()), ("pfifo-50", "pfifo", (50,)), ("drd-10-20", "drd", (10, 20)),
                                    ("fq_codel", "fq_codel", ())):
            queue = Queue.parse(name)
            self.assertEqual((queue.kind.name, queue.numbers, str(queue)), (kind, numbers, name))

    def test_other_names_are_refused(self):
        for name in ("", "pfifo", "pfifo-0", "pfifo-05", "pfifo-1-2", "pfifo-x", "drd-10", "red-5", "pfifo-1000000", 5):
            with self.assertRaisesRegex(ValueError, "unknown queue .*; expected none, pfifo-N, drd-MIN-MAX"):
                Queue.parse(name)
        for name in ("drd-20-10", "drd-10-10"):
            with self.assertRaisesRegex(ValueError, "thresholds of queue"):
                Queue.parse(name)

    def test_a_rate_goes_with_a_shaped_queue(self):
        queues.check_link(Queue.parse("pfifo-5"), 2.0)
        queues.check_link(Queue.parse("drd-10-20"), 0.0)
        for name, mbit in (("pfifo-5", 0.0), ("none", 2.0), ("drd-10-20", 2.0)):
            with self.assertRaisesRegex(ValueError, "link_mbit"):
                queues.check_link(Queue.parse(name), mbit)


class Commands(unittest.TestCase):
    def test_a_queue_is_below_a_shaper_unless_it_has_one(self):
        shaper, child = Queue.parse("pfifo-50").commands("middle", 1.7)
        self.assertIn("tbf rate 1.7mbit", shaper)
        self.assertTrue(child.endswith("parent 1: handle 2: pfifo limit 50"))
        self.assertEqual(Queue.parse("cake").commands("middle", 2.0),
                         ["tc qdisc add dev middle root handle 2: cake bandwidth 2mbit besteffort"])
        self.assertEqual(Queue.parse("drd-10-20").commands("middle", 0.0), [])


def entry(kind, handle, drops=0, dev="middle", **options):
    return {"kind": kind, "handle": handle, "dev": dev, "drops": drops, "options": options}


class Counts(unittest.TestCase):
    fifo = Queue.parse("pfifo-50")

    def test_what_the_queue_dropped(self):
        listed = [entry("tbf", "1:", 7), entry("pfifo", "2:", 7, limit=50), entry("netem", "8001:", dev="left")]
        self.assertEqual(queues.check_counts(self.fifo, listed, "middle"), 7)

    def test_a_run_with_another_queue_is_thrown_away(self):
        for listed, words in (
                ([entry("netem", "8001:")], "is not pfifo-50"),
                ([entry("pfifo", "2:", limit=5)], "holds 5 packets, not 50"),
                ([entry("pfifo", "2:", limit=50), entry("netem", "8001:", 3, dev="left")], "netem on 'left' dropped 3")):
            with self.assertRaisesRegex(BadRun, words):
                queues.check_counts(self.fifo, listed, "middle")

    def test_the_programs_before_a_delay_line_drop(self):
        queue = Queue.parse("drd-10-20")
        self.assertEqual(queues.check_counts(queue, [entry("clsact", "ffff:", 9), entry("netem", "1:")], "middle"), 0)


def line(**changed):
    return {**dict.fromkeys(drd.FIELDS, 0), "min": 10, "max": 20, "in": 5, "out": 5, "deepest": 15, **changed}


class Drd(unittest.TestCase):
    def model(self, low=10, high=20, delay_ns=20_000_000):
        return drd_model.Model(low, high, 88172645463325252, delay_ns)

    def test_below_the_first_threshold_nothing_is_dropped(self):
        # 10 packets are under way when the next one comes: 500/s, 20 ms.
        self.assertEqual(self.model().drops([number * 2_000_000 for number in range(5000)]), [])

    def test_the_delay_line_is_between_the_thresholds(self):
        arrivals = [number * 1_000_000 for number in range(20000)]
        lost = self.model().drops(arrivals)
        # Without drops 20 would be under way. In balance with n of them: 1 - p(n) = n / 20, p(n) = 0.095 (n - 10).
        balance = (1 + 0.95) / (1 / 20 + 0.095)
        self.assertAlmostEqual(len(lost) / len(arrivals), 1 - balance / 20, delta=0.03)

    def test_at_most_95_percent(self):
        lost = self.model(1, 2, 10**12).drops(list(range(20000)))
        self.assertAlmostEqual(len(lost) / 20000, 0.95, delta=0.01)

    def test_random_numbers(self):
        # xorshift64* from the state 1: the first state is 0x2000001, by hand.
        model = drd_model.Model(1, 2, 1, 1)
        self.assertEqual(model.random32(), ((0x2000001 * 2685821657736338717) % 2**64) >> 32)

    def test_octets_are_those_of_the_processor(self):
        self.assertEqual(drd.octets((258,)), "02 01 00 00 00 00 00 00")

    def test_counts_that_contradict_are_refused(self):
        drd.check_counts({"request": line()}, 10, 20, {"request": 0})
        drd.check_counts({"request": line(out=4)}, 10, 20, {"request": 1})
        for changed, words in (({"min": 9}, "thresholds of 'request' were 9-20"), ({"out": 4}, "5 packets .* 4 left"),
                               ({"deepest": 10, "dropped": 1}, "from a queue of 10")):
            with self.assertRaisesRegex(BadRun, words):
                drd.check_counts({"request": line(**changed)}, 10, 20, {"request": 0})
