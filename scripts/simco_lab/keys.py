"""The keys of a scenario file, and what each takes."""

from .catalogue import WORKLOADS
from .conditions import AXES, DIMENSIONS, NUMBERS
from .networks import NETWORKS
from .points import Setup
from .quantities import QUANTITIES
from .shapes import (ANYTHING, CONDITIONS, FLAG, NAME, ONE_OR_TABLES, ORDER, PRINTED, PRINTED_BY_NAME, TABLE, TABLES, TEXT, TEXTS, count, number,
                     one_of, several_of)
from .sizes import MESSAGE_MAX, RESPONSE_MAX

SCALES = ("quick", "full")
COUNT_MAX = 2**32  # transactions
SECONDS = number(0, 1_000_000)
ANY = number()
AXES_KNOWN = (*sorted(NUMBERS), *AXES)
TRACE_AXES = ("message", "time")  # a trace's x

# What concerns the workload sip only.
SIP = {
    "measure": one_of(("response", "one-way")),
    "capture": FLAG,
    "invite_size": number(1, MESSAGE_MAX, whole=True),
    "response": one_of(("180", "100", "none")),
    "response_size": number(1, RESPONSE_MAX, whole=True),
    "drain_s": number(0, 86_400),
    "large_over_udp": FLAG,
    "skip_s": SECONDS,
    "large_every": number(2, 1_000_000_000, whole=True),
}
# What a scenario says once for all of its points (points.Setup).
SETUP = {
    **SIP,
    "network": one_of(tuple(NETWORKS)),
    "seeds": one_of(("shared", "own")),
    "abort_lag_s": SECONDS,
    "lose_at": number(0, COUNT_MAX, whole=True),
    "mtu_at_s": SECONDS,
    "cross_lead_s": SECONDS,
    "cross_from_s": SECONDS,
    "cross_for_s": SECONDS,
    "burst": number(0, COUNT_MAX, whole=True),
}
assert set(SETUP) == set(Setup.__dataclass_fields__)
VALUES = {name: ANYTHING for name in DIMENSIONS}
SCALE = {"count": count(1, COUNT_MAX), "replications": number(1, 10_000, whole=True), **VALUES}

# The keys that an expectation of each kind needs.
EXPECT_KINDS = {"less": ("less", "than"), "equal": ("tolerance_ms",), "model": ("percent",), "monotone": (),
                "differs": ("less", "than"), "alike": ("less", "than"), "identical": ("less", "than"), "bound": (),
                "order": ("order",), "step": ("less", "than", "axis", "from", "to"), "regression": ("axis", "on")}
PAIRED = ("less", "differs", "alike", "identical", "step")
# The kinds that alone take a key.
KINDS_WITH = {"less": PAIRED, "than": PAIRED, "order": ("order",), "tolerance_ms": ("equal",), "percent": ("model",), "side": ("model",),
              "factor": ("less",), "below": ("bound",), "above": ("bound",), "rtts": ("bound",), "runs": ("bound",),
              "share": ("differs", "alike", "bound"), "axis": ("monotone", "step", "regression"), "on": ("regression",),
              "from": ("step",), "to": ("step",), "added": ("step",), "falls": ("monotone",), "or_alike": ("less", "monotone"),
              "quantity": ("less", "equal", "monotone", "differs", "alike", "bound", "order", "step", "regression")}
ALONG_AN_AXIS = ("quantity", "falls", "or_alike")  # of 'monotone' with an 'axis' only
# Those that a table must have.
NEEDED = {"": ("title", "matrix", *SCALES), "matrix": ("variant",), "quick": ("count",), "full": ("count",),
          "plot": ("name", "title", "kind"), "expect": ("id", "claim", "kind"), "paper": ("what",)}
# By the name of the table; that of the top has none.
KEYS = {
    "": {
        "title": TEXT, "source": TEXT, "notes": TEXTS, "workload": one_of(tuple(WORKLOADS)),
        "arrivals": one_of(("poisson", "constant")), "seed": number(whole=True),
        "warmup": number(0, COUNT_MAX, whole=True), "tables": several_of(tuple(sorted(QUANTITIES))),
        "matrix": ONE_OR_TABLES, "quick": TABLE, "full": TABLE, "plot": TABLES, "expect": TABLES, "paper": TABLES,
        **SETUP,
    },
    "matrix": {"scale": one_of(SCALES), **VALUES},
    "quick": SCALE,
    "full": SCALE,
    "plot": {
        "name": NAME, "title": TEXT, "kind": one_of(("mean", "over", "ccdf", "trace", "delivery", "parts")),
        "x": one_of((*AXES_KNOWN, *TRACE_AXES)), "curves": one_of(DIMENSIONS), "where": CONDITIONS, "log_x": FLAG,
        "model": FLAG, "y_max": number(1e-6), "paper_figure": TEXT, "quantity": one_of(tuple(sorted(QUANTITIES))),
        "panels": several_of(DIMENSIONS), "from": number(0, COUNT_MAX, whole=True), "to": number(0, COUNT_MAX, whole=True),
    },
    "expect": {
        "id": TEXT, "claim": TEXT, "kind": one_of(tuple(EXPECT_KINDS)), "quantity": one_of(tuple(sorted(QUANTITIES))),
        "less": CONDITIONS, "than": CONDITIONS, "where": CONDITIONS, "order": ORDER,
        "tolerance_ms": number(0), "percent": number(0), "side": one_of(("above",)), "factor": number(1e-6),
        "below": ANY, "above": ANY, "rtts": number(0), "share": number(0, 1),
        "axis": one_of(AXES_KNOWN), "on": several_of(AXES_KNOWN), "from": ANY, "to": ANY, "added": FLAG, "falls": FLAG,
        "runs": one_of(("every", "some")), "or_alike": FLAG,
    },
    "paper": {"what": TEXT, "value": PRINTED, "values": PRINTED_BY_NAME, "quantity": one_of(tuple(sorted(QUANTITIES))),
              "where": CONDITIONS, "less": CONDITIONS, "than": CONDITIONS},
}
# Of those tables, what must differ between two of a name.
OWN = {"plot": "name", "expect": "id"}
