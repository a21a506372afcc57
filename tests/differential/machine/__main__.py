"""Runs random scripts plain and with Dunnage until the time is up.

    python -m machine [--mpi NAME...] [--seconds N] [--first SEED] [--scripts N] [--keep FOLDER]
"""

import argparse
import collections
import dataclasses
import pathlib
import sys
import time

from . import compare, runner, scenes, shrink

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from installed import MPIS  # noqa: E402

BATCH = 40
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

    def __str__(self):
        reasons = "".join(f"\n    {count} statements: {reason}" for reason, count in self.explained.most_common())
        return (
            f"{self.scripts} scripts, {self.statements} statements, {self.unexplained} unexplained differences; "
            f"differed in a batch and not alone: {self.once}; by timing, plain too: {self.timing}; "
            f"plain results vary: {self.varying} statements; the plain MPI fails: {self.plain_fails} scripts{reasons}"
        )


def batch(mpi, mode, seeds, scripts, tally, found):
    """Runs the scripts of some seeds. `found`(seed, script, difference, alone) is called for each
    difference that a script shows when it runs alone, and for crashes, hangs and wrong bytes that
    it shows after the others only: what those have left behind may be the cause."""
    plains, others = runner.run(mpi, "plain", scripts), runner.run(mpi, mode, scripts)
    for seed, script, plain, other in zip(seeds, scripts, plains, others):
        tally.scripts += 1
        verdict = compare.compare(mpi, script, [plain], other)
        tally.statements += len(plain.lines)
        grave = [difference for difference in verdict.differences if difference.is_grave]
        if verdict.differences:
            verdict = compare.examine(mpi, mode, script)
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


def main():
    parser = argparse.ArgumentParser(prog="machine", description=__doc__)
    parser.add_argument("--mpi", nargs="*", default=[name for name in MPIS if "abi" not in name])
    parser.add_argument("--mode", nargs="*", default=list(runner.MODES))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--scripts", type=int, default=10**9, help="at most, on each MPI")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--device", type=int, default=4, help="one batch of so many has device memory; 0: none")
    parser.add_argument("--keep", type=pathlib.Path, help="where the minimal scripts go")
    parser.add_argument("--no-shrink", action="store_true")
    arguments = parser.parse_args()
    tallies = {name: Tally() for name in arguments.mpi}
    end = time.monotonic() + arguments.seconds
    seed, turn = arguments.first, 0
    while time.monotonic() < end and min(tally.scripts for tally in tallies.values()) < arguments.scripts:
        seeds = range(seed, seed + min(BATCH, arguments.scripts))
        mode = arguments.mode[(turn // 4 + turn) % len(arguments.mode)]
        device = bool(arguments.device) and turn % arguments.device == arguments.device - 1
        # All scripts of a batch are alike in this, so that one launch runs them all.
        ranks, threads = (2, 3, 2, 4)[turn % 4], not device and turn % THREADS == THREADS - 1
        scripts = [scenes.script(seed, ranks, threads, device) for seed in seeds]
        for name in arguments.mpi:
            mpi = MPIS[name]

            def found(seed, script, difference, alone, mpi=mpi, mode=mode, first=seeds[0]):
                after = "" if alone else f", only after those from {first} on"
                print(f"\n{mpi.name}, mode {mode}, seed {seed}{after}: {difference}", flush=True)
                if arguments.no_shrink or not alone:
                    return
                script = shrink.shrink(mpi, mode, script, difference)
                print(script, flush=True)
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{mpi.name}-{mode}-{seed}.txt").write_text(script)

            batch(mpi, mode, seeds, scripts, tallies[name], found)
            what = f"{mode}, {ranks} ranks{', device' * device}{', threads' * threads}"
            print(f"{name} {what}, seeds to {seeds[-1]}: {tallies[name]}", flush=True)
        seed, turn = seeds[-1] + 1, turn + 1
    for name, tally in tallies.items():
        print(f"{name}: {tally}")
    return 1 if any(tally.unexplained for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
