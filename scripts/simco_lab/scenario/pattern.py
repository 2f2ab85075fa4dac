"""Losses as lists of packet numbers drawn from a seed: every transport meets the same pattern, and a run can be
repeated. The kernel drops them by `numgen inc`, which counts packets."""

import math
import random
from statistics import NormalDist

LOSSES_MAX = 2000  # of a pattern: longer ones take the guest long to load
PACKETS_MIN = 200


def length(loss, packets):
    """Returns the packets after which a pattern repeats: all expected ones, unless they would have more than
    LOSSES_MAX losses."""
    wanted = max(packets, PACKETS_MIN)
    return wanted if loss * wanted <= LOSSES_MAX else int(LOSSES_MAX / loss)


def chain(loss, packets, rng, correlation):
    """Losses of neighbours correlate: of two states, the bad one loses every packet."""
    to_bad, to_good = (1 - correlation) * loss, (1 - correlation) * (1 - loss)
    bad = rng.random() < loss
    lost = []
    for number in range(packets):
        if bad:
            lost.append(number)
        bad = rng.random() >= to_good if bad else rng.random() < to_bad
    return lost


def copula(loss, packets, rng, correlation):
    """Normal numbers of neighbours correlate. A packet is lost if its number is among the least, whose share is `loss`."""
    limit, weight = NormalDist().inv_cdf(loss), math.sqrt(1 - correlation ** 2)
    one, lost = rng.gauss(0, 1), []
    for number in range(packets):
        if one < limit:
            lost.append(number)
        one = correlation * one + weight * rng.gauss(0, 1)
    return lost


CORRELATED = {"losses": chain, "numbers": copula}  # neighbours' losses, or the random numbers that decide about them


def draw(loss, packets, seed, correlation=0.0, correlated="losses"):
    """Returns the sorted numbers of the lost among `packets` packets. `loss` is their share, exact (rounded to
    whole packets) without correlation."""
    if not 0 <= loss < 1 or not 0 <= correlation < 1:
        raise ValueError("loss and correlation are from 0 to below 1")
    rng = random.Random(seed)
    if loss == 0.0 or correlation == 0.0:
        return sorted(rng.sample(range(packets), round(loss * packets)))
    return CORRELATED[correlated](loss, packets, rng, correlation)


def ruleset(patterns):
    """Returns the nftables script with the patterns of {direction: (length, lost)}, not yet armed."""
    lines = ["table ip lab {"]
    lines += [f"  counter {what}-{direction} {{ }}" for direction in patterns for what in ("seen", "lost")]
    for direction, (packets, lost) in patterns.items():
        lines += [f"  chain lost-{direction} {{", f"    counter name lost-{direction} drop", "  }"]
        lines += [f"  chain {direction} {{", f"    counter name seen-{direction}"]
        if lost:
            verdicts = ", ".join(f"{number} : goto lost-{direction}" for number in lost)
            lines.append(f"    numgen inc mod {packets} vmap {{ {verdicts} }}")
        lines.append("  }")
    lines += ["  chain forward {", "    type filter hook forward priority 0", "  }", "}"]
    return "\n".join(lines) + "\n"


def arming(conditions):
    """Returns the nftables script that arms the patterns of {direction: what its packets have in common}."""
    return "".join(f"add rule ip lab forward {what} jump {direction}\n" for direction, what in conditions.items())


def expected_losses(packets_seen, packets, lost):
    """Returns how many of the first `packets_seen` packets the pattern drops, to check the kernel's count."""
    rounds, rest = divmod(packets_seen, packets)
    return rounds * len(lost) + sum(1 for number in lost if number < rest)
