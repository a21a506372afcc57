#!/usr/bin/env python3
"""Measures what Dunnage adds to an empty MPI program: MPI_Init, MPI_Finalize, both together, the
whole job, and the processor time of the job.

    scripts/startup.py [--mpi mpich,openmpi] [--ranks 2,4] [--pairs 20]

Jobs without Dunnage, preloaded, and by `dunnage run` take turns. Prints medians in milliseconds,
and the median of the differences between neighbours with its standard error. The processor time is
that of the launcher and the ranks. The build is `build/`, or what DUNNAGE_HOME names.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from installed import BUILD, MPIS, command, environment  # noqa: E402

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
int main(int argc, char** argv) {
  const double start = now();
  MPI_Init(&argc, &argv);
  const double begun = now();
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double ends = now();
  MPI_Finalize();
  if (rank == 0) printf("[%f, %f]\n", begun - start, now() - ends);
  return 0;
}
"""
VARIANTS = ("plain", "preloaded", "dunnage run")
PARTS = ("MPI_Init", "MPI_Finalize", "both", "job", "processor")


def processor_time():
    """The milliseconds of processor time of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (used.ru_utime + used.ru_stime)


def job(mpi, program, ranks, variant):
    """The milliseconds of each part."""
    preload = {"LD_PRELOAD": str(BUILD / "lib" / "libdunnage.so")} if variant == "preloaded" else {}
    words = [*command(mpi, ranks, preload), program]
    if variant == "dunnage run":
        words = [BUILD / "bin" / "dunnage", "run", "--", *words]
    start, used = time.monotonic(), processor_time()
    done = subprocess.run([str(word) for word in words], env=environment(), capture_output=True, text=True, check=True)
    wall = 1e3 * (time.monotonic() - start)
    init, finalize = json.loads(done.stdout)
    return [init, finalize, init + finalize, wall, processor_time() - used]


def median_and_error(values):
    """The median, and the standard error that the quartiles tell."""
    low, _, high = statistics.quantiles(values, n=4)
    return statistics.median(values), 0.93 * (high - low) / len(values) ** 0.5


def measure(name, program, ranks, pairs):
    """Prints the lines of one MPI and one number of ranks."""
    times = {variant: [] for variant in VARIANTS}
    for turn in range(pairs):
        for variant in VARIANTS if turn % 2 else VARIANTS[::-1]:
            times[variant].append(job(MPIS[name], program, ranks, variant))
    for variant in VARIANTS:
        cells = []
        for part in range(len(PARTS)):
            more, error = median_and_error([a[part] - b[part] for a, b in zip(times[variant], times["plain"])])
            cells.append(f"{statistics.median(one[part] for one in times[variant]):8.1f} ({more:+5.1f} +-{error:4.1f})")
        print(f"{name:<8} {ranks:5} {variant:<11} " + " ".join(f"{cell:>24}" for cell in cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi,mpich,openmpi5,mpich5")
    parser.add_argument("--ranks", default="4")
    parser.add_argument("--pairs", type=int, default=20)
    options = parser.parse_args()
    compilers = {entry["name"]: entry["compiler"] for entry in json.loads((BUILD / "mpis.json").read_text())}
    print(f"medians of {options.pairs} jobs, ms; in brackets: more than plain")
    print(f"{'MPI':<8} {'ranks':>5} {'':<11} " + " ".join(f"{part:>24}" for part in PARTS))
    for name in options.mpi.split(","):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "empty.c"
            source.write_text(PROGRAM)
            program = source.with_suffix("")
            subprocess.run([compilers[name], source, "-o", program], check=True)
            for ranks in options.ranks.split(","):
                measure(name, program, int(ranks), options.pairs)


if __name__ == "__main__":
    main()
