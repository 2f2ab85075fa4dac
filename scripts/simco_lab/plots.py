"""Figures with the papers' axes: mean over loss, streams or load, and CCDFs. Curves differ in colour, marker
and line style, so they can be told apart in greyscale print and by colour-blind readers."""

import io
import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 - the back end is chosen first
import numpy  # noqa: E402
from matplotlib.ticker import NullLocator  # noqa: E402

from . import statistics, svg  # noqa: E402
from .prediction import marks_of, predicted  # noqa: E402
from .scenario import label_of  # noqa: E402

# Okabe and Ito's palette, which colour-blind people can tell apart.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00")
MARKERS = "osD^vP*X"
LINES = ("-", "--", "-.", ":")
LABELS = {"loss_percent": "Packet loss (%)", "rate": "Load (transactions/s)", "streams": "Streams",
          "connections": "TCP connections", "rate_per_connection": "Load per connection (transactions/s)",
          "delay_ms": "One-way delay (ms)", "jitter_ms": "Jitter (± ms)", "loss_correlation": "Loss correlation"}
CURVES = {"loss_percent": "{:g} % loss", "rate": "{:g}/s", "delay_ms": "{:g} ms one way",
          "jitter_ms": "±{:g} ms", "loss_correlation": "correlation {:g}"}
CCDF_X = 10, 10000  # ms
CCDF_MARKERS = 0.12  # distance between a curve's markers, as a share of the axes' diagonal
SVG_DPI = 72  # a pixel is a point
matplotlib.rcParams.update({"svg.hashsalt": "simco", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "savefig.bbox": "tight", "legend.fontsize": 7,
                            # Text stays text, and a path needs no vertices closer than a hair's breadth.
                            "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans", "sans-serif"],
                            "path.simplify_threshold": 0.3})


def style(number):
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)],
            "linestyle": LINES[number % len(LINES)], "markersize": 4, "linewidth": 1.1}


def x_of(combination, axis):
    conditions = combination.conditions
    if axis == "streams":
        return float(conditions.variant.streams) if conditions.variant.sweeps_streams else math.nan
    if axis == "connections":
        return float(conditions.variant.connections)
    if axis == "rate_per_connection":
        return conditions.rate / conditions.variant.connections
    return getattr(conditions, axis)


def curves_of(combinations, plot):
    """Returns {label: combinations in the order of x} of a plot of means."""
    by = plot.get("curves", "variant")
    found = {}
    for combination in combinations:
        if plot.get("x") == "streams" and math.isnan(x_of(combination, "streams")):
            continue
        found.setdefault(getattr(combination.conditions, by), []).append(combination)
    axis = plot.get("x", "loss_percent")
    return {name: sorted(curve, key=lambda combination: x_of(combination, axis)) for name, curve in found.items()}


def draw_model(axes, curve, axis, line):
    """Draws equation 5: thick and pale in its valid range, dotted outside."""
    points = [(x_of(combination, axis), *prediction) for combination in curve
              if (prediction := predicted(combination.conditions)) and x_of(combination, axis) > 0]
    if not points:
        return
    x, y, valid = (numpy.array(column) for column in zip(*points))
    axes.plot(x, y, color=line["color"], linewidth=0.8, alpha=0.35, linestyle=":", label="_model")
    axes.plot(numpy.where(valid, x, math.nan), y, color=line["color"], linewidth=2.5, alpha=0.3,
              label="_valid model")


def half_widths(curve):
    """The half widths of the means' intervals; 0 for a mean without an interval."""
    return [width if math.isfinite(width := combination.mean.half_width) else 0 for combination in curve]


