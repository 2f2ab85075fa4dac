"""Runs the points of a scenario in parallel, shows progress, and resumes an interrupted run."""

import concurrent.futures
import contextlib
import fcntl
import functools
import hashlib
import json
import math
import os
import queue
import resource
import shutil
import sys
import threading
import time
import traceback
from pathlib import Path

from ..errors import LabError
from ..measure import run_record
from .job import Job

START_COST, COST = 4.0, 0.005  # seconds for a point, and for a transaction: for the time left only
LIMIT_S, LIMIT_PER_TRANSACTION_S = 600, 0.5
PROGRAMS_DIGITS = 12  # by which run.json names the programs


def cost(point):
    return START_COST + COST * point.count


def children_s():
    """Returns the processor time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def curve(point):
    """Points that differ in their rate only."""
    return point.scenario, point.without("rate"), point.replication


@contextlib.contextmanager
def locked(folder):
    """Keeps other processes from running points in `folder`; the kernel releases it if this one is killed. Raises
    LabError if another one has it."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LabError(f"{folder}: another run writes there; wait for it, or choose another --out") from error
        yield


class Progress:
    """A progress line: updated in place on a terminal, else printed once a minute."""

    def __init__(self, total_cost, count, jobs):
        self.total, self.count, self.jobs = total_cost, count, jobs
        self.done_cost = self.done = 0
        self.started = self.shown = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def finished(self, point):
        self.done += 1
        self.done_cost += cost(point)
        now = time.monotonic()
        if not self.terminal and now - self.shown < 60 and self.done < self.count:
            return
        self.shown = now
        elapsed = now - self.started
        left = elapsed * (self.total - self.done_cost) / max(self.done_cost, 1e-9)
        text = (f"{self.done} of {self.count} points, {elapsed / 60:.1f} min,"
                f" about {left / 60:.1f} min left   ")
        print(f"\r{text}" if self.terminal else text, end="" if self.terminal else "\n",
              file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print(file=sys.stderr)


class Runner:
    """`execute(files, out, processor, limit_s)` runs one job, and returns the processor time in seconds of programs that go on;
    `identity` names the programs, so that the results of others are not taken for theirs; `replays` is an engine's."""

    def __init__(self, execute, identity, out, jobs, stop=lambda: None, replays=False):
        self.stop = stop  # ends the jobs under way
        self.execute, self.identity, self.out, self.jobs = execute, identity, Path(out), jobs
        self.programs = hashlib.sha256(identity.encode()).hexdigest()[:PROGRAMS_DIGITS]
        self._job = functools.cache(lambda point: Job(point, replays))  # loss patterns take long to draw
        self.lock = threading.Lock()
        self.aborted = {}  # curve: lowest rate that was aborted
        self.failures = []
        self.noted_s = children_s()  # of which points know
        self.stopping = False

    def folder(self, point):
        return self.out / point.scenario / "points" / point.name

    def fingerprint(self, job):
        digest = hashlib.sha256(self.identity.encode())
        for name, text in job.files.items():
            digest.update(f"{name}\0{text}\0".encode())
        return digest.hexdigest()

    def done(self, point):
        """Returns the finished run of this very job, or None."""
        try:
            run = json.loads((self.folder(point) / "run.json").read_text())
        except (OSError, ValueError):
            return None
        return run if isinstance(run, dict) and run.get("fingerprint") == self.fingerprint(self._job(point)) else None

    def _note(self, point, run):
        if run["aborted"]:
            self.aborted[curve(point)] = min(self.aborted.get(curve(point), math.inf), point.rate)

    def run(self, points):
        """Runs the points that have no results yet, and prints failures. Returns whether there were none. Raises
        LabError if another process does so in the same folders."""
        with contextlib.ExitStack() as locks:
            for name in sorted({point.scenario for point in points}):
                locks.enter_context(locked(self.out / name))
            return self._run(points)

    def _run(self, points):
        waiting, twins = self._share(points)
        # Once a rate has been aborted, higher rates of its curve are not run: low rates first.
        waiting.sort(key=lambda point: (point.rate, -cost(point)))
        work = queue.SimpleQueue()
        for point in waiting:
            work.put(point)
        progress = Progress(sum(map(cost, waiting)), len(waiting), self.jobs)
        processors = sorted(os.sched_getaffinity(0), reverse=True)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            workers = [pool.submit(self._worker, work, progress, processors[i % len(processors)])
                       for i in range(min(self.jobs, len(waiting)))]
            try:
                for worker in workers:
                    worker.result()
            except KeyboardInterrupt:
                self.stopping = True
                self.stop()
                print("\nstopping; finished points are kept", file=sys.stderr)
                raise
        progress.end()
        for original, point in twins:
            if self.done(original):  # else it failed, or its curve was aborted
                run_record.take_over(self.folder(original), self.folder(point), point)
        for point, reason in self.failures:
            print(f"lab: {point.scenario}/{point.name}: {reason}", file=sys.stderr)
        return not self.failures

    def _share(self, points):
        """Returns the points to run, and pairs (run, point) of points whose job is another's too."""
        first, missing = {}, []
        for point in points:
            run = self.done(point)
            if run is None:
                missing.append(point)
            else:
                self._note(point, run)
                first[run["fingerprint"]] = point
        waiting, twins = [], []
        for point in missing:
            original = first.setdefault(self.fingerprint(self._job(point)), point)
            if original is point:
                waiting.append(point)
            else:
                twins.append((original, point))
        if len(missing) < len(points):
            print(f"{len(points) - len(missing)} of {len(points)} points have results already", file=sys.stderr)
        if twins:
            print(f"{len(twins)} points have the same jobs as others", file=sys.stderr)
        return waiting, twins

    def _worker(self, work, progress, processor):
        while not self.stopping:
            try:
                point = work.get_nowait()
            except queue.Empty:
                return
            with self.lock:
                beyond = point.rate > self.aborted.get(curve(point), math.inf)
            if not beyond:
                self._run_point(point, processor)
            with self.lock:
                progress.finished(point)

    def _run_point(self, point, processor):
        """Runs a point, and keeps the reason if it fails. Whatever files it left, such as a truncated capture, the others are
        run."""
        try:
            self._measure(point, processor)
        except Exception as error:
            told = str(error) if isinstance(error, (LabError, OSError)) else traceback.format_exception_only(error)[-1].strip()
            with self.lock:
                self.failures.append((point, told))

    def _measure(self, point, processor):
        folder = self.folder(point)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        job = self._job(point)
        further_s = self.execute(job.files, folder, processor, LIMIT_S + LIMIT_PER_TRANSACTION_S * point.count)
        with self.lock:
            before, self.noted_s = self.noted_s, children_s()
        run = {**run_record.finish(folder, job, self.fingerprint(job)), "programs": self.programs,
               "processor_s": self.noted_s - before + (further_s or 0)}
        run_record.write_run(folder, run)
        with self.lock:
            self._note(point, run)
