"""The looks of curves; and figures of single messages, and of what their delays consist of: the delay over the time or the
number of each message, deliveries over time, and stacked bars of the parts."""

import math

import numpy

from ..measure.parts import NAMES
from ..scenario.conditions import label_of

# Okabe and Ito's palette, which colour-blind people can tell apart.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00")
MARKERS = "osD^vP*X<>ph8dH|"  # more than colours: two curves of one colour differ in their markers
LINES = ("-", "--", "-.", ":")
SPAN_MS, SPAN_SHARE = 1.0, 0.02  # the least length of an axis of times is the greater: what differs by less is instructions
WIDE_RANGE = 5  # values that differ by more than this factor get a logarithmic axis
COLUMNS = 180  # of a figure: of more messages, the least and the greatest value in each column are drawn
MARKED_MAX = 150  # points of a curve that have a marker each; of more, every so many'th has one
MARKED = 12  # of a curve then
PART_LABELS = {"sender": "waits for the sender's window", "network": "network and recovery",
               "behind": "waits behind others"}
PART_COLOURS = ("#FFFFFF", "#56B4E9", "#404040")  # light, medium and dark: they differ in print, too


def style(number):
    """Returns how the curve of that number looks: no two of the first 32 look alike."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)],
            "linestyle": LINES[number % len(LINES)], "markersize": 4, "linewidth": 1.1,
            "fillstyle": "none" if number >= len(MARKERS) else "full"}


def reach(estimates):
    """Returns how far the intervals reach below and above their values; 0 for a value without an interval, or without end."""
    return [[max(width, 0) if math.isfinite(width) else 0 for width in widths]
            for widths in ([one.value - one.low for one in estimates], [one.high - one.value for one in estimates])]


def widen(axes):
    """Gives a linear y axis of milliseconds its least length."""
    low, high = axes.get_ylim()
    lacking = max(SPAN_MS, SPAN_SHARE * high) - (high - low)
    if lacking > 0:
        low = max(low - lacking / 2, min(low, 0.0))
        axes.set_ylim(low, max(high + lacking / 2, low + SPAN_MS))


def window(combination, plot):
    """Returns (message, handed over in ms, delay in ms) of the first run, of the messages from `first` to `last`."""
    times, scheduled = combination.times[0], combination.scheduled[0]
    chosen = slice(plot.first, plot.last)
    number = numpy.arange(len(times))[chosen]
    return number, scheduled[chosen], times[chosen]


def thinned(x, y):
    """Returns the points of a curve that can be told apart: none is above or below those that are left."""
    if len(x) <= 2 * COLUMNS:
        return x, y
    columns = numpy.searchsorted(numpy.linspace(x[0], x[-1], COLUMNS + 1)[1:-1], x, side="right")
    starts = numpy.flatnonzero(numpy.diff(columns, prepend=-1))
    kept = {start + int(end(y[start:stop])) for start, stop in zip(starts, [*starts[1:], len(y)])
            for end in (numpy.argmin, numpy.argmax)}
    kept = sorted(kept | {0, len(x) - 1})
    return x[kept], y[kept]


def markers(number, points):
    """Returns where the curve of that number has markers, and how it looks."""
    line = style(number)
    if points <= MARKED_MAX:
        return {**line, "markersize": 2, "linewidth": 0.5}
    every = points // MARKED
    return {**line, "linewidth": 0.7, "markevery": (number * every // len(COLOURS) % every, every)}


def draw_points(axes, combinations, plot, of_window, labels):
    """Draws a curve of points for each combination. Returns [], or None if there is nothing to draw."""
    drawn = 0
    for number, combination in enumerate(combinations):
        x, y = of_window(*window(combination, plot))
        finite = numpy.isfinite(y)
        if finite.any():
            lost = len(y) - finite.sum()
            x, y = thinned(x[finite], y[finite])
            axes.plot(x, y, label=label_of(getattr(combination.conditions, plot.curves))
                      + (f" ({lost} not delivered)" if lost else ""), **markers(number, len(x)))
            drawn += 1
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    return [] if drawn else None


def draw_trace(axes, combinations, plot, _):
    """The delay of each message over its number, or over the time at which it was handed over."""
    over_time = plot.x == "time"
    entries = draw_points(axes, combinations, plot, lambda number, at, delay: (at if over_time else number, delay),
                          ("Handed over at (ms)" if over_time else "Message", "Delay (ms)"))
    widen(axes)
    return entries


def draw_delivery(axes, combinations, plot, _):
    """The time of delivery over the time at which a message was handed over."""
    return draw_points(axes, combinations, plot, lambda _, at, delay: (at, at + delay),
                       ("Handed over at (ms)", "Delivered at (ms)"))


def draw_parts(axes, combinations, plot, _):
    """Stacked bars: the mean of each part of the delay."""
    with_parts = [combination for combination in combinations
                  if all(numpy.isfinite(combination.quantity(name).value) for name in NAMES)]
    if not with_parts:
        return None
    bottom = numpy.zeros(len(with_parts))
    for number, name in enumerate(NAMES):
        heights = numpy.array([combination.quantity(name).value for combination in with_parts])
        axes.bar(range(len(with_parts)), heights, bottom=bottom, color=PART_COLOURS[number], edgecolor="black",
                 linewidth=0.4, label=PART_LABELS[name])
        bottom += heights
    names = [label_of(getattr(combination.conditions, plot.curves)) for combination in with_parts]
    axes.set_xticks(range(len(with_parts)), names, rotation=30, ha="right")
    axes.set_ylabel("Mean one-way delay (ms)")
    for name, combination in zip(names, with_parts):
        if unsplit := len(combination.all_times) - combination.messages_split:
            axes.plot([], [], linestyle="", label=f"{name}: without {unsplit} of {len(combination.all_times)} messages")
    return []


KINDS = {"trace": draw_trace, "delivery": draw_delivery, "parts": draw_parts}
