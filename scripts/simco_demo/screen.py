"""The output of the demonstration, as it happens; and a record of it, for the picture and the documents."""

import os
import time

LABEL = 18  # columns before the bars
LEVELS = "▁▂▃▅▆▇"  # of a bar: from none to all packets of its group
PLAIN_LEVELS = "_12345"  # for terminals without UTF-8
COLOURS = {"command": "\033[1m", "good": "\033[32m", "bad": "\033[31m", "faint": "\033[2m", "": ""}


def prints_bars(out):
    """Returns whether `out` can print the characters of LEVELS."""
    try:
        LEVELS.encode(out.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


class Screen:
    """Prints pieces of text at once. A piece has a kind: command, good, bad, faint or none."""

    def __init__(self, out):
        self.out = out
        self.coloured = out.isatty() and "NO_COLOR" not in os.environ
        self.levels = LEVELS if prints_bars(out) else PLAIN_LEVELS
        self.pieces = []  # (seconds since the start, kind, text)
        self.picture = self.pieces
        self.began = time.monotonic()

    def write(self, text, kind=""):
        self.pieces.append((time.monotonic() - self.began, kind, text))
        shown = f"{COLOURS[kind]}{text}\033[0m" if self.coloured and kind else text
        self.out.write(shown)
        self.out.flush()

    def say(self, text="", kind=""):
        self.write(text, kind)
        self.write("\n")

    def command(self, text):
        self.say(f"$ {text}", "command")

    def label(self, text):
        self.write(f"{text:>{LABEL}}  ")

    def bar(self, arrived, sent):
        """Shows how many packets of a group arrived."""
        level = arrived * (len(self.levels) - 1) // sent
        self.write(self.levels[level], "good" if arrived == sent else "bad")

    def end_of_picture(self):
        """The picture shows what was printed until now."""
        self.picture = list(self.pieces)

    @property
    def text(self):
        return "".join(text for _, _, text in self.pieces)
