"""Contradictions in the matrix of a scenario. Each function raises ValueError with the reason."""

import itertools

from . import sizes
from .catalogue import PROFILES, TRANSPORTS, WORKLOADS, words
from .conditions import DEFAULTS, DIMENSIONS
from .cross import KINDS, Cross
from .failures import Failure
from .networks import NETWORKS
from .proxies import PROXIES
from .queues import Queue, check_link


def check(scenario):
    """Checks the points of both scales."""
    for scale in scenario.scales:
        points = list(scenario.points(scale))
        if not points:
            raise ValueError(f"{scale} leaves no point of any matrix")
        for key in ("burst", "lose_at"):
            if getattr(scenario.setup, key) >= (fewest := min(point.count for point in points)):
                raise ValueError(f"'{key}' must be below the count, {fewest}")
        for dimensions in scenario.dimensions(scale):
            check_dimensions(scenario, dimensions)
    if scenario.setup.cross_from_s and not scenario.setup.cross_for_s:
        raise ValueError("'cross_from_s' needs 'cross_for_s', the seconds from then on")


def check_dimensions(scenario, dimensions):
    row, setup = WORKLOADS[scenario.workload], scenario.setup
    check_workload(row, dimensions)
    check_network(scenario, dimensions)
    if setup.capture:
        check_capture(setup.invite_size, dimensions)
    if row.sip:
        check_sizes(setup, dimensions)
    for key, dimension in DIMENSIONS.items():
        if (needed := dimension.needs) and dimensions[key] != [DEFAULTS[key]] and dimensions[needed] == [DEFAULTS[needed]]:
            raise ValueError(f"'{key}' needs '{needed}'")
    if "burst" in dimensions["stop"] and not setup.burst:
        raise ValueError("'stop' burst needs 'burst', the number of requests at the end that are due at once")
    longest = max(dimensions["lose_run"])
    fewest = min(scenario.count_at(scale, rate) for scale in scenario.scales for rate in dimensions["rate"])
    if longest and setup.lose_at + longest > fewest:
        raise ValueError(f"'lose_run' goes beyond the count: 'lose_at' is {setup.lose_at}, and a point has {fewest} transactions")


def check_sizes(setup, dimensions):
    for variant, large in itertools.product(dimensions["variant"], dimensions["large_size"]):
        for key, octets in (("invite_size", setup.invite_size), ("large_size", int(large))):
            if (octets or key == "invite_size") and (why := sizes.invite_fault(variant.transport, octets, setup.large_over_udp)):
                raise ValueError(f"'{key}' {octets}, variant '{variant}': {why}")
        if why := sizes.response_fault(variant.transport, setup.response, setup.response_size):
            raise ValueError(f"'response_size' {setup.response_size}, variant '{variant}': {why}")


def check_capture(octets, dimensions):
    if any(dimensions["large_size"]):
        raise ValueError("'capture' needs messages of one size: leave 'large_size' out")
    for variant, mtu in itertools.product(dimensions["variant"], dimensions["mtu_to"]):
        if why := sizes.capture_fault(variant.transport, variant.connections, octets, mtu):
            raise ValueError(f"variant '{variant}': 'capture' {why}")


def check_workload(row, dimensions):
    for variant in dimensions["variant"]:
        if variant.unordered and row.always_ordered:
            able = words([other.name for other in WORKLOADS.values() if not other.always_ordered])
            raise ValueError(f"variant '{variant}': unordered variants are for the {able} workload: {row.always_ordered}")
        if not variant.transport.reliable and not row.sip:
            raise ValueError(f"variant '{variant}': the {row.name} workload needs a reliable transport")
        if variant.transport.tls and not variant.transport.own_tls and not row.sip:
            raise ValueError(f"variant '{variant}': the {row.name} workload is measured without TLS")
    for profile in dimensions["profile"]:
        if PROFILES[profile].one_size and (not (row.sip or row.octets) or any(dimensions["large_size"])):
            raise ValueError(f"profile '{profile}' needs messages of one size; those of {row.name} vary, and so do those with 'large_size'")
    for variant, proxy in itertools.product(dimensions["variant"], dimensions["proxy"]):
        if PROXIES[proxy].program and not variant.transport.proxied:
            able = words([transport.label for transport in TRANSPORTS.values() if transport.proxied])
            raise ValueError(f"proxy '{proxy}', variant '{variant}': proxies have {able} only")
    # Requests are told from acknowledgements by their size; the other workloads' are too small for that.
    of_sip = {**{key: dimensions[key] != [DEFAULTS[key]] for key in ("t1_ms", "large_size", "proxy")},
              "lose = messages": "messages" in dimensions["lose"], "lose_run": any(dimensions["lose_run"])}
    for key, given in of_sip.items():
        if given and not row.sip:
            raise ValueError(f"'{key}' is of the {words([other.name for other in WORKLOADS.values() if other.sip])} workload")


def check_paths(scenario, dimensions):
    """The paths have routes of their own, and a path fails and recovers within the run."""
    for profile in dimensions["profile"]:
        if PROFILES[profile].routes:
            raise ValueError(f"profile '{profile}' changes routes, and the paths have their own")
    shortest = min(scenario.count_at(scale, rate) / rate for scale in scenario.scales for rate in dimensions["rate"])
    for name in dimensions["failure"]:
        if (failure := Failure.parse(name)).seconds and scenario.setup.fail_at_s + failure.seconds >= shortest:
            raise ValueError(f"'failure' {name} ends after the run: it begins at 'fail_at_s', {scenario.setup.fail_at_s:g}, and the"
                             f" shortest run takes about {shortest:g} s")


def check_network(scenario, dimensions):
    for key, dimension in DIMENSIONS.items():
        if key not in scenario.columns and dimensions[key] != [DEFAULTS[key]]:
            raise ValueError(f"'{key}' is of network {dimension.network}")
    if NETWORKS[scenario.setup.network].second:
        check_paths(scenario, dimensions)
    for name in dimensions["cross"] if scenario.setup.cross_for_s else []:
        traffic = Cross.parse(name)
        if traffic.number and not traffic.kind.part:
            able = words([f"{kind.name}-N" for kind in KINDS.values() if kind.part])
            raise ValueError(f"'cross_for_s' is of {able}: {name} runs all the time")
    for queue, mbit in itertools.product(dimensions["queue"], dimensions["link_mbit"]):
        check_link(Queue.parse(queue), mbit)
