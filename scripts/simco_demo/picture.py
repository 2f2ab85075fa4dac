"""A terminal that shows a recording again, as an SVG that moves: text where it was printed, when it was printed, and
bars as shapes. A viewer that does not animate shows all of it."""

from xml.sax.saxutils import escape

from .screen import LEVELS

COLUMN, LINE, MARGIN = 7.8, 19, 14  # pixels
FONT = 13
COLOURS = {"command": "#ffffff", "good": "#3fb950", "bad": "#f0883e", "faint": "#8b949e", "": "#c9d1d9"}
STYLE = """
text { font: %dpx "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.c { font-weight: bold; }
text, .b { animation: appear 1ms step-end both; }
@keyframes appear { from { visibility: hidden; } to { visibility: visible; } }
@media (prefers-reduced-motion: reduce) { text, .b { animation: none; } }
""" % FONT


def bar(level, x, y, colour, delay):
    height = 2 + (LINE - 6) * level / (len(LEVELS) - 1)
    return (f'<rect class="b" x="{x:.1f}" y="{y + 3 - height:.1f}" width="{COLUMN - 1:.1f}" height="{height:.1f}" '
            f'fill="{colour}" style="{delay}"/>')


def text(part, x, y, kind, delay):
    # The length keeps columns in line whatever font there is.
    bold = ' class="c"' if kind == "command" else ""
    return (f'<text xml:space="preserve"{bold} x="{x:.1f}" y="{y}" fill="{COLOURS[kind]}" textLength="{len(part) * COLUMN:.1f}" '
            f'style="{delay}">{escape(part)}</text>')


def animated(pieces):
    """Returns the SVG of [(seconds, kind, text)]."""
    shapes, line, column, width = [], 0, 0, 0
    for seconds, kind, piece in pieces:
        delay = f"animation-delay:{seconds:.2f}s"
        for number, part in enumerate(piece.split("\n")):
            if number > 0 and shapes:  # no blank lines at the top
                line, column = line + 1, 0
            blanks = len(part) - len(part.lstrip())
            x, y = MARGIN + (column + blanks) * COLUMN, MARGIN + (line + 1) * LINE - 5
            if len(part) == 1 and part in LEVELS:
                shapes.append(bar(LEVELS.index(part), x, y, COLOURS[kind], delay))
            elif part.strip():
                shapes.append(text(part.strip(), x, y, kind, delay))
            column += len(part)
            width = max(width, column)
    lines = line + (column > 0)
    size = f'width="{2 * MARGIN + width * COLUMN:.0f}" height="{2 * MARGIN + lines * LINE}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{STYLE}</style>",
                      '<rect width="100%" height="100%" rx="8" fill="#161b22"/>', *shapes, "</svg>", ""])
