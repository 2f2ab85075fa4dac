"""What the parts of a scenario have to do with each other. Each function takes the scenario and `fail`, which raises
ScenarioError with a text at a table's key: fail(text, table, key, nth)."""

import itertools
from functools import partial
from types import SimpleNamespace

from . import parts, sizes
from .catalogue import PROFILES, WORKLOADS, default, words
from .conditions import DEFAULTS, FORMS_OF, axis_value, curves_along, shown
from .cross import KINDS, Cross
from .keys import SCALES, SETUP
from .networks import NETWORKS
from .proxies import PROXIES, obstacle
from .quantities import QUANTITIES, quantity_of
from .queues import Queue, check_link
from .tests_of_runs import LEVEL, ks_probability
from .verdicts import PAIRS_MIN


def sip_workloads():
    return words([row.name for row in WORKLOADS.values() if row.sip])


def tables_of(scenario):
    """Returns [(table, its number, entry)] of what asks for quantities and places."""
    tables = {"plot": scenario.plots, "expect": scenario.expectations, "paper": scenario.paper}
    return [(name, entry.get("nth", nth), entry) for name, entries in tables.items() for nth, entry in enumerate(entries)]


def check_runs(scenario, fail):
    """Tests on runs have as many as they need."""
    for nth, entry in enumerate(scenario.expectations):
        runs = min(scenario.scales[scale]["replications"] for scale in SCALES)
        quantity = quantity_of(entry)
        by_test = entry["kind"] == "differs" or (entry["kind"] == "alike" and quantity != "mean")
        if by_test and ks_probability(runs, runs, runs * runs) >= LEVEL:
            fail(f"'{entry['kind']}' cannot be told with {runs} runs: give 'replications' of 4 or more", "expect", "kind", nth)
        if entry["kind"] in ("less", "step") and runs < PAIRS_MIN and not QUANTITIES[quantity].within_run:
            fail(f"'{entry['kind']}' of {quantity}, which has no interval within a run, cannot be told with {runs}"
                 f" runs: give 'replications' of {PAIRS_MIN} or more", "expect", "kind", nth)


def check_quantities(scenario, fail):
    """Runs have the quantities that are asked of them."""
    asked = [(table, nth, "quantity", entry.get("quantity", "mean")) for table, nth, entry in tables_of(scenario)]
    for table, nth, key, name in [*asked, *(("", 0, "tables", name) for name in scenario.tables)]:
        quantity = QUANTITIES[name]
        if quantity.sip and not WORKLOADS[scenario.workload].sip:
            fail(f"'{name}' is of the {sip_workloads()} workload", table, key, nth)
        if quantity.captured and not scenario.setup.capture:
            fail(f"'{name}' needs 'capture'", table, key, nth)
        runs = values_of(scenario)["lose_run"]
        if quantity.twin and (0 not in runs or len(runs) < 2):
            fail(f"'{name}' compares with the run without losses: give 'lose_run' 0 and others", table, key, nth)


def values_of(scenario):
    """Returns {dimension: all values that points of any scale have}."""
    every = [dimensions for scale in SCALES for dimensions in scenario.dimensions(scale)]
    return {name: set(itertools.chain.from_iterable(dimensions[name] for dimensions in every)) for name in every[0]}


def check_places(scenario, fail):
    """What figures and expectations choose is measured."""
    known = values_of(scenario)
    for table, nth, entry in tables_of(scenario):
        chosen = [(key, entry[key]) for key in ("where", "less", "than") if key in entry]
        for key, conditions in [*chosen, *(("order", group) for group in entry.get("order", []))]:
            for name, values in conditions.items():
                for value in values:
                    if value not in known[name]:
                        there = ", ".join(sorted(map(shown, known[name])))
                        line_key = "values" if name == "variant" and "values" in entry else key
                        fail(f"'{line_key}': no point has {name} {shown(value)}; they have {there}", table, line_key, nth)


