"""The command line of scripts/lab."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import advise, archive, shards
from .errors import LabError, ScenarioError
from .run import engines, guest, job, runner
from .run.guest import ROOT
from .scenario.conditions import DIMENSIONS, shown
from .scenario.files import SCALES, available, find, new, read

BIN = ROOT / "build" / "release" / "bin"
OUT = Path("lab-results")
FORMATS = ("svg", "png", "pdf")  # of figures


def parser():
    top = argparse.ArgumentParser(prog="lab", description="Measure SIMCO's transports across an emulated WAN,"
                                  " on a real kernel")
    verbs = top.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="list the scenarios")
    start = verbs.add_parser("new", help="write a commented scenario to start from, NAME.py in this folder")
    start.add_argument("name", metavar="NAME", help="its results will be in lab-results/NAME")
    run = verbs.add_parser("run", help="run scenarios; points that have results are not run again")
    run.add_argument("scenario", nargs="+", help="name, or a Python file")
    scale = run.add_mutually_exclusive_group()
    scale.add_argument("--quick", dest="scale", action="store_const", const="quick", help="few samples (default)")
    scale.add_argument("--full", dest="scale", action="store_const", const="full", help="as many samples as the papers")
    run.set_defaults(scale="quick")
    run.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="default: %(default)s")
    run.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                     help="points that run in parallel; default: one per processor, %(default)s; with --on, all workers")
    run.add_argument("--engine", choices=engines.NAMES, default="qemu",
                     help="what runs the kernel: QEMU; user-mode Linux, faster, where no processor time passes; or network"
                     " namespaces of this host, in real time; default: %(default)s")
    run.add_argument("--native", dest="engine", action="store_const", const="native", help="the same as --engine native")
    run.add_argument("--on", metavar="dask://HOST:PORT", help="run points at the workers of this scheduler of Dask")
    run.add_argument("--strict", action="store_true", help="exit with 1 if a claim does not hold")
    run.add_argument("--fraction", type=float, default=1.0, metavar="F",
                     help="run this share of each point's transactions, at least 1000")
    run.add_argument("--only", action="append", default=[], metavar="KEY=VALUE[,VALUE]",
                     help="run only points with one of these values; may be repeated")
    run.add_argument("--shard", type=shard, default=(1, 1), metavar="K/N",
                     help="run only the K-th of N parts, of about the same length; 'merge' puts them together")
    run.add_argument("--shift", type=int, choices=range(9), default=0, metavar="N",
                     help="a guest instruction takes 2^N ns, to see the effect of its speed; default: 0")
    merge = verbs.add_parser("merge", help="put parts of a run together (run --shard), and write the report")
    merge.add_argument("dir", nargs="+", type=Path, help="a scenario's results, or a folder of them")
    merge.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="default: %(default)s")
    plot = verbs.add_parser("plot", help="write report, tables and figures again from the samples of a run, or"
                            " the figures of means from its results.csv")
    plot.add_argument("dir", type=Path, help="a scenario's results, a folder of them, or an unpacked archive")
    plot.add_argument("--paper", action="store_true",
                      help="figures for a paper's column (3.5 inches, no title), in DIR/paper instead of DIR/plots")
    plot.add_argument("--formats", type=formats, default=FORMATS, metavar="LIST",
                      help=f"comma-separated, of {','.join(FORMATS)} (default: all)")
    pack = verbs.add_parser("archive", help="pack results with all samples, logs and checksums into one file")
    pack.add_argument("dir", nargs="*", type=Path, default=[OUT],
                      help=f"a scenario's results, or a folder of them; default: {OUT}")
    pack.add_argument("-o", "--output", type=Path, required=True, metavar="FILE",
                      help=f"ends in {' or '.join(archive.COMPRESSIONS)}")
    advice = verbs.add_parser("advise", help="say which transport to use, by the published measurements")
    for name, what in (("rtt", "round-trip time, ms"), ("loss", "loss of packets in each direction, percent"),
                       ("rate", "transactions per second")):
        advice.add_argument(f"--{name}", type=float, required=True, metavar="N", help=what)
    shell = verbs.add_parser("shell", help="open a shell in the guest, with the network up")
    for verb in (run, shell):
        verb.add_argument("--programs", type=Path, default=BIN, metavar="DIR",
                          help="folder of simco-middlebox and the other programs; default: build/release/bin")
    return top


def shard(text):
    try:
        return shards.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def formats(text):
    chosen = tuple(text.split(","))
    if not set(chosen) <= set(FORMATS):
        raise argparse.ArgumentTypeError(f"expected a list of {','.join(FORMATS)}")
    return chosen


def list_scenarios(_):
    for path in available():
        scenario = read(path)
        sizes = {scale: len(list(scenario.points(scale))) for scale in SCALES}
        print(f"{scenario.name:20} {scenario.title} ({sizes['quick']} points quick, {sizes['full']} full)")


def write_new(arguments):
    path = new(arguments.name)
    program = ROOT / "scripts" / "lab"
    shorter = min(str(program), os.path.relpath(program), key=len)
    print(f"{path} is written. Change it, and run it: {shorter} run {path}")


def chosen(points, only):
    for text in only:
        key, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"--only {text}: expected KEY=VALUE, such as variant=tcp")
        if key not in DIMENSIONS:
            raise ScenarioError(f"--only {text}: unknown dimension; known are {', '.join(DIMENSIONS)}")
        there = list(dict.fromkeys(shown(getattr(point, key)) for point in points))
        wanted = value.split(",")
        for one in wanted:
            if one not in there:
                raise ScenarioError(f"--only {text}: {one!r} matches no point; {key} is one of {', '.join(there)}")
        points = [point for point in points if shown(getattr(point, key)) in wanted]
    return points


def able(points, lacking):
    """Returns the points of the scenarios that do without the modules in `lacking`; names the modules that the others need."""
    needed = {}
    for point in points:
        needed.setdefault(point.scenario, set()).update(job.modules(point) & set(lacking))
    for scenario, names in needed.items():
        if names:
            print(f"lab: {scenario} needs kernel modules that this kernel lacks: {', '.join(sorted(names))}; it is left"
                  " out (the kernel of Debian's package linux-image-amd64 has them)", file=sys.stderr)
    return [point for point in points if not needed[point.scenario]]


def results_in(folder):
    """Returns the Results in a folder, and the sentence that says how they were measured."""
    from .measure import results
    about = json.loads((folder / archive.ABOUT).read_text())
    scenario = read(folder / archive.SCENARIO)
    scenario.name = about["scenario"]
    scenario.take(about["fraction"])
    found = results.Results(folder, scenario, about["scale"])
    if not found.combinations:
        raise LabError(f"{folder} has no results: no run of the scenario's points has finished")
    return found, about["about"]


def write_full(folder, figure_formats):
    """Writes the full report on the results in a folder, with all tables and figures. Returns these Results, and the Sample for
    the short report."""
    # The drawing library takes a second to load: not for `list`.
    from .draw import account, plots
    from .draw import report as reports
    from .judge import claims
    found, about = results_in(folder)
    found.write_ccdfs(folder / "ccdf")
    judged = claims.judged(found)
    drawn = plots.draw(found, folder / "plots", plots.REPORT, figure_formats)
    every = account.sample_of(found, judged, about, choose=list)
    reports.write_full(folder / reports.FULL, found, every, drawn)
    return found, account.sample_of(found, judged, about)


def report(folder, figure_formats=FORMATS):
    """Writes the reports, tables and figures of a scenario's results. Returns the ids of the claims that do not hold for some
    combination."""
    from .draw import report as reports
    from .draw import values
    found, own = write_full(folder, figure_formats)
    values.write(folder / "results.csv", found)
    reports.write(folder / "report.md", found.scenario, own)
    print(f"{folder}/report.md")
    return [one.id for one in own.judgements if any(verdict.holds is False for verdict in one.verdicts)]


def run(arguments):
    from .judge import claims
    if not 0 < arguments.fraction <= 1:
        raise ScenarioError("--fraction must be above 0 and at most 1")
    if arguments.jobs < 1:
        raise ScenarioError("--jobs must be at least 1")
    scenarios = [find(name) for name in arguments.scenario]
    for scenario in scenarios:
        claims.rehearse(scenario)
        scenario.take(arguments.fraction)
    points = chosen([point for scenario in scenarios for point in scenario.points(arguments.scale)], arguments.only)
    points = shards.part_of(points, arguments.shard)
    with engines.started(arguments.engine, arguments.programs, scenarios, points, arguments.shift, arguments.on) as engine:
        work = runner.Runner(engine.run, engine.identity, arguments.out, engine.jobs or arguments.jobs, engine.stop, engine.replays)
        possible = able(points, engine.lacking)
        good = work.run(possible) and len(possible) == len(points)
    for scenario in scenarios:
        if scenario.name not in {point.scenario for point in possible}:
            continue
        folder = arguments.out / scenario.name
        share = "" if arguments.fraction == 1 else f", {100 * arguments.fraction:g} % of its transactions"
        about = f"{engine.about}, scale {arguments.scale}{share}."
        folder.mkdir(parents=True, exist_ok=True)  # what `plot` needs beside the points:
        (folder / archive.SCENARIO).write_text(scenario.path.read_text())
        (folder / archive.ABOUT).write_text(json.dumps({
            "scenario": scenario.name, "scale": arguments.scale, "fraction": arguments.fraction, "about": about}, indent=1) + "\n")
        disproved = report(folder)
        if arguments.strict and disproved:
            print(f"lab: {scenario.name}: claims that do not hold: {', '.join(disproved)}", file=sys.stderr)
            good = False
    return 0 if good else 1


def draw_figures(found, folder, arguments):
    from .draw import plots
    look, base = (plots.PAPER, "paper") if arguments.paper else (plots.REPORT, "plots")
    drawn = plots.draw(found, folder / base, look, arguments.formats)
    print(f"{folder / base}: {len(drawn)} figures")


def plot(arguments):
    from .draw import values
    tables = [path.parent for path in (arguments.dir / "results.csv", *sorted(arguments.dir.glob("*/results.csv")))
              if path.exists() and not (path.parent / archive.ABOUT).exists()]
    for folder in tables:  # what results.csv suffices for
        draw_figures(values.table_of(folder / "results.csv", find(folder.resolve().name)), folder, arguments)
    for folder in archive.result_folders(arguments.dir) if not tables else []:
        if arguments.paper:
            draw_figures(results_in(folder)[0], folder, arguments)
        else:
            report(folder, arguments.formats)


def merge(arguments):
    for folder in shards.merge(arguments.dir, arguments.out):
        report(folder)


def pack(arguments):
    archive.write(arguments.dir, arguments.output)
    print(arguments.output)


def give_advice(arguments):
    advise.say(arguments.rtt, arguments.loss, arguments.rate)


def shell(arguments):
    machine = guest.Guest(arguments.programs)
    machine.prepare(say=lambda text: print(text, file=sys.stderr))
    with tempfile.TemporaryDirectory() as folder:
        return machine.shell(Path(folder))


def main(words=None):
    arguments = parser().parse_args(words)
    # As with Ctrl-C: runs in progress finish, and finished ones stay.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        verbs = {"list": list_scenarios, "new": write_new, "run": run, "merge": merge, "plot": plot, "archive": pack, "advise": give_advice,
                 "shell": shell}
        return verbs[arguments.verb](arguments) or 0
    except KeyboardInterrupt:
        return 130
    except (LabError, subprocess.SubprocessError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2 if isinstance(error, LabError) else 1
