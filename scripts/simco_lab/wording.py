"""Numbers as reports print them: what never ends, and what has no interval, in words."""

import math


def figure(value, digits=1, sign=""):
    """Returns a number in words; with `sign = "+"` it has a sign."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return f"{'-' if value < 0 else sign}∞"
    return f"{value:{sign}.{digits}f}"


def ends(interval, digits=1):
    """Returns the ends of an interval: "-4.1 to -3.1"; or that there is none."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return "without an interval"
    return " to ".join(figure(end, digits, "+") for end in (interval.low, interval.high))


def gap(estimate, digits=1):
    """Returns a difference with its interval: "-3.6 ± 0.5"; or that it has none."""
    if not math.isfinite(estimate.value):
        return "no finite difference"
    return figure(estimate.value, digits, "+") + \
        (f" ± {estimate.half_width:.{digits}f}" if math.isfinite(estimate.half_width) else ", without an interval")