def check_sides(scenario, fail):
    """The sides that an expectation compares differ."""
    for nth, entry in enumerate(scenario.expectations):
        sides = [entry["less"], entry["than"]] if "less" in entry else entry.get("order", [])
        if any(one == other for one, other in itertools.combinations(sides, 2)):
            key = "order" if "order" in entry else "than"
            fail(f"'{key}': two sides are the same; give different ones", "expect", key, nth)
        if "from" in entry and entry["from"] == entry["to"]:
            fail("'from' and 'to' must differ", "expect", "to", nth)


def curves_of(scenario, scale, axis, where):
    """Returns the curves along the axis, of two places or more, that the points at a scale give."""
    chosen = {point.conditions for point in scenario.points(scale)
              if point.replication == 0 and all(getattr(point, name) in values for name, values in where.items())}
    return [curve for curve in curves_along([SimpleNamespace(conditions=one) for one in chosen], axis) if len(curve) > 1]


def check_axes(scenario, fail):
    """Expectations along an axis have curves with two places or more."""
    for nth, entry in enumerate(scenario.expectations):
        if entry["kind"] not in ("monotone", "step") or "axis" not in entry:
            continue
        axis = entry["axis"]
        curves = [curve for scale in SCALES for curve in curves_of(scenario, scale, axis, entry.get("where", {}))]
        there = {axis_value(one.conditions, axis) for curve in curves for one in curve}
        if not there:
            fail(f"'{entry['kind']}' along {axis}: no curve has two places or more; give the matrix, or 'where', more of its values", "expect", "axis", nth)
        for key in ("from", "to"):
            if key in entry and float(entry[key]) not in there:
                known = ", ".join(map(shown, sorted(there)))
                fail(f"'{key}': no curve has {axis} {shown(float(entry[key]))}; they have {known}", "expect", key, nth)


def check_setup(scenario, fail):
    setup, fewest = scenario.setup, min(point.count for scale in SCALES for point in scenario.points(scale))
    for key in ("burst", "lose_at"):
        if getattr(setup, key) >= fewest:
            fail(f"'{key}' must be below the count, {fewest}", "", key)
    if setup.cross_from_s and not setup.cross_for_s:
        fail("'cross_from_s' needs 'cross_for_s', the seconds from then on", "", "cross_from_s")


def check_matrix(scenario, fail):
    """What the values of different dimensions have to do with each other, at each scale."""
    for scale in SCALES:
        if not any(True for _ in scenario.points(scale)):
            fail(f"[{scale}] leaves no point of any matrix", scale)
        for nth, dimensions in enumerate(scenario.dimensions(scale)):
            check_dimensions(scenario, dimensions, partial(wrong, scenario, fail, scale, nth))
    check_setup(scenario, fail)


def wrong(scenario, fail, scale, nth, key, text):
    """Fails at a key of the top, or at a dimension: where the scale, or its matrix, has it."""
    if key in SETUP:
        fail(text, "", key)
    narrowed = key in scenario.scales[scale]
    fail(text, scale if narrowed else "matrix", key, 0 if narrowed else nth)


def check_dimensions(scenario, dimensions, fail):
    """`fail` takes a key of the matrix, or of the top, and a text."""
    row, setup = WORKLOADS[scenario.workload], scenario.setup
    check_workload(row, dimensions, fail)
    check_network(scenario, dimensions, fail)
    if setup.capture:
        check_capture(setup.invite_size, dimensions, fail)
    if row.sip:
        check_sizes(setup, dimensions, fail)
    if "burst" in dimensions["stop"] and not setup.burst:
        fail("stop", "'stop' burst needs 'burst', the number of requests at the end that are due at once")
    longest = max(dimensions["lose_run"])
    fewest = min(scenario.count_at(scale, rate) for scale in SCALES for rate in dimensions["rate"])
    if longest and setup.lose_at + longest > fewest:
        fail("lose_run", f"'lose_run' goes beyond the count: 'lose_at' is {setup.lose_at}, and a point has {fewest} transactions")


