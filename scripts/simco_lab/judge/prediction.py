"""The prediction of the papers' model (model.py) for the conditions of a point, and its reference points on an axis."""

from . import model


def path_of(conditions):
    rtt_ms = 2 * conditions.delay_ms
    return model.Path(rtt_ms, conditions.rate, conditions.loss_percent / 100,
                      conditions.variant.transport.rto_ms(rtt_ms))


def predicted(conditions):
    """Equation 5 under these conditions, and whether it is valid there; None if it says nothing."""
    if conditions.loss_percent == 0 or conditions.jitter_ms or not conditions.variant.transport.rto_ms:
        return None
    variant, path = conditions.variant, path_of(conditions)
    value = model.response_ms(path, variant.streams, variant.connections, variant.unordered)
    return value, variant.unordered or model.valid(path, variant.streams, variant.connections)


def marks(conditions, axis):
    """Returns the model's reference points on an axis under these conditions, as [(x, symbol, meaning)]."""
    if not conditions.variant.transport.rto_ms:
        return []
    path = path_of(conditions)
    place = f"{conditions.rate:g}/s, RTT {path.rtt_ms:g} ms"
    if axis == "streams":
        enough = model.streams_enough(path)
        return [(enough, f"M = {enough}", f"sufficient number of streams at {place}")]
    if axis == "connections":
        best = model.connections_best(conditions.rate, path.rtt_ms)
        return [(best, f"N_opt = {best:.1f} ({conditions.rate:g}/s)", f"best number of connections at {place}")]
    if axis in ("rate", "rate_per_connection"):
        knee, best = model.alpha(path.rto_ms), model.mu(path.rtt_ms)
        found = [(knee, f"α = {knee:.3g}/s", "above this rate, three later messages arrive before the timeout")]
        if axis == "rate_per_connection":
            found.append((best, f"μ = {best:.3g}/s", "lowest mean per connection"))
        return found
    return []


def marks_of(combinations, plot):
    """Returns the reference points of all curves of a plot, each once."""
    if not plot.model:
        return []
    return list(dict.fromkeys(mark for combination in combinations if combination.conditions.loss_percent > 0
                              for mark in marks(combination.conditions, plot.axis)))
