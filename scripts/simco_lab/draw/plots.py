"""Figures with the papers' axes: mean over loss, streams or load, and CCDFs. Curves differ in colour, marker
and line style, so they can be told apart in greyscale print and by colour-blind readers."""

import math
from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 - the back end is chosen first
import numpy  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.ticker import FixedFormatter, FixedLocator, LogLocator, NullFormatter, NullLocator  # noqa: E402

from ..judge.prediction import marks_of, predicted  # noqa: E402
from ..measure import statistics  # noqa: E402
from ..measure.quantities import MEASURED, QUANTITIES  # noqa: E402
from ..scenario import cross  # noqa: E402
from ..scenario.conditions import axis_label, axis_value, in_words, label_of, shown  # noqa: E402
from . import groups, maps, traces  # noqa: E402
from .traces import WIDE_RANGE, reach, style, widen  # noqa: E402

WHOLE = ("streams", "connections", "queue", "cross", "lose_run", "failure")  # axes of whole numbers
CCDF_MARKERS = 0.12  # distance between a curve's markers, as a share of the axes' diagonal
CCDF_ROOM = 1.15  # from the least and the greatest response time to the ends of the axis
NAMED = 3  # points that a legend names
TICKS_MAX = 12  # an axis with more measured values has ticks at round ones
AXES_SHARE = 0.775  # of a figure's width is that of its axes
DIGIT = 0.7  # width of a digit of an axis' label, as a share of the font's size
BAR_ROOM = 3  # times the greatest value, or a part of the least one, that the y axis has for bars
TRANSITION = 0.5  # decades between 0 and the least value of a logarithmic axis that has 0
POINTS_PER_INCH = 72
PNG_DPI = 300
# A format's dots per inch (in SVG a pixel is a point), and the entry that makes its files differ from one drawing to the next.
FORMATS = {"svg": (POINTS_PER_INCH, "Date"), "png": (PNG_DPI, "Software"), "pdf": (PNG_DPI, "CreationDate")}
GREY = "#606060"

matplotlib.rcParams.update({"svg.hashsalt": "simco", "axes.grid": True, "grid.alpha": 0.3, "savefig.bbox": "tight",
                            # Text stays text, and a path needs no vertices closer than a hair's breadth.
                            "svg.fonttype": "none", "pdf.fonttype": 42, "font.sans-serif": ["DejaVu Sans", "sans-serif"],
                            "path.simplify_threshold": 0.3})


@dataclass(frozen=True)
class Style:
    """The style of a figure for a report, or for a column of a paper, whose caption takes the place of the title."""

    size: tuple  # inches, without the legend
    font: int  # points
    legend: int  # points
    columns: int  # of the legend
    title: bool

    def room(self, text):
        """Returns the width of a label of the x axis, as a share of its length."""
        return (len(text) + 1) * DIGIT * self.font / (AXES_SHARE * self.size[0] * POINTS_PER_INCH)


REPORT = Style((5.2, 3.3), 9, 7, 4, True)
PAPER = Style((3.5, 2.3), 8, 6, 3, False)


def x_of(combination, axis):
    return axis_value(combination.conditions, axis)


def estimate(combination, plot):
    return combination.quantity(plot.quantity)


def curves_of(combinations, plot):
    """Returns {label: combinations in the order of x} of a plot of a quantity, without those that have none."""
    found = {}
    for combination in combinations:
        if math.isfinite(x_of(combination, plot.axis)) and math.isfinite(estimate(combination, plot).value):
            found.setdefault(getattr(combination.conditions, plot.curves), []).append(combination)
    return {name: sorted(curve, key=lambda combination: x_of(combination, plot.axis)) for name, curve in found.items()}


def curve_label(plot, value):
    return in_words(plot.curves, value) if isinstance(value, float) else label_of(value)


def naming(text, combinations, plot):
    """Returns the legend's entry that says `text` of these combinations; none if there are none."""
    named = [f"{curve_label(plot, getattr(combination.conditions, plot.curves))} at {x_of(combination, plot.axis):g}"
             for combination in combinations if math.isfinite(x_of(combination, plot.axis))]
    if not named:
        return []
    some = ", ".join(named[:NAMED]) + (f" and {len(named) - NAMED} more" if len(named) > NAMED else "")
    return [Line2D([], [], linestyle="", label=f"{text}: {some}")]


def undelivered(combinations, plot):
    """Returns the legend's entries that name what is beyond every axis, because a message was never delivered, and what is
    drawn without the messages that were not."""
    values = [(combination, estimate(combination, plot).value) for combination in combinations]
    partly = [combination for combination, value in values
              if math.isfinite(value) and combination.leaves_out(plot.quantity)]
    return (naming("not delivered", [combination for combination, value in values if math.isinf(value)], plot)
            + naming(f"without {QUANTITIES[plot.quantity].omitted} messages", partly, plot))


