"""Traces as numbers: the words of words.pml, and the C arrays that steps.pml compares steps with."""

import re
from pathlib import Path

HERE = Path(__file__).parent
KINDS = ("step", "agent", "word")


def read_words():
    """The numbers of the words, which are different for steps, agents, and all the rest."""
    words = {}
    for name, number in re.findall(r"^#define (\w+) +(\d+)", (HERE / "words.pml").read_text(), re.M):
        words[name] = int(number)
    return words


WORDS = read_words()
STEPS = ["", "ask", "reply", "made", "changed", "ended", "stuck", "pass", "kill", "found", "rest"]
REQUESTS = ["-", "per", "prr", "pea", "plc", "end", "pdr", "prs"]
AGENTS = ["-", "a", "boss"]
OUTCOMES = ["-", "reserved", "enabled", "disabled", "over", "granted", "no_such_rule", "denied",
            "inconsistent", "conflict", "failed"]


def number_of(word):
    """Words that the specification lacks are a number that none of its steps has."""
    return 0 if word == "-" else int(word) if word.isdigit() else WORDS.get(word, 255)


def numbers_of(line):
    return [number_of(word) for word in line.split()]


def line_of(numbers):
    """The line for the five numbers that a run of the specification prints."""
    step, slot, agent, value, rule = numbers
    name = STEPS[step]
    words = [name, str(slot) if name in ("ask", "reply") else "-", AGENTS[agent]]
    if name == "pass":
        return " ".join(words + [str(value), "-"])
    words.append((REQUESTS if name == "ask" else OUTCOMES)[value])
    return " ".join(words + [str(rule)])


def read_traces(text):
    """The traces that test-orders prints, as lists of lines."""
    traces = []
    for line in text.splitlines():
        if line.startswith("trace "):
            traces.append([])
        else:
            traces[-1].append(line)
    return traces


def arrays_of(traces):
    """The header that steps.pml includes. At its end, pan prints how far it came in each trace."""
    rows = ["{" + ",".join(map(str, numbers_of(line))) + "}" for trace in traces for line in trace]
    begins = [0]
    for trace in traces:
        begins.append(begins[-1] + len(trace))
    return f"""
static const unsigned char rows[][5] = {{{",".join(rows)}}};
static const int begins[] = {{{",".join(map(str, begins))}}};
enum {{ trace_count = {len(traces)} }};
static int furthest[trace_count];
static void report(void) {{
  for (int i = 0; i < trace_count; ++i) printf("trace %d %d\\n", i, furthest[i]);
}}
static int word_at(int trace, int at, int column) {{
  static int begun;
  if (!begun++) atexit(report);
  if (furthest[trace] < at) furthest[trace] = at;
  const int row = begins[trace] + at;
  return row < begins[trace + 1] ? rows[row][column] : 0;
}}
"""
