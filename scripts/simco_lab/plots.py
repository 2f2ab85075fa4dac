"""Figures with the papers' axes: mean over loss, streams or load, and CCDFs. Every curve differs by
colour, marker and line, so that it can be told in print and by the colour-blind."""

import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 - the back end is chosen first
import numpy  # noqa: E402
from matplotlib.ticker import NullLocator  # noqa: E402

from . import model, statistics  # noqa: E402
from .scenario import variant_parts  # noqa: E402

# Okabe and Ito's palette, which colour-blind people can tell apart.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00")
MARKERS = "osD^vP*X"
LINES = ("-", "--", "-.", ":")
LABELS = {"loss_percent": "Packet loss (%)", "rate": "Transactions per second",
          "streams": "Streams",
          "connections": "TCP connections", "rate_per_connection": "Transactions per second and connection",
          "delay_ms": "One-way delay (ms)", "jitter_ms": "Jitter (ms)"}
CURVES = {"loss_percent": "{:g} % loss", "rate": "{:g}/s", "delay_ms": "{:g} ms one way",
          "jitter_ms": "±{:g} ms", "loss_correlation": "correlation {:g}"}
matplotlib.rcParams.update({"svg.hashsalt": "simco", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "savefig.bbox": "tight", "legend.fontsize": 7})


def style(number):
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)],
            "linestyle": LINES[number % len(LINES)], "markersize": 4, "linewidth": 1.1}


def x_of(one, axis):
    _, streams, connections, _ = variant_parts(one.values["variant"])
    if axis == "streams":
        return float(streams) if one.values["variant"].startswith("sctp-") and \
            one.values["variant"] != "sctp-unordered" else math.nan
    if axis == "connections":
        return float(connections)
    if axis == "rate_per_connection":
        return one.values["rate"] / connections
    return one.values[axis]


def name_of(value):
    if not isinstance(value, str):
        return f"{value:g}"
    return {"sctp-unordered": "SCTP unordered"}.get(value, value.upper() if value[0] in "ts" else value)


def path_of(values):
    rtt = 2 * values["delay_ms"]
    rto = model.RTO_SCTP_MS if values["variant"].startswith("sctp") else rtt + model.RTO_TCP_EXTRA_MS
    return model.Path(rtt, values["rate"], values["loss_percent"] / 100, rto)


def predicted(values):
    """Equation 5 for these values, and whether it is valid there; None where it says nothing."""
    if values["loss_percent"] == 0 or values["jitter_ms"]:
        return None
    _, streams, connections, unordered = variant_parts(values["variant"])
    path = path_of(values)
    value = model.response_ms(path, streams, connections, unordered)
    return value, unordered or model.valid(path, streams, connections)


def marks(values, axis):
    """The model's special places on an axis for these values: [(x, symbol, what it is)]."""
    path = path_of(values)
    place = f"{values['rate']:g}/s, RTT {path.rtt_ms:g} ms"
    if axis == "streams":
        enough = model.streams_enough(path)
        return [(enough, f"M = {enough}", f"streams that are enough at {place}")]
    if axis == "connections":
        best = model.connections_best(values["rate"], path.rtt_ms)
        return [(best, f"N_opt = {best:.1f} ({values['rate']:g}/s)", f"best number of connections at {place}")]
    if axis in ("rate", "rate_per_connection"):
        knee, best = model.alpha(path.rto_ms), model.mu(path.rtt_ms)
        found = [(knee, f"alpha = {knee:.3g}/s", "from here on three later messages come before the time-out")]
        if axis == "rate_per_connection":
            found.append((best, f"mu = {best:.3g}/s", "least mean of a connection"))
        return found
    return []


def marks_of(combinations, plot):
    """Those of all curves of a plot, each once."""
    if not plot.get("model"):
        return []
    axis = plot.get("x", "loss_percent")
    return list(dict.fromkeys(mark for one in combinations if one.values["loss_percent"] > 0
                              for mark in marks(one.values, axis)))


def curves_of(combinations, plot):
    """{label: combinations in the order of x} of a plot of means."""
    by = plot.get("curves", "variant")
    found = {}
    for one in combinations:
        if plot.get("x") == "streams" and math.isnan(x_of(one, "streams")):
            continue
        found.setdefault(one.values[by], []).append(one)
    axis = plot.get("x", "loss_percent")
    return {name: sorted(ones, key=lambda one: x_of(one, axis)) for name, ones in found.items()}


