#!/usr/bin/env python3
"""Exchanges of ghost cells in host memory: plain, with Dunnage, and with an earlier build of it.

host-halo.py [--before LIBRARY] [--mpi NAME...] [--ranks N] [--launches N] -- OPTIONS OF bench_halo

LIBRARY is a file libdunnage.so with its backends beside it. The libraries take turns in random
order, because two launches of one program differ by up to 1.7 times, and launches that follow each
other tend to get the memory of the one before. For each way of exchanging the script prints the
least and the median of the launches' medians in microseconds, and plain's times over those.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def launch(mpi, ranks, library, options):
    """{(cells, ghost, way): microseconds} of one launch."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DUNNAGE")}
    for launcher in ("OMPI", "PRTE"):
        env[f"{launcher}_ALLOW_RUN_AS_ROOT"] = env[f"{launcher}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    words = [mpi["launcher"], "-n", str(ranks)]
    if mpi["kind"] == "openmpi":
        words += ["--map-by", ":OVERSUBSCRIBE"]
    words += ["env", *([f"LD_PRELOAD={library}"] if library else [])]
    words += [str(ROOT / "build" / "mpi" / mpi["name"] / "bench_halo"), "--memory", "host", *options]
    run = subprocess.run(words, env=env, capture_output=True, text=True, timeout=600, check=False)
    if run.returncode:
        sys.exit(f"host-halo: {' '.join(words)} failed\n{run.stdout}{run.stderr}")
    results = [r for r in map(json.loads, run.stdout.splitlines()) if r["record"] == "result"]
    wrong = [r["way"] for r in results if r["verified"] is False]
    if wrong:
        sys.exit(f"host-halo: {' '.join(words)}: wrong cells in {', '.join(wrong)}")
    return {(r["cells"], r["ghost"], r["way"]): r["seconds"]["median"] * 1e6 for r in results}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, help="libdunnage.so of an earlier build")
    parser.add_argument("--mpi", nargs="+", default=["openmpi", "mpich"], help="names in build/mpis.json")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--launches", type=int, default=9)
    parser.add_argument("options", nargs="*", help="of bench_halo, after --")
    args = parser.parse_args()
    mpis = {mpi["name"]: mpi for mpi in json.loads((ROOT / "build" / "mpis.json").read_text())}
    libraries = {"plain": None, "before": args.before, "dunnage": ROOT / "build" / "lib" / "libdunnage.so"}
    if not args.before:
        del libraries["before"]
    for name in args.mpi:
        if name not in mpis:
            sys.exit(f"host-halo: no {name}; there is {', '.join(mpis)}")
        times = collections.defaultdict(list)
        for _ in range(args.launches):
            for library in random.sample(list(libraries), len(libraries)):
                for key, time in launch(mpis[name], args.ranks, libraries[library], args.options).items():
                    times[(*key, library)].append(time)
        print(f"{name}, {args.ranks} ranks, {args.launches} launches: least and median in microseconds")
        for cells, ghost, way in sorted({key[:3] for key in times}):
            plain = times[cells, ghost, way, "plain"]
            line = f"{cells:4} {ghost} {way:11}  plain {min(plain):6.1f} {statistics.median(plain):6.1f}"
            for library in list(libraries)[1:]:
                mine = times[cells, ghost, way, library]
                line += f"  {library} {min(mine):6.1f} {statistics.median(mine):6.1f}"
                line += f" ({min(plain) / min(mine):.2f} {statistics.median(plain) / statistics.median(mine):.2f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
