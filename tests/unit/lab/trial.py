"""Scenarios and results for tests, changed for each case."""

from types import SimpleNamespace

import numpy

from simco_lab.measure.combination import Combination
from simco_lab.measure.results import Selectable
from simco_lab.scenario import Scenario
from simco_lab.scenario.conditions import Conditions
from simco_lab.scenario.variant import Variant


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


def combination(variant, *runs, record=None, **conditions):
    """Returns the Combination of runs with these times."""
    given = Conditions(variant=Variant.parse(str(variant)), **conditions)
    records = [{"aborted": False, "valid": True, "fingerprint": f"{given} {number}", **(record or {})} for number in range(len(runs))]
    return Combination(given, records, [numpy.asarray(times, dtype=float) for times in runs])


class Results(Selectable):
    """Results of these combinations, whose variants met the same arrivals and losses if the seeds are shared."""

    def __init__(self, combinations, seeds="shared"):
        self.combinations = combinations
        self.scenario = SimpleNamespace(setup=SimpleNamespace(seeds=seeds))
