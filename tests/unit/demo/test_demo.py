import io
import socket
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree
from pathlib import Path

from simco_demo.call import missing
from simco_demo.flows import Exchange, Flow
from simco_demo.load import ccdf
from simco_demo.main import main
from simco_demo.namespace import Failure
from simco_demo.packets import check_one_window
from simco_demo.picture import animated
from simco_demo.screen import LABEL, Screen
from simco_demo.stream import GROUP, Bars, Stream

ROOT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"


def bound():
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("127.0.0.1", 0))
    return one


def screen(encoding="utf-8"):
    return Screen(io.TextIOWrapper(io.BytesIO(), encoding=encoding))


class StreamTest(unittest.TestCase):
    def setUp(self):
        self.sender, self.receiver, self.elsewhere = bound(), bound(), bound()
        self.stream = Stream(self.sender, self.receiver.getsockname(), self.receiver)

    def tearDown(self):
        for one in (self.sender, self.receiver, self.elsewhere):
            one.close()

    def send(self, count, target):
        self.stream.target = target.getsockname()
        for _ in range(count):
            self.stream.step()

    def test_packets_arrive_and_are_answered(self):
        self.send(3, self.receiver)
        self.stream.expect_all(0, 3)
        self.stream.expect_answer()
        self.assertEqual(self.stream.count(0, 3), 3)
        self.assertEqual(self.stream.answered_from, {self.receiver.getsockname()})

    def test_packets_that_do_not_arrive_are_not_counted(self):
        self.send(2, self.elsewhere)
        self.send(2, self.receiver)
        self.stream.expect_all(2, 4)
        self.assertEqual(self.stream.count(0, 4), 2)

    def test_lost_packets_are_a_failure(self):
        self.send(1, self.elsewhere)
        with unittest.mock.patch("simco_demo.flows.PATIENCE", 0):
            with self.assertRaisesRegex(Failure, "1 of 1 packets were lost"):
                self.stream.expect_all(0, 1)
            with self.assertRaisesRegex(Failure, "no answer"):
                self.stream.expect_answer()

    def test_numbers_go_on_beyond_their_16_bits(self):
        self.stream.sent = 65534
        self.send(4, self.receiver)
        self.stream.expect_all(65534, 65538)
        self.assertEqual(sorted(self.stream.arrived), [65534, 65535, 65536, 65537])

    def test_each_packet_is_in_one_bar(self):
        shown = screen()
        bars = Bars(shown, self.stream)
        self.send(2, self.elsewhere)  # before the bars begin, as while a command runs
        self.stream.target = self.receiver.getsockname()
        bars.show_packets(2 * GROUP - 2)
        self.assertEqual(len(shown.text), 2)
        self.assertEqual(shown.text[1], "▇")
        self.assertNotEqual(shown.text[0], "▇")
        self.assertEqual(bars.shown, self.stream.sent)


class ExchangeTest(unittest.TestCase):
    """Packets of several flows, some of which nobody may get."""

    def setUp(self):
        self.one, self.other, self.nowhere = bound(), bound(), bound()
        self.there = Flow(self.one, self.other.getsockname(), self.other)
        self.back = Flow(self.other, self.one.getsockname(), self.one)
        self.stranger = Flow(self.nowhere, self.nowhere.getsockname(), self.other)

    def tearDown(self):
        for one in (self.one, self.other, self.nowhere):
            one.close()

    def test_each_flow_has_its_own_count(self):
        exchange = Exchange(self.there, self.back, self.stranger)
        exchange.step()
        exchange.step()
        exchange.expect_all(self.there, self.back)
        exchange.expect_none(self.stranger)
        self.assertEqual([str(flow) for flow in exchange.flows], ["2 of 2", "2 of 2", "0 of 2"])

    def test_what_is_lost_or_arrives_in_vain_fails(self):
        exchange = Exchange(self.there, self.stranger)
        exchange.step()
        exchange.expect_all(self.there)
        with self.assertRaisesRegex(Failure, "1 of 1 packets arrived that no call allows"):
            exchange.expect_none(self.there)
        with unittest.mock.patch("simco_demo.flows.PATIENCE", 0):
            with self.assertRaisesRegex(Failure, "lost during the call: 0 of 1 arrived"):
                exchange.expect_all(self.stranger)

    def test_packets_of_an_earlier_exchange_do_not_count(self):
        self.one.sendto(b"x" * 172, self.other.getsockname())
        exchange = Exchange(self.there)
        exchange.expect_none(self.there)
        self.assertEqual(exchange.flows[0].arrived, set())