def draw_model(axes, curve, axis, line):
    """Draws equation 5: thick and pale in its valid range, dotted outside. Returns whether it did, for each."""
    points = [(x_of(combination, axis), *prediction) for combination in curve
              if (prediction := predicted(combination.conditions)) and x_of(combination, axis) > 0]
    if not points:
        return False, False
    x, y, valid = (numpy.array(column) for column in zip(*points))
    if not valid.all():
        axes.plot(x, y, color=line["color"], linewidth=0.8, alpha=0.35, linestyle=":", label="_model")
    axes.plot(numpy.where(valid, x, math.nan), y, color=line["color"], linewidth=2.5, alpha=0.3,
              label="_valid model")
    return bool(valid.any()), not valid.all()


def bars(curve, plot):
    """Returns how far the intervals of a curve reach (traces.reach)."""
    return reach([estimate(combination, plot) for combination in curve])


def explanations(curves, modelled, plot):
    """Returns the legend's entries for what is not a curve."""
    combinations = [combination for curve in curves.values() for combination in curve]
    point = dict(markersize=7, linestyle="")
    return [Line2D([], [], color=GREY, **look) for there, look in (
        (numpy.any(bars(combinations, plot)), dict(point, marker="|", label="bars: 95 % interval")),
        (any(valid for valid, _ in modelled), dict(linewidth=2.5, alpha=0.4, label="equation 5")),
        (any(outside for _, outside in modelled), dict(linewidth=0.8, linestyle=":", label="equation 5, not valid")),
        (any(combination.aborted for combination in combinations), dict(point, marker="x", label="aborted"))) if there]


def roomy(places, position, look):
    """Returns those places, in their order, that are far enough apart for their labels: the last, and the others
    from the first on."""
    length = position(places[-1]) - position(places[0])

    def apart(one, other):
        return abs(position(other) - position(one)) >= look.room(f"{max(one, other):g}") * length

    kept = []
    for place in places[:-1]:
        if apart(place, places[-1]) and (not kept or apart(kept[-1], place)):
            kept.append(place)
    return [*kept, places[-1]]


def scale_x(axes, places, look):
    """Makes the x axis logarithmic, with a tick at each measured value and labels where they fit. 0 has a place
    of its own, left of the others."""
    positive = [x for x in places if x > 0]
    if not positive:
        return
    if len(positive) < len(places):
        # The linear part, from 0 to the least value, is as long as TRANSITION decades.
        axes.set_xscale("symlog", linthresh=positive[0], linscale=TRANSITION)
        axes.set_xlim(left=-0.15 * positive[0])
    else:
        axes.set_xscale("log")

    def position(x):
        return math.log10(x / positive[0]) if x > 0 else -TRANSITION

    if len(places) > TICKS_MAX:
        axes.xaxis.set_major_formatter("{x:g}")
        return
    labelled = roomy(places, position, look)
    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{x:g}" if x in labelled else "" for x in places]))
    axes.xaxis.set_minor_locator(NullLocator())


def scale_y(axes, curves, plot):
    """Makes the y axis logarithmic if the values differ so much that small ones could not be told apart, and one of times no
    shorter than what counts."""
    means = [estimate(combination, plot).value for curve in curves.values() for combination in curve]
    if min(means) <= 0 or max(means) < WIDE_RANGE * min(means):
        if QUANTITIES[plot.quantity].unit == "ms":
            widen(axes)
        return limit(axes, means)
    axes.set_yscale("log")
    limit(axes, means)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def limit(axes, means):
    """Cuts bars that would stretch the y axis to many times the values."""
    bottom, top = axes.get_ylim()
    if max(means) > 0 and min(means) >= 0:
        axes.set_ylim(max(bottom, min(means) / BAR_ROOM) if axes.get_yscale() == "log" else bottom, min(top, max(means) * BAR_ROOM))


def draw_marks(axes, marks):
    """Draws the model's reference points on the x axis, with their symbols above the axes."""
    for number, (x, symbol, _) in enumerate(marks):
        axes.axvline(x, color="#808080", linewidth=0.8, linestyle=(0, (1, 2)), label="_mark")
        axes.annotate(symbol, (x, 1), xycoords=("data", "axes fraction"), xytext=(0, 2 + 7 * (number % 2)), fontsize=6,
                      textcoords="offset points", ha="center", va="bottom", color=GREY)


def draw_means(axes, combinations, plot, look):
    """Draws a plot of a quantity, the mean unless it names another, over an axis. Returns the legend's further entries, or None if there is nothing to draw."""
    axis = plot.axis
    curves = curves_of(combinations, plot)
    if not curves:
        return None
    modelled = []
    for number, (name, curve) in enumerate(curves.items()):
        line = style(number)
        x = [x_of(combination, axis) for combination in curve]
        y = [estimate(combination, plot).value for combination in curve]
        axes.errorbar(x, y, yerr=bars(curve, plot), capsize=2, label=curve_label(plot, name), **line)
        for place, mean, combination in zip(x, y, curve):
            if combination.aborted:  # IKR report 53's rule: the curve ends here
                axes.plot(place, mean, marker="x", color=line["color"], markersize=11, linestyle="", label="_end")
        if plot.model:
            modelled.append(draw_model(axes, curve, axis, line))
    if plot.log_x:
        scale_x(axes, sorted({x_of(combination, axis) for curve in curves.values() for combination in curve}), look)
    elif axis in WHOLE:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if plot.y_max is not None:
        axes.set_ylim(0, plot.y_max)
    else:
        scale_y(axes, curves, plot)
    draw_marks(axes, marks_of(combinations, plot))
    axes.set_xlabel(cross.label_of(combination.conditions.cross for combination in combinations) if axis == "cross"
                    else axis_label(axis))
    axes.set_ylabel(QUANTITIES[plot.quantity].title(plot.measure))
    return explanations(curves, modelled, plot) + undelivered(combinations, plot)


