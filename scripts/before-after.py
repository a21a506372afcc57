#!/usr/bin/env python3
"""Compares two builds of the library: did a change make anything slower?

before-after.py BEFORE AFTER [--launches N] [--mpi NAME...] [--benchmark NAME...]

BEFORE and AFTER are files libdunnage.so, each with its backends beside it. Every benchmark program
of build/ is started with the one and with the other in turn. A figure is the median time of one
series in one launch, divided by the plain MPI's in that launch, so that a slow launch counts for
both. The script prints the ratio of AFTER to BEFORE for each benchmark: the geometric mean over its
figures, the worst and the best, and the median and the spread of the ratios of single launches.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from dunnage.bench.home import find_home  # noqa: E402

# Program, ranks, arguments.
BENCHMARKS = {
    "message": ("bench_message", 2, ["--repetitions", "21"]),
    "pack": ("bench_pack", 1, ["--mode", "warm", "--quick"]),
    "pack-cold": ("bench_pack", 1, ["--mode", "cold", "--quick"]),
    "bcast": ("bench_bcast", 2, ["--rounds", "3", "--seconds", "0.3", "--ways", "plain|dunnage"]),
}
KEYS = ("pattern", "bytes", "size", "mode", "operation", "ranks", "buffers", "roots")


def median_of(series):
    return series["loop"]["median"] if "loop" in series else series["median"]


def launch(home, program, mpi, ranks, arguments, library):
    """{figure: seconds} of one launch."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
        environment |= {name: "1", f"{name}_CONFIRM": "1"}
    environment["DUNNAGE_BCAST"] = "window"
    words = [home.launcher(mpi), "-n", str(ranks), home.path / "mpi" / mpi / program, *arguments]
    if mpi.startswith("openmpi"):
        words.insert(1, "--oversubscribe")
    run = subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{program} with {library} ended with {run.returncode}\n{run.stderr[-2000:]}")
    figures = {}
    for line in run.stdout.splitlines():
        record = json.loads(line)
        if record.get("record") != "result":
            continue
        key = tuple(str(record[name]) for name in KEYS if name in record)
        plain, dunnage = (record["series"].get(name) for name in ("plain", "dunnage"))
        if not plain or not dunnage:
            continue
        if not dunnage.get("verified", True):
            sys.exit(f"{program} with {library}: wrong bytes, {key}")
        figures[key] = median_of(dunnage) / median_of(plain)
    return figures


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--mpi", nargs="+", default=["openmpi", "mpich"])
    parser.add_argument("--benchmark", nargs="+", default=["message", "pack", "bcast"], choices=BENCHMARKS)
    options = parser.parse_args()
    home = find_home()
    print("| benchmark | MPI | figures | after / before | worst | best | launches: median, spread |")
    print("|---|---|---|---|---|---|---|")
    for name in options.benchmark:
        program, ranks, arguments = BENCHMARKS[name]
        for mpi in options.mpi:
            taken = {options.before: [], options.after: []}
            for _ in range(options.launches):
                for library in taken:
                    taken[library].append(launch(home, program, mpi, ranks, arguments, library))
            keys = set.intersection(*(set(one) for all_of in taken.values() for one in all_of))
            medians = {
                library: {key: statistics.median(one[key] for one in all_of) for key in keys}
                for library, all_of in taken.items()
            }
            ratios = {key: medians[options.after][key] / medians[options.before][key] for key in keys}
            single = [
                geometric_mean(after[key] / before[key] for key in keys)
                for before, after in zip(taken[options.before], taken[options.after])
            ]
            worst, best = max(ratios, key=ratios.get), min(ratios, key=ratios.get)
            print(
                f"| {name} | {mpi} | {len(keys)} | {geometric_mean(ratios.values()):.3f} "
                f"| {ratios[worst]:.2f} ({', '.join(worst)}) | {ratios[best]:.2f} ({', '.join(best)}) "
                f"| {statistics.median(single):.3f}, {min(single):.3f} to {max(single):.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
