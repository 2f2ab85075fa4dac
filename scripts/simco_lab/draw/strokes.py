"""The looks of curves: no two of the first 32 are alike, in colour and in greyscale; and the least length of an axis of times."""

# Okabe and Ito's palette, which colour-blind people can tell apart.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D00")
MARKERS = "osD^vP*X<>ph8dH|"  # more than colours: two curves of one colour differ in their markers
LINES = ("-", "--", "-.", ":")
SPAN_MS, SPAN_SHARE = 1.0, 0.02  # the least length of an axis of times is the greater: what differs by less is instructions


def style(number):
    """Returns how the curve of that number looks: no two of the first 32 look alike."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)],
            "linestyle": LINES[number % len(LINES)], "markersize": 4, "linewidth": 1.1,
            "fillstyle": "none" if number >= len(MARKERS) else "full"}


def widen(axes):
    """Gives a linear y axis of milliseconds its least length."""
    low, high = axes.get_ylim()
    lacking = max(SPAN_MS, SPAN_SHARE * high) - (high - low)
    if lacking > 0:
        low = max(low - lacking / 2, min(low, 0.0))
        axes.set_ylim(low, max(high + lacking / 2, low + SPAN_MS))