def ccdf_of(combination, end):
    """The vertices of a combination's CCDF: stairs, of which the last goes to the `end` of the axis."""
    x, y = statistics.thinned(*statistics.ccdf(combination.all_times))
    return numpy.repeat(numpy.append(x, end), 2)[1:-1], numpy.repeat(y, 2)


def ccdf_limits(combinations):
    """Returns the least and the greatest response time of the axis, and its least share."""
    finite = [times[numpy.isfinite(times)] for times in (combination.all_times for combination in combinations)]
    finite = [times for times in finite if len(times)]
    least, most = min(times.min() for times in finite), max(times.max() for times in finite)
    samples = max(len(combination.all_times) for combination in combinations)
    return least / CCDF_ROOM, most * CCDF_ROOM, 10.0 ** math.floor(-math.log10(samples))


def draw_ccdf(axes, combinations, plot, look):
    """Draws distributions. Returns the legend's further entries, or None if there is nothing to draw."""
    if not any(numpy.isfinite(combination.all_times).any() for combination in combinations):
        return None
    left, right, bottom = ccdf_limits(combinations)
    for number, combination in enumerate(combinations):
        # Markers start at different places, so that curves that coincide show theirs side by side.
        places = (CCDF_MARKERS * number / max(len(combinations), 1), CCDF_MARKERS)
        axes.plot(*ccdf_of(combination, right), label=label_of(getattr(combination.conditions, plot.curves)),
                  markevery=places, **style(number))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, 1)
    if right / left > 1000:  # labels at 1, 2 and 5 of each decade would not fit
        subs = (1,)
    else:
        subs = (1, 2, 5) if right / left <= 100 * look.size[0] / REPORT.size[0] else (1, 3)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"{MEASURED[plot.measure].capitalize()} (ms)")
    axes.set_ylabel("Share of transactions that take longer")
    return []


def draw_map(axes, combinations, plot, look):
    """A map of the variants to use (maps.py)."""
    axes.set_xlabel(axis_label(plot.axis))
    axes.set_ylabel(axis_label(plot.y))
    return maps.draw_best(axes, combinations, plot, look)


KINDS = {"mean": draw_means, "over": draw_means, "ccdf": draw_ccdf, "best": draw_map, "groups": groups.draw_groups, **traces.KINDS}


def panels_of(plot, combinations):
    """Returns {suffix of the name and title: combinations} of a plot: one figure for each of its panels."""
    found = {}
    for combination in combinations:
        values = [(name, getattr(combination.conditions, name)) for name in plot.panels]
        key = tuple((f"{name}-{shown(value)}", in_words(name, value)) for name, value in values)
        found.setdefault(key, []).append(combination)
    return found


def figure_of(plot, combinations, look, title):
    """Returns the figure of a plot, or None if there is nothing to draw."""
    with matplotlib.rc_context({"font.size": look.font, "legend.fontsize": look.legend}):
        figure, axes = plt.subplots(figsize=look.size)
        entries = KINDS[plot.kind](axes, combinations, plot, look)
        if entries is None:
            plt.close(figure)
            return None
        if look.title:
            axes.set_title(title, fontsize=look.font, pad=18)
        handles, _ = axes.get_legend_handles_labels()
        # Below the axes and their labels, so that it covers nothing.
        below = -3.6 * look.font / (AXES_SHARE * look.size[1] * POINTS_PER_INCH)
        axes.legend(handles=[*handles, *entries], ncol=look.columns, loc="upper center", bbox_to_anchor=(0.5, below))
        return figure


def draw(results, folder, look, formats):
    """Draws all plots of the scenario, one figure per profile. Returns [(name, title)] of the figures."""
    folder.mkdir(exist_ok=True)
    drawn = []
    for plot in results.scenario.plots:
        if not results.has_samples and (plot.kind != "mean" or plot.quantity != "mean"):
            continue
        like = f"; the paper's {plot.paper_figure}" if plot.paper_figure else ""
        for profile in results.profiles():
            chosen = [combination for combination in results.select(plot.where)
                      if combination.conditions.profile == profile]
            for panel, part in panels_of(plot, chosen).items():
                title = f"{plot.title} ({', '.join([profile, *(text for _, text in panel)])}{like})"
                figure = figure_of(plot, part, look, title)
                if figure is None:
                    continue
                name = "-".join([plot.name, profile, *(suffix for suffix, _ in panel)])
                for suffix in formats:
                    dpi, dated = FORMATS[suffix]
                    figure.savefig(folder / f"{name}.{suffix}", dpi=dpi, metadata={dated: None})
                plt.close(figure)
                drawn.append((name, title))
    return drawn
