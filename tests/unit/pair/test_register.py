"""The judge of the pair's campaign: hand-made histories, legal and illegal."""
import math
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/campaigns"))
from pair_history.excuses import Course, taken_back  # noqa: E402
from pair_history.operation import DELETE, ENABLE, EXTEND, OFF, ON, STORE_FAILS, Operation  # noqa: E402
from pair_history.register import Search, Slack, Undoing  # noqa: E402


COURSE = Course(replicas=True, durable=True, marks=[], period=0.5, takeovers=[], splits=[], restarts=[], faults=[(4, 20, "disk", 1)])


def enable(begin, end, lifetime=600, port=20001):
    return Operation(ENABLE, begin, end, lifetime, port)


def extend(begin, end, lifetime=600):
    return Operation(EXTEND, begin, end, lifetime)


def delete(begin, end):
    return Operation(DELETE, begin, end)


def on(begin, end, port=None):
    return Operation(ON, begin, end, 0, port)


def off(begin, end):
    return Operation(OFF, begin, end)


def legal(*operations, undoings=(), slack=Slack(1, 1)):
    return Search(operations, undoings, slack).run()


class WithoutFaults(unittest.TestCase):
    def test_a_life(self):
        self.assertTrue(legal())
        self.assertTrue(legal(off(0, 1), enable(2, 3), on(4, 5), extend(6, 7), on(8, 9), delete(10, 11), off(12, 13)))

    def test_nothing_is_there_before_it_is_asked_for(self):
        self.assertFalse(legal(on(0, 1), enable(2, 3)))
        self.assertFalse(legal(extend(0, 1), enable(2, 3)))
        self.assertFalse(legal(on(0, 1)))

    def test_overlapping_operations_may_have_either_order(self):
        self.assertTrue(legal(on(2.5, 2.6), enable(2, 3)))
        self.assertTrue(legal(enable(0, 1), delete(2, 5), on(3, 4)))
        self.assertTrue(legal(enable(0, 1), delete(2, 5), off(3, 4)))
        self.assertTrue(legal(enable(0, 1), delete(2, 5), on(3, 3.2), off(4, 4.2)))
        self.assertFalse(legal(enable(0, 1), delete(2, 5), off(3, 3.2), on(4, 4.2)))

    def test_deletions_hold(self):
        self.assertFalse(legal(enable(0, 1), delete(2, 3), on(4, 5)))
        self.assertFalse(legal(enable(0, 1), delete(2, 3), extend(4, 5)))
        self.assertFalse(legal(enable(0, 1), delete(2, 3), delete(4, 5)))

    def test_rules_hold(self):
        self.assertFalse(legal(enable(0, 1), off(2, 3)))
        self.assertFalse(legal(enable(0, 1), off(2, 3), on(4, 5)))

    def test_a_probe_knows_its_rule_by_the_port(self):
        self.assertTrue(legal(enable(0, 1, port=20001), on(2, 3, port=20001)))
        self.assertFalse(legal(enable(0, 1, port=20001), on(2, 3, port=20002)))


class Lifetimes(unittest.TestCase):
    def test_rules_end(self):
        self.assertTrue(legal(enable(0, 1, 10), on(8, 8.5), off(13, 14)))
        self.assertFalse(legal(enable(0, 1, 10), on(13, 14)))
        self.assertFalse(legal(enable(0, 1, 10), off(5, 6)))

    def test_either_is_right_about_the_end(self):
        self.assertTrue(legal(enable(0, 1, 10), on(10.5, 10.6)))
        self.assertTrue(legal(enable(0, 1, 10), off(10.5, 10.6)))
        self.assertTrue(legal(enable(0, 1, 10), off(10.5, 10.6), on(10.7, 10.8)))
        self.assertFalse(legal(enable(0, 1, 10), off(10.5, 10.6), on(12.7, 12.8)))

    def test_the_last_extension_counts(self):
        self.assertTrue(legal(enable(0, 1, 10), extend(5, 6, 20), on(22, 23)))
        self.assertFalse(legal(enable(0, 1, 10), extend(5, 6, 20), on(30, 31)))
        self.assertTrue(legal(enable(0, 1, 600), extend(5, 6, 5), off(20, 21)))
        self.assertFalse(legal(enable(0, 1, 600), extend(5, 6, 5), on(20, 21)))


    def test_an_extension_in_time_may_take_longer_than_the_lifetime(self):
        life = (enable(0, 1, 10), extend(9, 15, 600))
        self.assertTrue(legal(*life, off(13, 14), on(16, 17)))
        self.assertFalse(legal(*life, off(5, 6), on(16, 17)))
        self.assertFalse(legal(*life, off(13, 14), off(16, 17)))
        self.assertFalse(legal(enable(0, 1, 10), off(13, 14), extend(15, 16, 600)))


