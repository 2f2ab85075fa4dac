"""Is a message of the peer one that a case allows?"""

import simco_codec as codec

from .wire import Failed

IDENTIFIERS = ("policy rule identifier", "group identifier")
SECRETS = ("authentication challenge", "authentication token")
LIFETIME = "policy rule lifetime"
TRANSLATED = ("inside", "outside")  # addresses of these the middlebox chooses


class Identifiers:
    """The PIDs and GIDs of a case, and those that the middlebox chose: two that differ must stay different. And whether it
    translates, so that it chooses addresses, too."""

    def __init__(self):
        self.real = {}  # (kind, written): real
        self.translates = False

    def learn(self, kind, written, real):
        known = self.real.setdefault((kind, written), real)
        if known != real:
            raise Failed(f"{kind}: {real} instead of {known}")
        if any(other == real for (other_kind, name), other in self.real.items() if other_kind == kind and name != written):
            raise Failed(f"{kind} {real} is given twice")

    def of(self, kind, written):
        return self.real.get((kind, written), written)


def compare_lifetime(real, written, exact):
    if real != written and (exact or not 0 < real <= written):
        raise Failed(f"{LIFETIME}: {real} s instead of {written} s")


def compare_tuple(real, written, translates):
    """A NAT is free to choose what it translates to, as long as the form stays."""
    free = ("address", "port") if translates and written["location"] in TRANSLATED else ()
    for key in written:
        if key not in free and real.get(key) != written[key]:
            raise Failed(f"address tuple, {key}: {real.get(key)} instead of {written[key]}")


def compare_attribute(real, written, identifiers, exact, differs):
    """`exact`: as our middlebox has it, but for identifiers; `differs`: this one is not the same each time."""
    kind = written["attribute"]
    if real["attribute"] != kind:
        raise Failed(f"attribute {real['attribute']} instead of {kind}")
    if kind in IDENTIFIERS:
        identifiers.learn(kind, written["value"], real["value"])
    elif kind == LIFETIME:
        compare_lifetime(real["value"], written["value"], exact and not differs)
    elif kind in SECRETS:
        if len(real["value"]) != len(written["value"]) and exact:
            raise Failed(f"{kind}: {real['value']}")
    elif kind == "middlebox capabilities" and not exact:
        identifiers.translates = any("NAT" in one for one in real["middlebox_type"])
    elif kind == "address tuple" and not exact:
        compare_tuple(real, written, identifiers.translates)
    elif (exact or kind == "PER parameter set") and real != written:
        raise Failed(f"{kind}: {real} instead of {written}")


def compare(octets, step, identifiers, exact):
    """Raises Failed unless a message is that of a step. Returns it, decoded."""
    written = step["message"]
    if not octets:
        raise Failed(f"the connection is closed instead of {describe(written)}")
    try:
        real = codec.decode(octets)
    except codec.FormatError as error:
        raise Failed(f"{octets.hex()} is not a message: {error}") from None
    if describe(real) != describe(written):
        raise Failed(f"{describe(real)} instead of {describe(written)}")
    if "notification" not in real["message"] and real["tid"] != written["tid"]:
        raise Failed(f"TID {real['tid']} instead of {written['tid']}")
    if len(real["attributes"]) != len(written["attributes"]):
        raise Failed(f"{len(real['attributes'])} attributes instead of {len(written['attributes'])}")
    for one, other in zip(real["attributes"], written["attributes"]):
        compare_attribute(one, other, identifiers, exact, other["attribute"] in step.get("may_differ", ()))
    return real


def describe(message):
    return f"{message['message']} {message['code']}" if "code" in message else message["message"]