def check_sizes(setup, dimensions, fail):
    for variant, large in itertools.product(dimensions["variant"], dimensions["large_size"]):
        transport = variant.transport
        for key, octets in (("invite_size", setup.invite_size), ("large_size", int(large))):
            if (octets or key == "invite_size") and (why := sizes.invite_fault(transport, octets, setup.large_over_udp)):
                fail(key, f"'{key}' {octets}, variant '{variant}': {why}")
        if why := sizes.response_fault(transport, setup.response, setup.response_size):
            fail("response_size", f"'response_size' {setup.response_size}, variant '{variant}': {why}")


def check_capture(octets, dimensions, fail):
    if any(dimensions["large_size"]):
        fail("large_size", "'capture' needs messages of one size: leave 'large_size' out")
    for variant, mtu in itertools.product(dimensions["variant"], dimensions["mtu_to"]):
        if why := parts.refusal(variant.transport, variant.connections, octets, mtu):
            fail("variant", f"variant '{variant}': 'capture' {why}")


def check_workload(row, dimensions, fail):
    for variant in dimensions["variant"]:
        if variant.unordered and row.always_ordered:
            able = words([other.name for other in WORKLOADS.values() if not other.always_ordered])
            fail("variant", f"unordered variants are for the {able} workload: {row.always_ordered}")
        if not variant.transport.reliable and not row.sip:
            fail("variant", f"variant '{variant}': the {row.name} workload needs a reliable transport")
        if variant.transport.tls and not variant.transport.own_tls and not row.sip:
            fail("variant", f"variant '{variant}': the {row.name} workload is measured without TLS")
    for profile in dimensions["profile"]:
        if PROFILES[profile].one_size and not (row.sip or row.octets):
            fail("profile", f"profile '{profile}' needs messages of one size; those of {row.name} vary")
        if PROFILES[profile].one_size and any(dimensions["large_size"]):
            fail("large_size", f"profile '{profile}' needs messages of one size: leave 'large_size' out")
    for variant, proxy in itertools.product(dimensions["variant"], dimensions["proxy"]):
        if why := obstacle(PROXIES[proxy], variant):
            fail("proxy", f"proxy '{proxy}', variant '{variant}': {why}")
    for key in ("t1_ms", "large_size", "proxy"):
        if dimensions[key] != [DEFAULTS[key]] and not row.sip:
            fail(key, f"'{key}' is of the {sip_workloads()} workload")
    # Requests are told from acknowledgements by their size; the other workloads' are too small for that.
    for key, one_way in (("lose", "messages" in dimensions["lose"]), ("lose_run", any(dimensions["lose_run"]))):
        if one_way and not row.sip:
            fail(key, f"losses of messages only are of the {sip_workloads()} workload")


def check_network(scenario, dimensions, fail):
    for key in FORMS_OF:
        if key not in scenario.columns and dimensions[key] != [DEFAULTS[key]]:
            fail(key, f"'{key}' is of network {words([name for name in NETWORKS if name != default(NETWORKS)])}")
    for name in dimensions["cross"] if scenario.setup.cross_for_s else []:
        traffic = Cross.parse(name)
        if traffic.number and not traffic.kind.part:
            able = words([f"{kind.name}-N" for kind in KINDS.values() if kind.part])
            fail("cross", f"'cross_for_s' is of {able}: {name} runs all the time")
    for queue, mbit in itertools.product(dimensions["queue"], dimensions["link_mbit"]):
        try:
            check_link(Queue.parse(queue), mbit)
        except ValueError as error:
            fail("queue", str(error))


def check(scenario, fail):
    """Raises ScenarioError by `fail` if something does not go together."""
    check_matrix(scenario, fail)
    check_runs(scenario, fail)
    check_quantities(scenario, fail)
    check_places(scenario, fail)
    check_sides(scenario, fail)
    check_axes(scenario, fail)
