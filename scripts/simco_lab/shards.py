"""Points of one run on several machines that share nothing: each runs a part, and the parts are put together."""

import json
import shutil

from . import archive
from .errors import LabError
from .run.runner import cost, curve


def parse(text):
    """Returns (K, N) of "K/N": the K-th of N parts. Raises ValueError."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"'{text}' is not K/N with K from 1 to N, such as 2/8")
    return int(part), int(parts)


def part_of(points, shard):
    """Returns the points of the K-th of N parts, which take about as long. A curve is in one part, as its rates end where one
    was aborted."""
    number, parts = shard
    curves = {}
    for point in points:
        curves.setdefault(curve(point), []).append(point)
    loads, chosen = [0.0] * parts, set()
    for key, group in sorted(curves.items(), key=lambda one: -sum(map(cost, one[1]))):
        least = loads.index(min(loads))
        loads[least] += sum(map(cost, group))
        if least == number - 1:
            chosen.add(key)
    return [point for point in points if curve(point) in chosen]


def told(folder):
    """Returns what the results in a folder say of their scenario, scale and engine."""
    about = json.loads((folder / archive.ABOUT).read_text())
    return {**about, "scenario.py": (folder / archive.SCENARIO).read_text()}


def merge(folders, out):
    """Copies the points of the results in `folders` to `out`, and returns the folders of these results. Raises LabError if two have not
    the same scenario, or another run of the same point."""
    made = {}
    for source in (result for folder in folders for result in archive.result_folders(folder)):
        target = made.setdefault(source.resolve().name, out / source.resolve().name)
        target.mkdir(parents=True, exist_ok=True)
        if archive.is_result(target) and told(target) != told(source):
            raise LabError(f"{source} is not of the same scenario, scale and engine as {target}")
        for run in sorted((source / "points").glob("*/run.json")):
            there = target / "points" / run.parent.name
            if not (there / "run.json").exists():
                shutil.copytree(run.parent, there, dirs_exist_ok=True)
            elif json.loads((there / "run.json").read_text())["fingerprint"] != json.loads(run.read_text())["fingerprint"]:
                raise LabError(f"{run.parent} is of other programs or options than {there}")
        for name in archive.RESULT:
            shutil.copy(source / name, target / name)
    return list(made.values())
