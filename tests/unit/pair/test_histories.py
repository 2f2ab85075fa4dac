"""The histories that the pair's campaign judges, of what its agents and its probes saw."""
import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests/campaigns"))
from pair_history.agents import STORE_FAILS, Book, histories  # noqa: E402
from pair_history.excuses import Course, taken_back  # noqa: E402
from pair_history.operation import EXTEND, Operation  # noqa: E402
from pair_history.register import Search  # noqa: E402

PORT, PID = 20001, 7
COURSE = Course(replicas=True, durable=True, marks=[], period=0.5, takeovers=[], splits=[], restarts=[], faults=[])


def legal(probes, lists):
    """Whether both may be of a rule that was asked for at 1 s, and refused at 3 s as the store failed."""
    book = Book()
    book.asked[PORT] = [1.0, 3.0, 600, STORE_FAILS, None]
    book.lists = [(begin, begin + 0.01, {PID} if there else set(), "agent") for begin, there in lists]
    operations = histories(book, {PORT: [(sent, sent + 0.01) for sent in probes]}, {PORT: PID}, {}, ())[PID]
    return Search(operations).run()


class RefusedAsTheStoreFailed(unittest.TestCase):
    def test_until_the_reply_each_box_does_as_it_is(self):
        self.assertTrue(legal([1.4, 1.7], [(1.5, False)]))

    def test_it_may_be_in_force_until_it_is_taken_back(self):
        self.assertTrue(legal([1.4, 3.2], [(1.5, False), (3.5, False)]))

    def test_it_does_not_come_back(self):
        self.assertFalse(legal([3.2, 4.0], [(3.5, False)]))

    def test_the_log_says_it_if_the_reply_was_lost(self):
        book = Book()
        book.asked[PORT] = [1.0, math.inf, 600, "unknown", None]
        book.lists = [(3.5, 3.6, set(), "agent")]
        for refused, expected in (({PORT}, True), (set(), False)):
            operations = histories(book, {PORT: [(3.2, 3.3)]}, {PORT: PID}, {}, refused)[PID]
            self.assertEqual(Search(operations).run(), expected)

    def test_until_it_is_done_each_box_does_as_it_is_though_the_reply_was_lost(self):
        book = Book()
        book.asked[PORT] = [1.0, math.inf, 600, "unknown", None]
        book.lists = [(3.3, 3.4, set(), "agent"), (3.6, 3.7, {PID}, "agent")]
        for settled, expected in (({PORT: 3.5}, True), ({}, False)):
            operations = histories(book, {PORT: [(3.1, 3.2)]}, {PORT: PID}, settled, ())[PID]
            self.assertEqual(Search(operations).run(), expected)

    def test_and_of_an_extension(self):
        book = Book()
        book.note(PID, Operation(EXTEND, 1.0, math.inf, 900, None, "agent, no answer"))
        for refused, expected in (({(PID, 900.0)}, 1), ({(PID, 600.0)}, 0)):
            self.assertEqual(len(taken_back(COURSE, histories(book, {}, {}, {}, refused)[PID])), expected)


if __name__ == "__main__":
    unittest.main()
