"""Categories side by side, such as queues: a value with its interval for each variant in each of them."""

import math

from ..measure.quantities import QUANTITIES
from ..scenario.conditions import label_of
from .traces import WIDE_RANGE, reach, style

WIDTH = 0.6  # that the variants of a category take, of the distance to the next


def draw_groups(axes, combinations, plot, _):
    """Returns [], or None if there is nothing to draw."""
    found = [(one, value) for one in combinations if math.isfinite((value := one.quantity(plot.quantity)).value)]
    if not found:
        return None
    names, curves = (list(dict.fromkeys(getattr(one.conditions, key) for one, _ in found)) for key in (plot.axis, plot.curves))
    for number, curve in enumerate(curves):
        shift = WIDTH * ((number + 0.5) / len(curves) - 0.5)
        own = [(names.index(getattr(one.conditions, plot.axis)) + shift, value) for one, value in found
               if getattr(one.conditions, plot.curves) == curve]
        axes.errorbar([x for x, _ in own], [value.value for _, value in own], yerr=reach([value for _, value in own]), capsize=2,
                      label=label_of(curve), **{**style(number), "linestyle": ""})
    values = [value.value for _, value in found]
    if min(values) > 0 and max(values) > WIDE_RANGE * min(values):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(range(len(names)), [label_of(name) for name in names])
    axes.set_ylabel(QUANTITIES[plot.quantity].title(plot.measure))
    return []
