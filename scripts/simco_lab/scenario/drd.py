"""Derivative random drop, the queue of NIST Net, as vm/drd.c has it: its commands and its counts."""

from ..errors import BadRun

OBJECT = "drd.o"
FOLDER = "/run/bpf/drd"  # where the guest has its programs and their map
DUMP = f"bpftool -j map dump pinned {FOLDER}/lines"  # command that prints the map
FIELDS = ("min", "max", "state", "in", "out", "dropped", "deepest")
DIRECTIONS = ("request", "reply")
# Where each direction's packets enter and leave the delay line.
ENDS = {"request": ("router", "far"), "reply": ("far", "router")}


def octets(values):
    """Returns 64-bit numbers as `bpftool` takes them."""
    return " ".join(f"{octet:02x}" for value in values for octet in value.to_bytes(8, "little"))


def commands(low, high, seeds, device):
    """Returns [(namespace, command)] that put it before the delay line of `device`. `seeds` are numbers above 0,
    {direction: seed}."""
    result = []
    for key, direction in enumerate(DIRECTIONS):
        before, behind = ENDS[direction]
        values = octets((low, high, seeds[direction] or 1, 0, 0, 0, 0))
        result.append(("router", f"bpftool map update pinned {FOLDER}/lines key {key} 0 0 0 value hex {values}"))
        result += [(before, f"tc filter add dev {device} egress bpf da object-pinned {FOLDER}/enter_{direction}"),
                   (behind, f"tc filter add dev {device} ingress bpf da object-pinned {FOLDER}/leave_{direction}")]
    return [*((name, f"tc qdisc add dev {device} clsact") for name in ("router", "far")), *result]


def counts(dumped):
    """Returns {direction: {field: number}} of the output of `bpftool -j map dump`."""
    return {direction: {name: int(dumped[key]["formatted"]["value"][name]) for name in FIELDS}
            for key, direction in enumerate(DIRECTIONS)}


def check_counts(counted, low, high, waiting):
    """Raises BadRun if the counts of the programs contradict the settings; `waiting` packets were in the line a moment before."""
    for direction, line in counted.items():
        if (line["min"], line["max"]) != (low, high):
            raise BadRun(f"the thresholds of '{direction}' were {line['min']}-{line['max']}, not {low}-{high}")
        if not 0 <= line["in"] - line["out"] <= waiting[direction]:
            raise BadRun(f"{line['in']} packets of '{direction}' entered the delay line, but {line['out']} left it")
        if line["dropped"] and line["deepest"] <= low:
            raise BadRun(f"{line['dropped']} packets of '{direction}' were dropped from a queue of {line['deepest']},"
                         f" below {low}")
