"""The results of a scenario: the combinations of its points that have been run."""

import json
from pathlib import Path

from . import statistics
from .combination import Combination
from .samples import read_samples


class Selectable:
    """A list of `combinations` that can be selected from."""

    def select(self, where):
        """Returns the combinations whose values are among those of `where`, {dimension: [values]}."""
        return [combination for combination in self.combinations if combination.conditions.fits(where)]

    def profiles(self):
        return list(dict.fromkeys(combination.conditions.profile for combination in self.combinations))


class Results(Selectable):
    """The combinations of one scenario's folder, each with all its replications."""

    has_samples = True

    def __init__(self, folder, scenario, scale):
        self.scenario, self.scale, self.missing = scenario, scale, []
        found = {}
        for point in scenario.points(scale):
            run_folder = Path(folder) / "points" / point.name
            if not (run_folder / "run.json").exists():
                self.missing.append(point)
                continue
            run = json.loads((run_folder / "run.json").read_text())
            scheduled, times = read_samples(run_folder / "samples.csv.gz", scenario.setup.measure)
            combination = found.setdefault(point.conditions, Combination(point.conditions, [], []))
            combination.runs.append(run)
            combination.replications.append(point.replication)
            combination.times.append(times)
            combination.scheduled.append(scheduled)
        self.combinations = list(found.values())
        without = {c.conditions.without("lose_run"): c for c in self.combinations if not c.conditions.lose_run}
        for combination in self.combinations:
            combination.twin = without.get(combination.conditions.without("lose_run"))

    def write_ccdfs(self, folder):
        """Writes a CSV file per combination: time, and the share of transactions that take longer."""
        folder.mkdir(exist_ok=True)
        for combination in self.combinations:
            x, y = statistics.thinned(*statistics.ccdf(combination.all_times))
            lines = ["response_time_ms,ccdf", *(f"{a:.3f},{b:.3g}" for a, b in zip(x, y))]
            (folder / f"{combination.conditions.short_name}.csv").write_text("\n".join(lines) + "\n")
