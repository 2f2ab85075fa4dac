"""Archives of results with everything that the runs produced, for publication beside a release. The same results
give the same octets."""

import hashlib
import io
import json
import lzma
import shutil
import subprocess
import tarfile
from contextlib import contextmanager
from functools import partial

from .errors import LabError

TOP = "simco-lab-results"  # the folder that an archive unpacks to
SUMS = "SHA256SUMS"
ABOUT = "run.json"  # of a result: which scenario, at which scale, measured where
SCENARIO = "scenario.py"
RESULT = (ABOUT, SCENARIO)  # the files that tell the folder of a result from others
TIME = 1767225600  # 2026-01-01, as in the guest; tar warns of files from 1970
XZ_PRESET = 9
ZSTD_LEVEL = 19

README = """\
# SIMCO laboratory results

{results}

Each folder holds the scenario (scenario.py), the short report (report.md) and the full one with all tables and
figures (full-report.md, plots/), a table with a row per combination (results.csv), the distributions (ccdf/), and a
folder per run (points/) with simco-loadgen's parameters and results (load.json), every transaction (samples.csv.gz),
the transport's counters before and after, the packets that the router counted and dropped (drops.json), the programs'
logs, and the fingerprint of the programs, options and losses (run.json).

Verify the files, in this folder:

    sha256sum -c {sums}

Compute the tables and draw the figures again, from a source tree of simco-middlebox after scripts/setup --lab:

    scripts/lab plot PATH-TO-THIS-FOLDER

This runs the scenarios, which are Python files: read those of an archive that you do not trust before.

Tables come out the same. Figures may differ from {sums} in their markup under another version of matplotlib.
doc/lab.md and doc/measuring.md of the source tree explain the measurements and the definitions, and CITATION.cff
says how to cite them. The data have the licence of the source tree, Apache-2.0.
"""


def is_result(folder):
    return all((folder / name).exists() for name in RESULT)


def result_folders(folder):
    """Returns the folders with results of a scenario: `folder` itself, or those in it. Raises LabError."""
    found = [folder] if is_result(folder) else list(filter(is_result, sorted(folder.glob("*"))))
    if not found:
        raise LabError(f"{folder} has no results: 'scripts/lab run' writes them; the reports in doc/results are kept"
                       " without their samples")
    return found


def _named(folders):
    """Returns {name in the archive: folder} of all results, sorted by name. Raises LabError."""
    named = {}
    for path in (result for folder in folders for result in result_folders(folder)):
        name = path.resolve().name
        if named.setdefault(name, path) != path:
            raise LabError(f"two results are named {name}: {named[name]} and {path}")
    return dict(sorted(named.items()))


def _summary(folder):
    try:
        about = json.loads((folder / ABOUT).read_text())["about"]
    except (ValueError, KeyError) as error:
        raise LabError(f"{folder / ABOUT} is damaged: run the scenario again") from error
    return f"- {folder.resolve().name}: {about}"


def _sums(texts, files):
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    digests |= {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def _add(tar, name, octets):
    entry = tarfile.TarInfo(f"{TOP}/{name}")
    entry.size, entry.mtime, entry.mode = len(octets), TIME, 0o644
    tar.addfile(entry, io.BytesIO(octets))


def _write_tar(stream, named):
    files = dict(sorted((f"{name}/{path.relative_to(folder).as_posix()}", path) for name, folder in named.items()
                        for path in folder.rglob("*") if path.is_file() and not path.is_symlink()))
    results = "\n".join(_summary(folder) for folder in named.values())
    texts = {"README.md": README.format(results=results, sums=SUMS).encode()}
    texts[SUMS] = _sums(texts, files)
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for name, text in texts.items():
            _add(tar, name, text)
        for name, path in files.items():
            _add(tar, name, path.read_bytes())


@contextmanager
def _zstd(path):
    program = shutil.which("zstd")
    if program is None:
        raise LabError("'zstd' is missing: run scripts/setup --lab, or name the archive .tar.xz")
    # One thread: more would divide the input by the number of processors.
    command = [program, "-q", f"-{ZSTD_LEVEL}", "--single-thread", "-o", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process.stdin
        process.stdin.close()
        if process.wait() != 0:
            raise LabError(f"zstd failed with exit code {process.returncode}")


COMPRESSIONS = {".tar.xz": partial(lzma.open, mode="wb", preset=XZ_PRESET), ".tar.zst": _zstd}


def write(folders, output):
    """Archives the results in `folders` (each a result or a folder of results) as the file `output`, whose
    suffix selects the compression. Raises LabError, and leaves no file `output` then."""
    compress = next((make for suffix, make in COMPRESSIONS.items() if output.name.endswith(suffix)), None)
    if compress is None:
        raise LabError(f"{output}: the name of an archive ends in {' or '.join(COMPRESSIONS)}")
    if output.exists():
        raise LabError(f"{output} exists already: remove it, or choose another name")
    named = _named(folders)
    unfinished = output.with_name(f".{output.name}.part")
    try:
        unfinished.unlink(missing_ok=True)
        with compress(unfinished) as stream:
            _write_tar(stream, named)
        unfinished.rename(output)
    except OSError as error:
        raise LabError(f"{output}: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