def draw_model(axes, ones, axis, look):
    """Equation 5 beside the measurements: drawn where it is valid, dotted faintly beyond."""
    points = [(x_of(one, axis), *prediction) for one in ones
              if (prediction := predicted(one.values)) and x_of(one, axis) > 0]
    if not points:
        return
    x, y, valid = (numpy.array(column) for column in zip(*points))
    axes.plot(x, y, color=look["color"], linewidth=0.8, alpha=0.35, linestyle=":", label="_model")
    axes.plot(numpy.where(valid, x, math.nan), y, color=look["color"], linewidth=2.5, alpha=0.3,
              label="_valid model")


def draw_means(axes, combinations, plot):
    axis = plot.get("x", "loss_percent")
    for number, (name, ones) in enumerate(curves_of(combinations, plot).items()):
        look = style(number)
        shown = [one for one in ones if math.isfinite(one.mean.value)
                 and not (plot.get("log_x") and x_of(one, axis) <= 0)]
        label = name_of(name) if isinstance(name, str) else CURVES[plot["curves"]].format(name)
        axes.errorbar([x_of(one, axis) for one in shown], [one.mean.value for one in shown],
                      yerr=[one.mean.half_width if math.isfinite(one.mean.half_width) else 0 for one in shown],
                      capsize=2, label=label, **look)
        for one in shown:
            if one.aborted:  # report 53's rule: here the curve ends
                axes.plot(x_of(one, axis), one.mean.value, marker="x", color=look["color"], markersize=11,
                          linestyle="", label="_end")
        if plot.get("model"):
            draw_model(axes, ones, axis, look)
    for x, symbol, _ in marks_of(combinations, plot):
        axes.axvline(x, color="#808080", linewidth=0.8, linestyle=(0, (1, 2)), label="_mark")
        axes.annotate(symbol, (x, 0), xycoords=("data", "axes fraction"), xytext=(-2, 3), fontsize=6,
                      textcoords="offset points", rotation=90, ha="right", va="bottom", color="#606060")
    if plot.get("log_x"):
        axes.set_xscale("log")
        places = sorted({x_of(one, axis) for one in combinations} - {0.0, math.nan})
        if axis != "rate_per_connection":  # what was measured, in plain numbers
            axes.set_xticks([x for x in places if x > 0], minor=False)
            axes.xaxis.set_major_formatter("{x:g}")
            axes.tick_params(axis="x", labelsize=7, labelrotation=45 if len(places) > 9 else 0)
            axes.xaxis.set_minor_locator(NullLocator())
    if "y_max" in plot:
        axes.set_ylim(0, plot["y_max"])
    axes.set_xlabel(LABELS.get(axis, axis))
    axes.set_ylabel("Mean response time (ms)")


def draw_ccdf(axes, combinations, plot):
    by = plot.get("curves", "variant")
    for number, one in enumerate(combinations):
        look = {**style(number), "marker": "", "drawstyle": "steps-post"}
        x, y = statistics.thinned(*statistics.ccdf(one.all_times))
        axes.plot(numpy.append(x, 1e5), numpy.append(y, y[-1] if len(y) else 0),
                  label=name_of(one.values[by]), **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(10, 10000)
    axes.set_ylim(1e-4, 1)
    axes.set_xlabel("Response time (ms)")
    axes.set_ylabel("Share that takes longer (CCDF)")


def draw(results, folder):
    """All plots of the scenario as SVG and PNG; returns [(name, title)] of those drawn. A plot is
    drawn once for each profile."""
    folder.mkdir(exist_ok=True)
    drawn = []
    for plot in results.scenario.plots:
        for profile in results.profiles():
            chosen = [one for one in results.select(plot.get("where", {})) if one.values["profile"] == profile]
            if not chosen:
                continue
            figure, axes = plt.subplots(figsize=(5.2, 3.6))
            (draw_ccdf if plot["kind"] == "ccdf" else draw_means)(axes, chosen, plot)
            like = f"; the paper's {plot['paper_figure']}" if "paper_figure" in plot else ""
            title = f"{plot['title']} ({profile}{like})"
            axes.set_title(title, fontsize=9)
            axes.legend(ncol=2)
            name = f"{plot['name']}-{profile}"
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
            plt.close(figure)
            drawn.append((name, title))
    return drawn