def draw_means(axes, combinations, plot):
    axis = plot.get("x", "loss_percent")
    for number, (name, curve) in enumerate(curves_of(combinations, plot).items()):
        line = style(number)
        shown = [combination for combination in curve if math.isfinite(combination.mean.value)
                 and not (plot.get("log_x") and x_of(combination, axis) <= 0)]
        label = CURVES[plot["curves"]].format(name) if isinstance(name, float) else label_of(name)
        x = [x_of(combination, axis) for combination in shown]
        y = [combination.mean.value for combination in shown]
        axes.errorbar(x, y, yerr=half_widths(shown), capsize=2, label=label, **line)
        for place, mean, combination in zip(x, y, shown):
            if combination.aborted:  # IKR report 53's rule: the curve ends here
                axes.plot(place, mean, marker="x", color=line["color"], markersize=11, linestyle="", label="_end")
        if plot.get("model"):
            draw_model(axes, curve, axis, line)
    for x, symbol, _ in marks_of(combinations, plot):
        axes.axvline(x, color="#808080", linewidth=0.8, linestyle=(0, (1, 2)), label="_mark")
        axes.annotate(symbol, (x, 0), xycoords=("data", "axes fraction"), xytext=(-2, 3), fontsize=6,
                      textcoords="offset points", rotation=90, ha="right", va="bottom", color="#606060")
    if plot.get("log_x"):
        axes.set_xscale("log")
        places = sorted({x_of(combination, axis) for combination in combinations} - {0.0, math.nan})
        if axis != "rate_per_connection":  # a tick at each measured value, in plain numbers
            axes.set_xticks([x for x in places if x > 0], minor=False)
            axes.xaxis.set_major_formatter("{x:g}")
            axes.tick_params(axis="x", labelsize=7, labelrotation=45 if len(places) > 9 else 0)
            axes.xaxis.set_minor_locator(NullLocator())
    if "y_max" in plot:
        axes.set_ylim(0, plot["y_max"])
    axes.set_xlabel(LABELS.get(axis, axis))
    axes.set_ylabel("Mean response time (ms)")


def stairs(x, y, end):
    """The vertices of a curve that keeps each y from its x to the next one, and the last y to `end`."""
    corners_x = numpy.repeat(numpy.append(x, end), 2)[1:-1]
    return corners_x, numpy.repeat(y, 2)


def ccdf_of(combination):
    """The vertices of a combination's CCDF, as far as the axis goes."""
    x, y = statistics.thinned(*statistics.ccdf(combination.all_times))
    return stairs(x, y, CCDF_X[1])


def draw_ccdf(axes, combinations, plot):
    by = plot.get("curves", "variant")
    for number, combination in enumerate(combinations):
        # Markers start at different places, so that curves that coincide show theirs side by side.
        places = (CCDF_MARKERS * number / max(len(combinations), 1), CCDF_MARKERS)
        axes.plot(*ccdf_of(combination), label=label_of(getattr(combination.conditions, by)),
                  markevery=places, **style(number))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*CCDF_X)
    axes.set_ylim(1e-4, 1)
    axes.set_xlabel("Response time (ms)")
    axes.set_ylabel("Share of transactions that take longer")


def save(figure, path):
    """Writes `path` with the suffixes .svg and .png."""
    text = io.StringIO()
    figure.savefig(text, format="svg", dpi=SVG_DPI, metadata={"Date": None})
    path.with_name(f"{path.name}.svg").write_text(svg.compact(text.getvalue()))
    figure.savefig(path.with_name(f"{path.name}.png"), dpi=110, metadata={"Software": None})


def draw(results, folder):
    """Draws all plots of the scenario as SVG and PNG, one figure per profile. Returns [(name, title)] of
    the figures."""
    folder.mkdir(exist_ok=True)
    drawn = []
    for plot in results.scenario.plots:
        for profile in results.profiles():
            chosen = [combination for combination in results.select(plot.get("where", {}))
                      if combination.fits({"profile": [profile]})]
            if not chosen:
                continue
            figure, axes = plt.subplots(figsize=(5.2, 3.6))
            (draw_ccdf if plot["kind"] == "ccdf" else draw_means)(axes, chosen, plot)
            like = f"; the paper's {plot['paper_figure']}" if "paper_figure" in plot else ""
            title = f"{plot['title']} ({profile}{like})"
            axes.set_title(title, fontsize=9)
            axes.legend(ncol=2)
            name = f"{plot['name']}-{profile}"
            save(figure, folder / name)
            plt.close(figure)
            drawn.append((name, title))
    return drawn


