"""Maps: which variant to use over two dimensions, and how long it takes."""

import math

from matplotlib.patches import Patch

from ..judge.choice import choices
from ..scenario.conditions import axis_value, label_of

# Pale, so that black numbers can be read on them.
COLOURS = ("#BBD7EE", "#F6C9A0", "#B5E0C4", "#E6C3DC", "#EEE3A0", "#D0D0D0")
UNDECIDED = "#FFFFFF"
BORDER = {"edgecolor": "black", "linewidth": 0.4}


def brief(value):
    """Returns a number of at most five characters, or so."""
    if math.isinf(value):
        return "∞"
    return f"{value:.0f}" if value < 9999.5 else f"{value / 1000:.0f}k"


def cell_of(choice, quantity, names):
    """Returns the colour and the text of a cell."""
    if choice.chosen:
        text = brief(choice.chosen.quantity(quantity).value)
        return COLOURS[names.index(choice.chosen.conditions.variant) % len(COLOURS)], text
    best = [one.quantity(quantity).value for one in choice.possible]
    numbers = "/".join(str(names.index(one.conditions.variant) + 1) for one in choice.possible)
    return UNDECIDED, f"{brief(min(best))}\n{numbers}?" if best else "none"


def draw_best(axes, combinations, plot, look):
    """A cell for each place of the two axes. Returns the legend's entries, or None if there is nothing to draw."""
    if not combinations:
        return None
    names = list(dict.fromkeys(one.conditions.variant for one in combinations))
    columns, rows = (sorted({axis_value(one.conditions, axis) for one in combinations}) for axis in (plot.axis, plot.y))
    axes.grid(False)
    for choice in choices(combinations, plot.quantity).values():
        where = choice.combinations[0].conditions
        x, y = columns.index(axis_value(where, plot.axis)), rows.index(axis_value(where, plot.y))
        colour, text = cell_of(choice, plot.quantity, names)
        axes.fill([x, x + 1, x + 1, x], [y, y, y + 1, y + 1], facecolor=colour, **BORDER)
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=look.legend)
    axes.set_xlim(0, len(columns))
    axes.set_ylim(0, len(rows))
    axes.set_xticks([x + 0.5 for x in range(len(columns))], [f"{value:g}" for value in columns])
    axes.set_yticks([y + 0.5 for y in range(len(rows))], [f"{value:g}" for value in rows])
    entries = {f"{number + 1} {label_of(name)}": COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    return [Patch(facecolor=colour, label=label, **BORDER) for label, colour in {**entries, "undecided": UNDECIDED}.items()]
