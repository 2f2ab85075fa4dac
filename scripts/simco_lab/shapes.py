"""What the keys of a scenario file take: in words, and as a check of a value of any kind."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .catalogue import words


@dataclass(frozen=True)
class Shape:
    """`words` go behind "must be"."""

    words: str
    fits: Callable


def digits(value):
    """Returns a number as a sentence has it: 10,000,000 and 0.000001."""
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return text or "0"


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(least=-math.inf, most=math.inf, *, whole=False, below=math.inf, or_zero=False):
    """Returns the shape of a finite number from `least` to `most`, or below `below`."""
    if math.isinf(least):
        ends = ""
    elif math.isfinite(below):
        ends = f" from {digits(least)} to below {digits(below)}"
    else:
        ends = f" from {digits(least)} to {digits(most)}" if math.isfinite(most) else f" of {digits(least)} or more"

    def fits(value):
        if not is_number(value) or whole and not isinstance(value, int) or isinstance(value, float) and not math.isfinite(value):
            return False
        return or_zero and value == 0 or least <= value <= most and value < below

    return Shape(f"{'0 or ' * or_zero}a {'whole ' * whole}number{ends}", fits)


def one_of(names):
    """Returns the shape of one of these words; of many of them a list is given."""
    return Shape(words(names) if len(names) < 5 else f"one of {', '.join(names)}",
                 lambda value: isinstance(value, str) and value in names)


def several_of(names):
    return Shape(f"a list with some of {', '.join(names)}", lambda value: is_list_of(one_of(names).fits, value))


def is_list_of(fits, value):
    return isinstance(value, list) and bool(value) and all(map(fits, value))


def is_text(value):
    return isinstance(value, str) and bool(value.strip())


def is_conditions(value):
    return isinstance(value, dict)


def is_count(least, most, value):
    fits = number(least, most, whole=True).fits
    if not isinstance(value, dict):
        return fits(value)
    return bool(value) and all(is_numeral(rate) and fits(count) for rate, count in value.items())


def is_numeral(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def count(least, most):
    """Returns the shape of a number of transactions, or of a table of them by rate."""
    return Shape(f"transactions, from {digits(least)} to {digits(most)}, or a table of them by rate", partial(is_count, least, most))


TEXT = Shape("a text", is_text)
TEXTS = Shape("a list of sentences", lambda value: value == [] or is_list_of(is_text, value))
FLAG = Shape("true or false", lambda value: isinstance(value, bool))
TABLE = Shape("a table", is_conditions)
TABLES = Shape("tables, each with a line [[...]]", lambda value: isinstance(value, list) and all(map(is_conditions, value)))
ONE_OR_TABLES = Shape("a table, or several", lambda value: is_conditions(value) or is_list_of(is_conditions, value))
CONDITIONS = Shape("conditions, such as { rate = 100 }", is_conditions)
ORDER = Shape("a list of two conditions or more", lambda value: is_list_of(is_conditions, value) and len(value) > 1)
# Of a matrix, for the check of its values by their dimension.
ANYTHING = Shape("a value, or a list of them", lambda _: True)
# What a paper prints, such as 49, "about 200" or "1.01 (0.9 to 1.1)". A number as a text would not be compared with ours.
PRINTED = Shape("a number without quotes, or a text with a number and more in it",
                lambda value: number().fits(value) or is_text(value) and bool(re.search(r"\d", value)) and not is_numeral(value))
PRINTED_BY_NAME = Shape(f"a table, with {PRINTED.words} for each variant",
                        lambda value: is_conditions(value) and bool(value) and all(map(PRINTED.fits, value.values())))
# Of a figure's file.
NAME = Shape("letters, digits, '-', '_' and '.'", lambda value: isinstance(value, str) and bool(re.fullmatch(r"\w[\w.-]*", value)))