class CallTest(unittest.TestCase):
    def test_it_says_what_to_install(self):
        with unittest.mock.patch("pathlib.Path.exists", return_value=False):
            with unittest.mock.patch("pathlib.Path.glob", return_value=iter([])):
                self.assertEqual(missing(), ["kamailio", "kamailio-extra-modules", "sip-tester"])
                shown = io.StringIO()
                with unittest.mock.patch("sys.stderr", shown), tempfile.TemporaryDirectory() as folder:
                    with unittest.mock.patch("simco_demo.main.network_of", return_value="none"):
                        self.assertEqual(main(["--sip", "--out", folder]), 1)
        self.assertEqual(shown.getvalue(), "demo: a call takes Kamailio and SIPp: sudo apt install kamailio "
                         "kamailio-extra-modules sip-tester\n")


class WindowTest(unittest.TestCase):
    def window(self, arrived):
        stream = Stream.__new__(Stream)
        stream.arrived = dict.fromkeys(arrived)
        check_one_window(stream, 10)

    def test_one_sequence_passes(self):
        self.window([12, 13, 14])

    def test_a_gap_and_no_packet_at_all_fail(self):
        for arrived in ([12, 14], [3]):
            with self.assertRaises(Failure):
                self.window(arrived)


class ScreenTest(unittest.TestCase):
    def test_a_file_gets_no_colours(self):
        shown = screen()
        shown.command("simcoctl list")
        shown.label("blocked")
        shown.bar(0, GROUP)
        shown.bar(GROUP, GROUP)
        self.assertEqual(shown.text, f"$ simcoctl list\n{'blocked':>{LABEL}}  ▁▇")
        self.assertEqual(shown.out.buffer.getvalue().decode(), shown.text)

    def test_a_terminal_without_utf8_gets_bars_all_the_same(self):
        shown = screen("ascii")
        for arrived in range(GROUP + 1):
            shown.bar(arrived, GROUP)
        self.assertEqual(shown.text, "_12345")


class PictureTest(unittest.TestCase):
    def test_text_and_bars_appear_when_they_were_printed(self):
        shown = screen()
        shown.pieces[:] = [(0.0, "command", "$ a <b> & c"), (0.1, "", "\n"), (1.5, "", "  passing  "),
                           (2.25, "good", "▇"), (2.5, "bad", "▁"), (3.0, "", "  2 of 10\n")]
        root = xml.etree.ElementTree.fromstring(animated(shown.pieces))
        texts = root.findall(f"{SVG}text")
        self.assertEqual([one.text for one in texts], ["$ a <b> & c", "passing", "2 of 10"])
        self.assertEqual(texts[1].get("style"), "animation-delay:1.50s")
        self.assertGreater(float(texts[1].get("y")), float(texts[0].get("y")))
        bars = [one for one in root.findall(f"{SVG}rect") if one.get("class")]
        self.assertEqual([one.get("style") for one in bars], ["animation-delay:2.25s", "animation-delay:2.50s"])
        self.assertGreater(float(bars[0].get("height")), float(bars[1].get("height")))
        self.assertGreater(float(bars[1].get("x")), float(bars[0].get("x")))


class DocumentsTest(unittest.TestCase):
    """What is shown in documents is the output of one run."""

    def setUp(self):
        self.output = (ROOT / "doc" / "demo.md").read_text()

    def test_the_picture_and_the_text(self):
        root = xml.etree.ElementTree.parse(ROOT / "doc" / "demo.svg")
        texts = [one.text for one in root.iter(f"{SVG}text")]
        self.assertGreater(len(texts), 20)
        for text in texts:
            self.assertIn(text, self.output)

    def test_the_first_screen(self):
        shown = [line for line in (ROOT / "README.md").read_text().splitlines() if "packets arrived" in line]
        self.assertEqual(len(shown), 3)
        for line in shown:
            self.assertIn(f"{line}\n", self.output)


class CcdfTest(unittest.TestCase):
    def test_shares_of_transactions_that_took_longer(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = Path(folder) / "samples.csv"
            samples.write_text("index,tid,stream,scheduled_ns,sent_ns,received_ns,outcome\n"
                               "0,1,0,0,5,2000000,completed\n"
                               "1,2,0,0,5,0,timed out\n"
                               "2,3,0,1000000,1000005,2000000,completed\n")
            self.assertEqual(ccdf(samples), ["1.0000 1.000000", "2.0000 0.500000"])
