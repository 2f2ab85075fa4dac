"""Figures: what can be told apart, what fits, and what is explained."""

import math
import tempfile
import unittest
from pathlib import Path

import matplotlib
import numpy
from trial import combination
from simco_lab import scenario
from simco_lab.draw import maps, plots, traces, values

PUBLISHED = Path(__file__).resolve().parents[3] / "doc" / "results"


def plot(kind, **values):
    return scenario.plot("trial", "Trial", kind, **values)


def mean_plot(kind="mean", **values):
    return plot(kind, **{"x": "loss_percent", **values})


def labels_of(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


class Figures(unittest.TestCase):
    def figure(self, one, combinations, look=plots.REPORT):
        figure = plots.figure_of(one, combinations, look, "A title")
        if figure is not None:
            self.addCleanup(plots.plt.close, figure)
        return figure

    def curve(self, variant, means, **values):
        return [combination(variant, [mean] * 70, loss_percent=float(loss), **values)
                for loss, mean in means.items()]

    def test_no_two_curves_look_alike(self):
        looks = [plots.style(number) for number in range(32)]
        self.assertEqual(len({tuple(sorted(look.items())) for look in looks}), 32)
        shapes = {(look["marker"], look["fillstyle"]) for look in looks}
        self.assertEqual(len(shapes), 32, "in greyscale, markers tell curves apart")

    def test_no_loss_has_its_place_on_a_logarithmic_axis(self):
        figure = self.figure(mean_plot(log_x=True), self.curve("tcp", {0: 20, 0.1: 21, 10: 30}))
        axes = figure.axes[0]
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["0", "0.1", "10"])
        places = axes.transData.transform([(0, 20), (0.1, 20), (10, 20)])[:, 0]
        self.assertLess(axes.bbox.x0, places[0])
        self.assertGreater(places[1] - places[0], axes.bbox.width / 20)

    def test_any_quantity_over_any_axis(self):
        found = [combination("tcp", numpy.linspace(1, level, 100), cross=cross)
                 for cross, level in (("none", 10), ("tcp-4", 40))]
        axes = self.figure(mean_plot(kind="over", x="cross", quantity="max"), found).axes[0]
        self.assertEqual([list(values) for values in axes.get_lines()[0].get_data()], [[0, 4], [10, 40]])
        self.assertEqual((axes.get_xlabel(), axes.get_ylabel()), ("Competing TCP connections", "Longest (ms)"))

    def test_axes_say_what_is_measured(self):
        figure = plots.figure_of(mean_plot(measure="one-way"), self.curve("tcp", {1: 20}), plots.REPORT, "")
        self.addCleanup(plots.plt.close, figure)
        self.assertEqual(figure.axes[0].get_ylabel(), "Mean one-way delay (ms)")
        self.assertEqual(self.figure(mean_plot(), self.curve("tcp", {1: 20})).axes[0].get_ylabel(), "Mean response time (ms)")
        figure = plots.figure_of(plot("ccdf", measure="one-way"), self.curve("tcp", {1: 20}), plots.REPORT, "")
        self.addCleanup(plots.plt.close, figure)
        self.assertEqual(figure.axes[0].get_xlabel(), "One-way delay (ms)")

    def test_competing_traffic_is_counted_in_what_it_consists_of(self):
        for kinds, words in ((("none", "web-3"), "Competing web sessions/s"), (("none",), "Competing traffic"),
                             (("tcp-1@bbr", "cbr-200"), "Competing TCP connections or datagrams/s")):
            found = [combination("tcp", [10.0] * 70, cross=kind) for kind in kinds]
            self.assertEqual(self.figure(mean_plot(x="cross"), found).axes[0].get_xlabel(), words)

    def test_there_are_no_halves_of_connections(self):
        found = [combination("tcp", [10.0 * number] * 70, cross=f"tcp-{number}") for number in (1, 2, 3)]
        axes = self.figure(mean_plot(x="cross"), found).axes[0]
        self.assertEqual([tick for tick in axes.get_xticks() if tick != round(tick)], [])

    def test_an_axis_of_times_is_no_shorter_than_what_counts(self):
        for values, least in (((40.152, 40.160), 1.0), ((4000.0, 4001.0), 80.0)):
            axes = self.figure(mean_plot(), self.curve("tcp", dict(enumerate(values)))).axes[0]
            low, high = axes.get_ylim()
            self.assertGreaterEqual(high - low, least)
            self.assertTrue(low < min(values) and max(values) < high, (low, high))
        low, high = self.figure(mean_plot(), self.curve("tcp", {1: 20, 2: 60})).axes[0].get_ylim()
        self.assertTrue(15 < low < 20 and 60 < high < 65, (low, high))
        share = self.figure(mean_plot(kind="over", quantity="unanswered"), self.curve("tcp", {1: 20, 2: 20})).axes[0].get_ylim()
        self.assertLess(share[1] - share[0], 1.0)
        trace = combination("tcp", [40.152, 40.160])
        trace.scheduled.append(numpy.arange(2.0))
        low, high = self.figure(plot("trace"), [trace]).axes[0].get_ylim()
        self.assertGreaterEqual(high - low, 1.0)

    def test_single_messages(self):
        found = combination("tcp", [5, 7, math.inf, 6])
        found.scheduled.append(numpy.array([10.0, 20.0, 30.0, 40.0]))
        for kind, x, points in (("trace", "message", ([1, 3], [7, 6])), ("trace", "time", ([20, 40], [7, 6])),
                                ("delivery", "", ([20, 40], [27, 46]))):
            axes = self.figure(plot(kind, x=x, first=1), [found]).axes[0]
            self.assertEqual(tuple(list(values) for values in axes.get_lines()[0].get_data()), points)

    def test_of_many_messages_the_extremes_are_left(self):
        x = numpy.arange(20_000)
        y = numpy.full(20_000, 45.0)
        y[7777], y[12_345] = 2000.0, 1.0
        kept, values = traces.thinned(x, y)
        self.assertLessEqual(len(kept), 2 * traces.COLUMNS + 2)
        self.assertTrue((y[kept] == values).all())
        self.assertEqual((kept[0], kept[-1], kept[values == 2000.0], kept[values == 1.0]), (0, 19_999, 7777, 12_345))
        few = traces.thinned(x[:100], y[:100])
        self.assertEqual(len(few[0]), 100)
        self.assertEqual(traces.markers(1, 100)["markersize"], 2)
        self.assertLessEqual(len(range(*traces.markers(1, 400)["markevery"][:1], 400, traces.markers(1, 400)["markevery"][1])),
                             traces.MARKED + 1)

    def test_parts_are_stacked(self):
        found = combination("tcp", [9])
        found.runs[0]["parts"] = {"sender": 1.0, "network": 5.0, "behind": 3.0, "messages": 1}
        axes = self.figure(plot("parts"), [found, combination("sctp-1", [9])]).axes[0]
        self.assertEqual([(bar.get_y(), bar.get_height()) for bar in axes.patches], [(0, 1), (1, 5), (6, 3)])
        self.assertIsNone(self.figure(plot("parts"), [combination("sctp-1", [9])]))

    def test_bars_say_which_messages_they_leave_out(self):
        parts = {"sender": 1.0, "network": 5.0, "behind": 3.0, "messages": 2}
        found = [combination("tcp", [9.0, 9.0]), combination("sctp-1", [9.0, 9.0, math.inf])]
        for one in found:
            one.runs[0]["parts"] = parts
        self.assertEqual([label for label in labels_of(self.figure(plot("parts"), found)) if "without" in label],
                         ["SCTP-1: without 1 of 3 messages"])

    def test_categories_are_side_by_side(self):
        found = [combination(variant, [level] * 70, queue=queue) for queue, level in (("pfifo-50", 200), ("codel", 20))
                 for variant in ("tcp", "udp")]
        axes = self.figure(plot("groups", x="queue"), found).axes[0]
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["pfifo-50", "codel"])
        self.assertEqual(axes.get_yscale(), "log")
        tcp, udp = (list(container.lines[0].get_xdata()) for container in axes.containers)
        self.assertEqual([round(x) for x in (*tcp, *udp)], [0, 1, 0, 1])
        self.assertLess(tcp[0], udp[0])
        self.assertIsNone(self.figure(plot("groups", x="queue"), []))

    def test_a_map_has_a_cell_for_each_place(self):
        found = [combination(variant, [level] * 700, loss_percent=loss, rate=10.0)
                 for loss, levels in ((1.0, (20, 20)), (8.0, (90, 60))) for variant, level in zip(("tcp", "sctp-16"), levels)]
        figure = self.figure(plot("best", x="loss_percent", y="rate", quantity="p95"), found)
        self.assertEqual([text.get_text() for text in figure.axes[0].texts], ["20", "60"])
        self.assertEqual([patch.get_facecolor() for patch in figure.axes[0].patches],
                         [matplotlib.colors.to_rgba(colour) for colour in maps.COLOURS[:2]])
        self.assertEqual(labels_of(figure), ["1 TCP", "2 SCTP-16", "undecided"])

    def test_panels(self):
        found = [combination("tcp", [1], rate=rate) for rate in (20.0, 40.0)]
        panels = plots.panels_of(plot("over", panels=["rate"]), found)
        self.assertEqual([key for key in panels], [(("rate-20", "20/s"),), (("rate-40", "40/s"),)])
        self.assertEqual(list(plots.panels_of(plot("over"), found)), [()])

    def test_labels_do_not_collide(self):
        values = [0.1, 0.3, 1, 3, 10, 30, 1000, 2000, 3000, 5000]
        for look in (plots.REPORT, plots.PAPER):
            figure = self.figure(mean_plot(x="rate", log_x=True),
                                 [combination("tcp", [20.0] * 70, rate=rate) for rate in values], look)
            figure.canvas.draw()
            boxes = [text.get_window_extent() for text in figure.axes[0].get_xticklabels() if text.get_text()]
            self.assertGreater(len(boxes), 3)
            for one, other in zip(boxes, boxes[1:]):
                self.assertLess(one.x1, other.x0)

    def test_means_that_differ_much_get_a_logarithmic_axis(self):
        small = self.figure(mean_plot(), self.curve("tcp", {1: 20, 2: 22}))
        large = self.figure(mean_plot(), self.curve("tcp", {1: 20, 2: 22, 10: 200}))
        self.assertEqual([one.axes[0].get_yscale() for one in (small, large)], ["linear", "log"])

    def test_a_bar_does_not_stretch_an_axis(self):
        for scale, bars, limits in (("linear", [[10, 10], [5, 5000]], (None, 330)), ("log", [[19.99, 10], [5, 5]], (20 / 3, None))):
            figure, axes = plots.plt.subplots()
            self.addCleanup(plots.plt.close, figure)
            axes.errorbar([1, 2], [20, 110], yerr=bars)
            axes.set_yscale(scale)
            plots.limit(axes, [20, 110])
            bottom, top = axes.get_ylim()
            self.assertGreaterEqual(bottom, limits[0] or bottom)
            self.assertLessEqual(top, limits[1] or top)

    def test_the_legend_explains_what_is_drawn_and_nothing_else(self):
        plain = self.figure(mean_plot(), self.curve("tcp", {1: 20, 2: 22}))
        self.assertEqual(labels_of(plain), ["TCP"])
        curve = [combination("sctp-16", numpy.linspace(20, 30, 90), record={"aborted": loss == 1}, loss_percent=loss)
                 for loss in (0.2, 0.5, 1.0)]
        full = self.figure(mean_plot(model=True), curve)
        self.assertEqual(labels_of(full)[1:], ["bars: 95 % interval", "equation 5", "aborted"])

    def test_a_legend_covers_no_curve(self):
        figure = self.figure(mean_plot(), self.curve("tcp", {1: 20, 2: 22}), plots.PAPER)
        figure.canvas.draw()
        axes = figure.axes[0]
        self.assertLess(axes.get_legend().get_window_extent().y1, axes.xaxis.label.get_window_extent().y0)

    def test_a_paper_has_its_column_and_no_title(self):
        figure = self.figure(mean_plot(), self.curve("tcp", {1: 20}), plots.PAPER)
        self.assertEqual((figure.get_size_inches()[0], figure.axes[0].get_title()), (3.5, ""))

    def test_what_was_never_delivered_is_named(self):
        found = [combination("tcp", [20.0, math.inf if loss > 2 else 30.0], loss_percent=float(loss)) for loss in (1, 2, 3)]
        self.assertEqual(labels_of(self.figure(mean_plot(kind="over", quantity="max"), found)),
                         ["TCP", "not delivered: TCP at 3"])
        many = [combination("tcp", [math.inf if loss else 30.0], loss_percent=float(loss)) for loss in range(6)]
        self.assertEqual(labels_of(self.figure(mean_plot(kind="over", quantity="max"), many))[1],
                         "not delivered: TCP at 1, TCP at 2, TCP at 3 and 2 more")
        found = combination("tcp", [5, 7, math.inf, 6])
        found.scheduled.append(numpy.arange(4.0))
        self.assertEqual(labels_of(self.figure(plot("trace"), [found])), ["TCP (1 not delivered)"])

    def test_what_a_mean_leaves_out_is_named(self):
        found = [combination("tcp", [20.0, 25.0, math.inf if loss > 1 else 30.0], loss_percent=float(loss)) for loss in (1, 2)]
        for quantity in ("mean", "variance"):
            self.assertIn("without unanswered messages: TCP at 2", labels_of(self.figure(mean_plot(kind="over", quantity=quantity), [
                *found, combination("tcp", [1.0, 2.0], loss_percent=0.0)])))
        self.assertNotIn("without", "".join(labels_of(self.figure(mean_plot(kind="over", quantity="p50"), found))))
        lost = [combination("sctp-16", [20.0, math.inf], loss_percent=5.0)]
        self.assertIn("without unanswered messages: 5 % loss at 16",
                      labels_of(self.figure(mean_plot(x="streams", curves="loss_percent"), lost)))

    def test_every_number_can_be_that_of_a_curve(self):
        for name, words in (("large_size", "some of 3000 octets"), ("lose_run", "3000 lost in a row"), ("t1_ms", "T1 3000 ms"),
                            ("link_mbit", "3000 Mbit/s"), ("cross_window", "window 3000"), ("rate", "3000/s")):
            found = [combination("tcp", [20.0, 25.0], loss_percent=loss, **{name: 3000.0}) for loss in (1.0, 2.0)]
            self.assertEqual(labels_of(self.figure(mean_plot(curves=name), found))[0], words)

    def test_without_values_there_is_no_figure(self):
        self.assertIsNone(self.figure(mean_plot(x="streams"), self.curve("tcp", {1: 20})))
        lost = [combination("tcp", [math.inf] * 3)]
        for one in (mean_plot(), plot("ccdf")):
            self.assertIsNone(self.figure(one, lost))

    def test_the_axes_of_a_distribution_fit_its_values(self):
        times = numpy.linspace(21.0, 115.0, 2000)
        axes = self.figure(plot("ccdf"), [combination("tcp", [*times, math.inf])]).axes[0]
        left, right = axes.get_xlim()
        self.assertTrue(15 < left < 21 and 115 < right < 150, (left, right))
        self.assertEqual(axes.get_ylim(), (1e-4, 1))


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "plots"

    def test_means_are_drawn_again_from_a_table(self):
        name = "kiesel-exp1"
        table = values.table_of(PUBLISHED / name / "results.csv", scenario.find(name))
        drawn = plots.draw(table, self.folder, plots.REPORT, ("svg",))
        self.assertEqual(len(drawn), 4)
        for name, _ in drawn:
            self.assertTrue(name.startswith("mean-over-"))
            self.assertIn("equation 5", (self.folder / f"{name}.svg").read_text())

    def test_formats(self):
        table = values.table_of(PUBLISHED / "jitter" / "results.csv", scenario.find("jitter"))
        drawn = plots.draw(table, self.folder, plots.PAPER, ("png", "pdf"))
        self.assertEqual(sorted(path.suffix for path in self.folder.iterdir()), sorted([".pdf", ".png"] * len(drawn)))
        name = drawn[0][0]
        pdf = (self.folder / f"{name}.pdf").read_bytes()
        self.assertTrue(pdf.startswith(b"%PDF"))
        plots.draw(table, self.folder, plots.PAPER, ("pdf",))
        self.assertEqual((self.folder / f"{name}.pdf").read_bytes(), pdf, "the same values are the same file")
        height, width = plots.plt.imread(self.folder / f"{name}.png").shape[:2]
        self.assertGreater(width, 3 * plots.PNG_DPI)
