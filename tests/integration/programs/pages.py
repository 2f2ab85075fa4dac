"""For tests of pages: lines that they print, and networks for their commands."""

import re

# It stands as it is; all other numbers may differ.
FIXED = r"\d+(?:\.\d+){3}(?::\d+)?(?:/\d+)?|0x\w+|\d+ (?:enabled|reserved),|for \d+ s\b"


def pattern(line):
    """Returns the expression of a line of the page: "..." is any text, a gap is any gap, a number is any number."""
    parts = re.split(rf"({FIXED}|\.\.\.|\s+|\d+)", line)
    return re.compile("".join(
        ".*" if part == "..." else r"\s+" if part.isspace() else r"\d+" if part.isdigit() else re.escape(part) for part in parts))


def own_network(root):
    """Returns the beginning of a command that runs in a network of its own, for root or another user."""
    return ["unshare", *([] if root else ["--user", "--map-root-user"]), "--net"]
