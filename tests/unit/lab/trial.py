"""Scenarios for tests: keys of Scenario(), changed for each case."""

from simco_lab.scenario import Scenario


def present(keys):
    return {name: value for name, value in keys.items() if value is not None}


def made(given, *, matrix=None, **changes):
    """Returns the scenario of the keys `given` with these changes, and these of its matrix; a key that becomes None is left out."""
    changes["matrix"] = present({**given["matrix"], **(matrix or {})})
    found = Scenario("Trial", **present({**given, **changes}))
    found.name = "trial"
    return found


def points(given, **changes):
    return list(made(given, **changes).points("quick"))
