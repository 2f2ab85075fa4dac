"""Points on other machines, by Dask's distributed scheduler. Each worker has this tree, and the programs at the same place. A
worker that is lost leaves its points to others; as a point's samples follow from its seeds, they are those of one machine."""

import atexit
import contextlib
import fcntl
import functools
import os
import tempfile
from pathlib import Path

from ..errors import LabError

_open = []  # engines of this process


@functools.cache
def own_processor():
    """Returns a processor that no other worker of this user has on this machine; the last one if all are taken."""
    folder = Path(tempfile.gettempdir()) / f"simco-lab-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for processor in (able := sorted(os.sched_getaffinity(0))):
        with contextlib.suppress(OSError):
            file = os.open(folder / f"processor-{processor}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(file)
                continue
            return processor  # the lock is held as long as this process lives
    return able[-1]


@functools.cache
def engine_here(recipe):
    from . import engines  # which joins this module, too
    _open.append(contextlib.ExitStack())
    atexit.register(_open[-1].close)
    return _open[-1].enter_context(engines.made(*recipe))


def run_here(recipe, identity, files, limit_s):
    """Runs a job in a worker. Returns its files {name: octets} and the processor time in seconds."""
    from .runner import children_s
    engine = engine_here(recipe)
    if engine.identity != identity:
        raise LabError(f"a worker has another kernel or other programs: {engine.identity} instead of {identity}")
    before = children_s()
    with tempfile.TemporaryDirectory() as folder:
        further_s = engine.run(files, Path(folder), own_processor(), limit_s)
        found = {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
    return found, children_s() - before + (further_s or 0)


class Cluster:
    """The workers of a scheduler, which run points with the engine that `recipe` makes."""

    def __init__(self, address, recipe, identity):
        try:
            import distributed
        except ImportError:
            raise LabError("--on takes Dask: install python3-distributed (scripts/setup --lab)") from None
        self.recipe, self.identity = recipe, identity
        scheduler = address.removeprefix("dask://")
        try:
            self.client = distributed.Client(f"tcp://{scheduler}", timeout="10s")
        except (OSError, TimeoutError) as error:
            raise LabError(f"--on {address}: no Dask scheduler answers there: {error}") from error
        self.count = sum(self.client.nthreads().values())
        if not self.count:
            self.close()
            raise LabError(f"--on {address}: the scheduler has no workers: start `dask-worker {scheduler} --nthreads 1` on each processor")

    def run(self, files, out, processor, limit_s):
        """Runs a job somewhere, and leaves its results in the folder `out`. Returns its processor time in seconds."""
        del processor  # the worker's own
        done = self.client.submit(run_here, self.recipe, self.identity, files, limit_s, pure=False)
        found, used_s = done.result()
        for name, octets in found.items():
            path = Path(out) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(octets)
        return used_s

    def close(self):
        self.client.close()
