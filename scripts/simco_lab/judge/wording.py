"""Numbers as reports print them: infinite ones, and those without an interval, in words."""

import math

DIGITS_MAX = 6  # behind the point
TIMES_MAX = 1000  # the sample


def figure(value, digits=1, sign=""):
    """Returns a number in words; with `sign = "+"` it has a sign; what is rounded to 0 has no minus."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return f"{'-' if value < 0 else sign}∞"
    return f"{value:{sign}z.{digits}f}"


def digits(value, limits):
    """Returns how many digits behind the point tell a value from the limits that it differs from: 1 at least."""
    shown = 1
    while shown < DIGITS_MAX and any(round(float(value), shown) == limit and not math.isclose(value, limit) for limit in limits):
        shown += 1
    return shown


def ends(interval, digits=1, sign="+"):
    """Returns the ends of an interval: "-4.1 to -3.1"; or that there is none. With a sign, "-0.0" is below 0."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return "without an interval"
    return " to ".join(f"-{figure(-end, digits)}" if sign and end < 0 else figure(end, digits, sign)
                       for end in (interval.low, interval.high))


def with_interval(estimate, digits=1):
    """Returns an estimate with its interval, if it has one: "20.1 ± 0.5", or "47.0 (46.8 to 548.0)" if it is not in its middle."""
    value = figure(estimate.value, digits)
    if not math.isfinite(estimate.value) or math.isnan(estimate.low) or math.isnan(estimate.high):
        return value
    if estimate.skewed:
        return f"{value} ({ends(estimate, digits, sign='')})"
    return f"{value} ± {estimate.half_width:.{digits}f}" if math.isfinite(estimate.half_width) else value


def gap(estimate, digits=1):
    """Returns a difference with its interval: "-3.6 ± 0.5", or "-3.6, -4.1 to -3.0" if it is not in its middle; or that it has none."""
    if not math.isfinite(estimate.value):
        return "no finite difference"
    if estimate.skewed and math.isfinite(estimate.half_width):
        return f"{figure(estimate.value, digits, '+')}, {ends(estimate, digits)}"
    return figure(estimate.value, digits, "+") + \
        (f" ± {estimate.half_width:.{digits}f}" if math.isfinite(estimate.half_width) else ", without an interval")


def sample_to_tell(gap, margin=0.0):
    """Returns how much larger a sample would decide an open difference: either its sign, or that it is within the margin of no
    consequence. It assumes that the difference stays, and that the interval narrows with the root of the sample. Empty if the difference
    is not open, or has no interval."""
    if not -math.inf < gap.low <= 0 <= gap.high < math.inf:
        return ""
    apart = (gap.value - gap.low if gap.value > 0 else gap.high - gap.value) / abs(gap.value) if gap.value else math.inf
    room = margin - abs(gap.value)
    alike = max(gap.high - gap.value, gap.value - gap.low) / room if room > 0 else math.inf
    times = min(apart, alike) ** 2
    return f", would take {f'more than {TIMES_MAX:,}' if times > TIMES_MAX else f'about {max(math.ceil(times), 2)}'} times the sample"
