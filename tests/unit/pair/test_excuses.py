"""The excuses of the pair's campaign: documented, and no wider than documented."""
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/campaigns"))
from pair_history.excuses import LEASE, SENTENCES, Course, excuses_of, slack_of  # noqa: E402
from pair_history.observer import reigns  # noqa: E402
from pair_history.run import overlaps  # noqa: E402
from pair_history.schedule import draw  # noqa: E402


def course(**changes):
    usual = {"replicas": False, "durable": True, "marks": [1.0, 2.0], "period": 0.5, "takeovers": [], "splits": [],
             "restarts": [], "faults": []}
    return Course(**{**usual, **changes})


def of(reason, **changes):
    return [one for one in excuses_of(course(**changes)) if one.reason == reason]


class Documented(unittest.TestCase):
    def test_each_sentence_is_in_its_document(self):
        for name, (document, sentence) in SENTENCES.items():
            text = " ".join((ROOT / document).read_text().split())
            self.assertIn(sentence, text, name)

    def test_each_excuse_has_a_sentence(self):
        full = course(durable=False, takeovers=[(3, 4)], splits=[(3, 4)], restarts=[(3, 4, 1)],
                      faults=[(2.9, 3.5, "redis", 1), (2.9, 3.5, "memory", 1)])
        for undoing in excuses_of(full) + excuses_of(course(takeovers=[(3, 4)], alone=[2.9])):
            self.assertIn(undoing.reason, SENTENCES)


class Windows(unittest.TestCase):
    def test_nothing_happened(self):
        self.assertEqual(excuses_of(course()), [])

    def test_a_takeover_loses_nothing(self):
        self.assertEqual(excuses_of(course(takeovers=[(2.5, 4)], alone=[0.1])), [])

    def test_only_if_the_first_box_went_on_alone(self):
        one, = excuses_of(course(takeovers=[(100, 101)], alone=[99.0]))
        self.assertEqual((one.since, one.begin, one.end, one.ends_only, one.reason), (99.0 - LEASE, 100, 101, False, "alone"))

    def test_all_since_the_link_was_cut(self):
        one, = excuses_of(course(takeovers=[(100, 101)], faults=[(3, 200, "sync", 1)]))
        self.assertEqual((one.since, one.reason), (1.5, "unreachable"))

    def test_no_grant_where_the_replica_is_waited_for(self):
        found = excuses_of(course(replicas=True, takeovers=[(2.5, 4)], alone=[2.4], splits=[(2.5, 4)]))
        self.assertEqual([one.ends_only for one in found], [True, True])

    def test_a_restart_excuses_nothing_while_the_store_works(self):
        self.assertEqual(of("store", restarts=[(5, 6, 1)], faults=[(1, 2, "redis", 1)]), [])
        self.assertEqual(of("store", restarts=[(500, 501, 1)], faults=[(3, 4, "redis", 1)]), [])  # though no box follows

    def test_until_the_store_has_what_it_missed(self):
        one, = of("store", restarts=[(5, 6, 1)], faults=[(3, 4, "redis", 1)])
        self.assertEqual((one.since, one.begin, one.end, one.ends_only, one.reason), (3, 5, 6, True, "store"))
        self.assertEqual(of("store", restarts=[(5, 6, 1)], faults=[(3, 4, "redis", 1)], marks=[4.5]), [])

    def test_while_both_serve_what_has_ended_may_be_open_on_one(self):
        one, = excuses_of(course(both=[(3, 4)]))
        self.assertEqual((one.since, one.begin, one.end, one.ends_only, one.reason), (1.5, 2.5, 4.5, True, "place"))
        self.assertEqual(overlaps([(1, 5), (8, 9)], [(3, 4), (8.5, 20)]), [(3, 4, 2), (8.5, 9, 1)])

    def test_a_clock_moves_ends(self):
        self.assertEqual(slack_of(course()).late, 2.0)
        self.assertEqual(slack_of(course(clock_step=20.0)).late, 22.0)


class Said:
    """A box that says these lines of keepalived."""

    def __init__(self, *lines):
        self.said = [(at, f"({name}) Entering {state} STATE") for at, name, state in lines]


class Reigns(unittest.TestCase):
    def test_from_the_first_instance_to_the_first_that_leaves(self):
        box = Said((10, "inside", "BACKUP"), (20, "inside", "MASTER"), (21, "outside", "MASTER"), (30, "inside", "FAULT"))
        self.assertEqual(reigns(box, []), [(19.0, 30)])

    def test_until_the_end(self):
        self.assertEqual(reigns(Said((20, "inside", "MASTER")), []), [(19.0, float("inf"))])

    def test_a_dead_box_has_no_address(self):
        self.assertEqual(reigns(Said((20, "inside", "MASTER")), [25]), [(19.0, 25)])


class Schedules(unittest.TestCase):
    def test_a_seed_repeats_its_schedule(self):
        self.assertEqual(draw(7), draw(7))
        self.assertNotEqual(draw(7), draw(8))

    def test_all_kinds_come(self):
        kinds = {fault.kind for seed in range(200) for fault in draw(seed).faults}
        self.assertEqual(kinds, {"cut", "power", "kill", "pause", "loss", "slow", "disk", "clock"})
        self.assertNotIn("clock", {fault.kind for seed in range(200) for fault in draw(seed, False).faults})


if __name__ == "__main__":
    unittest.main()
