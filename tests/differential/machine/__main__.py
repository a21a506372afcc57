"""Runs random scripts plain and with Dunnage until the time is up.

    python -m machine [--mpi NAME...] [--seconds N] [--jobs N] [--first SEED] [--scripts N] [--keep FOLDER]
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import multiprocessing
import os
import pathlib
import sys
import time

from . import compare, runner, scenes, shrink

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import jobs  # noqa: E402
from installed import MPIS  # noqa: E402

BATCH = 100
THREADS = 11  # one batch of so many has threads; it has no factor with the cycles of modes and ranks


@dataclasses.dataclass
class Tally:
    """What was done on one MPI."""

    scripts: int = 0
    statements: int = 0  # of a script, on a rank, compared
    varying: int = 0
    plain_fails: int = 0
    once: int = 0  # scripts that differed once, and not again when they ran alone
    timing: int = 0  # scripts that differed as the plain MPI differs from itself at other times
    unexplained: int = 0
    explained: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def add(self, other):
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def __str__(self):
        reasons = "".join(f"\n    {count} statements: {reason}" for reason, count in self.explained.most_common())
        return (
            f"{self.scripts} scripts, {self.statements} statements, {self.unexplained} unexplained differences; "
            f"differed in a batch and not alone: {self.once}; by timing, plain too: {self.timing}; "
            f"plain results vary: {self.varying} statements; the plain MPI fails: {self.plain_fails} scripts{reasons}"
        )


@dataclasses.dataclass(frozen=True)
class Batch:
    """Scripts that are alike in what a launch depends on, so that one launch runs them all."""

    mpi: str
    mode: str
    seeds: range
    ranks: int
    threads: bool
    device: bool

    def __str__(self):
        traits = f"{', device' * self.device}{', threads' * self.threads}"
        return f"{self.mpi} {self.mode}, {self.ranks} ranks{traits}, seeds to {self.seeds[-1]}"


def batches(options):
    """All batches, without an end."""
    for turn in itertools.count():
        size = min(BATCH, options.scripts)
        seeds = range(options.first + turn * size, options.first + (turn + 1) * size)
        mode = options.mode[(turn // 4 + turn) % len(options.mode)]
        device = bool(options.device) and turn % options.device == options.device - 1
        threads = not device and turn % THREADS == THREADS - 1
        for name in options.mpi:
            # The plain Open MPI 4.1 hangs in scripts with threads now and then.
            can = not (MPIS[name].is_open_mpi and MPIS[name].major < 5)
            yield Batch(name, mode, seeds, (2, 3, 2, 4)[turn % 4], threads and can, device)


def compare_batch(batch, tally, found):
    """Runs the scripts of a batch. `found`(seed, script, difference, alone) is called for each
    difference that a script shows when it runs alone, and for crashes, hangs and wrong bytes that
    it shows after the others only: what those have left behind may be the cause."""
    mpi = MPIS[batch.mpi]
    scripts = [scenes.script(seed, batch.ranks, batch.threads, batch.device) for seed in batch.seeds]
    plains, others = runner.run(mpi, "plain", scripts), runner.run(mpi, batch.mode, scripts)
    for seed, script, plain, other in zip(batch.seeds, scripts, plains, others):
        tally.scripts += 1
        verdict = compare.compare(mpi, script, [plain], other)
        tally.statements += len(plain.lines)
        grave = [difference for difference in verdict.differences if difference.is_grave]
        if verdict.differences:
            verdict = compare.examine(mpi, batch.mode, script)
            tally.varying += verdict.varying
            tally.once += not verdict.differences and not verdict.plain_fails
        tally.explained.update(verdict.explained)
        tally.plain_fails += bool(verdict.plain_fails)
        if verdict.differences and compare.only_at_other_times(mpi, script, verdict.differences):
            tally.timing += 1
        elif verdict.differences:
            tally.unexplained += 1
            found(seed, script, verdict.differences[0], True)
        elif grave and not verdict.plain_fails and not verdict.explained:
            tally.unexplained += 1
            found(seed, script, grave[0], False)


def do(batch, shrinks, keep):
    """(tally, what to print of the differences). May run in a process of its own."""
    tally, told = Tally(), []

    def found(seed, script, difference, alone):
        after = "" if alone else f", only after those from {batch.seeds[0]} on"
        told.append(f"\n{batch.mpi}, mode {batch.mode}, seed {seed}{after}: {difference}")
        if not shrinks or not alone:
            return
        script = shrink.shrink(MPIS[batch.mpi], batch.mode, script, difference)
        told.append(script)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{batch.mpi}-{batch.mode}-{seed}.txt").write_text(script)

    compare_batch(batch, tally, found)
    return tally, "\n".join(told)


def take_core(numbers):
    """Each process has its ranks on one core: those of different launches poll."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[numbers.get() % len(cores)]})


def workers(jobs):
    """Processes that run batches. A single one may use all cores."""
    if jobs == 1:
        return concurrent.futures.ProcessPoolExecutor(1)
    numbers = multiprocessing.Queue()
    for number in range(jobs):
        numbers.put(number)
    return concurrent.futures.ProcessPoolExecutor(jobs, initializer=take_core, initargs=(numbers,))


def main():
    parser = argparse.ArgumentParser(prog="machine", description=__doc__)
    parser.add_argument("--mpi", nargs="*", default=[name for name in MPIS if "abi" not in name])
    parser.add_argument("--mode", nargs="*", default=list(runner.MODES))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="batches at a time")
    parser.add_argument("--scripts", type=int, default=10**9, help="at most, on each MPI")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--device", type=int, default=4, help="one batch of so many has device memory; 0: none")
    parser.add_argument("--keep", type=pathlib.Path, help="where the minimal scripts go")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    tallies = {name: Tally() for name in options.mpi}
    begun = collections.Counter()
    end = time.monotonic() + options.seconds

    def tasks():
        for batch in batches(options):
            if time.monotonic() >= end or min(begun[name] for name in options.mpi) >= options.scripts:
                return
            if begun[batch.mpi] < options.scripts:
                begun[batch.mpi] += len(batch.seeds)
                yield batch, do, batch, not options.no_shrink, options.keep

    with workers(options.jobs) as pool:
        for batch, (tally, told) in jobs.results(pool, options.jobs, tasks()):
            tallies[batch.mpi].add(tally)
            print(f"{told}\n{batch}: {tallies[batch.mpi]}".lstrip("\n"), flush=True)
    for name, tally in tallies.items():
        print(f"{name}: {tally}")
    return 1 if any(tally.unexplained for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