class WithoutAnswers(unittest.TestCase):
    def test_they_may_happen_or_not(self):
        lost = delete(2, math.inf)
        self.assertTrue(legal(enable(0, 1), lost, on(10, 11)))
        self.assertTrue(legal(enable(0, 1), lost, off(10, 11)))
        self.assertTrue(legal(enable(0, 1), lost, on(5, 6), off(10, 11)))
        self.assertFalse(legal(enable(0, 1), lost, off(5, 6), on(10, 11)))
        self.assertFalse(legal(enable(0, 1), off(0.5, 1.5), lost, off(1.6, 1.9)))

    def test_a_rule_may_come_of_it(self):
        self.assertTrue(legal(enable(0, math.inf), on(5, 6), delete(7, 8), off(9, 10)))
        self.assertTrue(legal(enable(0, math.inf), off(5, 6)))
        self.assertFalse(legal(enable(7, math.inf), on(5, 6)))


class Undone(unittest.TestCase):
    def test_only_what_is_newer(self):
        window = Undoing(since=2, begin=10, end=12)
        self.assertTrue(legal(enable(2.5, 3), off(13, 14), undoings=(window,)))
        self.assertFalse(legal(enable(0, 1), off(13, 14), undoings=(window,)))
        self.assertTrue(legal(enable(0, 1), delete(2.5, 3), off(5, 6), on(13, 14), undoings=(window,)))
        self.assertFalse(legal(enable(0, 1), delete(1.2, 1.5), on(13, 14), undoings=(window,)))

    def test_only_in_its_time(self):
        window = Undoing(since=2, begin=10, end=12)
        self.assertFalse(legal(enable(2.5, 3), off(8, 9), undoings=(window,)))
        self.assertFalse(legal(enable(2.5, 3), on(13, 14), off(15, 16), undoings=(window,)))
        self.assertTrue(legal(enable(2.5, 3), on(10.5, 10.6), off(15, 16), undoings=(window,)))
        self.assertFalse(legal(enable(2.5, 3), delete(4, 5), on(13, 14), off(15, 16), undoings=(window,)))

    def test_an_extension(self):
        window = Undoing(since=2, begin=10, end=12)
        life = (enable(0, 1, 15), extend(3, 4, 600), off(20, 21))
        self.assertFalse(legal(*life))
        self.assertTrue(legal(*life, undoings=(window,)))

    def test_grants_hold_where_the_replica_is_waited_for(self):
        window = Undoing(since=2, begin=10, end=12, ends_only=True)
        self.assertFalse(legal(enable(2.5, 3), off(13, 14), undoings=(window,)))
        self.assertTrue(legal(enable(0, 1), delete(2.5, 3), on(13, 14), undoings=(window,)))
        self.assertTrue(legal(enable(2.5, 3), delete(4, 5), on(13, 14), undoings=(window,)))
        self.assertFalse(legal(enable(0, 1, 15), extend(3, 4, 600), off(20, 21), undoings=(window,)))

    def test_a_shorter_lifetime_is_an_end(self):
        window = Undoing(since=2, begin=10, end=12, ends_only=True)
        self.assertTrue(legal(enable(0, 1, 600), extend(3, 4, 5), on(20, 21), undoings=(window,)))

    def test_it_may_have_happened_before_what_was_seen_in_its_time(self):
        window = Undoing(since=2, begin=10, end=12)
        self.assertTrue(legal(enable(0, 1, 600), extend(3, 4, 10), on(13, 14), on(20, 21), undoings=(window,)))

    def test_the_identifier_is_given_again(self):
        window = Undoing(since=2, begin=10, end=12)
        life = (enable(2.5, 3, port=20001), enable(13, 14, port=20002), on(15, 16, port=20002))
        self.assertFalse(legal(*life))
        self.assertTrue(legal(*life, undoings=(window,)))
        self.assertFalse(legal(*life, on(17, 18, port=20001), undoings=(window,)))

    def test_a_refused_extension_is_taken_back(self):
        refused = Operation(EXTEND, 5, math.inf, 900, None, STORE_FAILS)
        life = (enable(0, 1, 600), extend(3, 4, 5), refused, on(20, 21), off(22, 23))
        self.assertFalse(legal(*life))
        self.assertTrue(legal(*life, undoings=taken_back(COURSE, life)))
        # Only that is, and nothing comes back.
        self.assertFalse(legal(*life, on(24, 25), undoings=taken_back(COURSE, life)))
        late = (enable(0, 1, 60), refused, on(700, 701), off(702, 703))
        self.assertFalse(legal(*late, undoings=taken_back(COURSE, late)))
        deleted = (enable(0, 1, 600), refused, delete(7, 8), on(9, 10))
        self.assertFalse(legal(*deleted, undoings=taken_back(COURSE, deleted)))

    def test_two_boxes_at_once(self):
        split = Undoing(since=5, begin=6, end=20)
        life = (enable(0, 1), delete(7, 8), extend(9, 10), off(11, 12), on(13, 14))
        self.assertFalse(legal(*life))
        self.assertTrue(legal(*life, undoings=(split,)))
        self.assertFalse(legal(*life, on(21, 22), off(23, 24), undoings=(split,)))


if __name__ == "__main__":
    unittest.main()
