#!/usr/bin/env python3
"""An unmodified MPI program that exchanges ghost columns (examples/c/columns.c), without and with
Dunnage.

demo.py [MPI...]    default: one Open MPI and one MPICH of build/mpis.json

The two are started in turn, ROUNDS times each, and the medians are compared. The program checks
every byte that it receives.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
ROUNDS = 5
ALIKE = 0.005  # ratios that are shown as 1.00
ROWS = [1024, 4096, 16384, 65536]  # messages of 16 KiB to 1 MiB, in blocks of 16 bytes
LINE = re.compile(r"columns: (\d+) bytes, ([\d.]+) us, verified")
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "impi": "Intel MPI"}


def chosen(asked):
    """The MPIs to show: those asked for, or the first of each kind."""
    mpis = {mpi["name"]: mpi for mpi in json.loads((BUILD / "mpis.json").read_text())}
    built = [name for name in mpis if (BUILD / "mpi" / name / "columns").exists()]
    unknown = sorted(set(asked) - set(built))
    if unknown or not built:
        sys.exit(f"demo: no {', '.join(unknown) or 'MPI'} in {BUILD / 'mpi'}; there is {', '.join(built) or 'none'}")
    defaults = [name for name in ("openmpi", "mpich") if name in built] or built[:1]
    return [mpis[name] for name in asked or defaults]


def words(mpi, ranks):
    """The command line of the plain program."""
    launch = [mpi["launcher"], "-n", str(ranks)]
    if mpi["kind"] == "openmpi":
        launch += ["--map-by", ":OVERSUBSCRIBE"]
    return [*launch, str(BUILD / "mpi" / mpi["name"] / "columns"), *map(str, ROWS)]


def environment():
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("DUNNAGE")}
    for launcher in ("OMPI", "PRTE"):  # Open MPI refuses to run as root, as which containers run, unless told twice
        env[f"{launcher}_ALLOW_RUN_AS_ROOT"] = env[f"{launcher}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return env


def microseconds(command):
    """{bytes of a message: time of an exchange}. Ends the demo if the program fails or a byte is
    wrong."""
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    found = {int(size): float(time) for size, time in LINE.findall(run.stdout)}
    if run.returncode or len(found) != len(ROWS):
        sys.exit(f"demo: {' '.join(command)} failed\n{run.stdout}{run.stderr}")
    return found


def comparison(plain, dunnage):
    ratio = plain / dunnage
    if abs(ratio - 1) < ALIKE:
        return "as fast as plain"
    return f"{ratio:.1f} times as fast" if ratio > 1 else f"slower: {1 / ratio:.2f} times the time"


def show(mpi, ranks):
    plain, dunnage = words(mpi, ranks), [str(BUILD / "bin" / "dunnage"), "run", "--", *words(mpi, ranks)]
    times = {"plain": [], "dunnage": []}
    for _ in range(ROUNDS):
        times["plain"].append(microseconds(plain))
        times["dunnage"].append(microseconds(dunnage))
    print(
        f"\n{NAMES.get(mpi['kind'], mpi['kind'])} {mpi['version']}, {ranks} ranks\n"
        f"{'message':>10}{'plain':>13}{'with Dunnage':>16}",
        flush=True,
    )
    ratios = []
    for size in times["plain"][0]:
        without, with_it = (statistics.median(run[size] for run in times[how]) for how in times)
        ratios.append(without / with_it)
        print(f"{size >> 10:>6} KiB{without:>10.0f} us{with_it:>13.0f} us   {comparison(without, with_it)}", flush=True)
    mean = statistics.geometric_mean(ratios)
    print(f"Over all four sizes (geometric mean): {comparison(mean, 1.0)}.")
    return mean


def main(asked):
    ranks = max(2, min(4, os.cpu_count() or 2))
    print(
        "Each rank sends the two outermost columns of its matrix of doubles to the neighbours on both sides.\n"
        f"The figures are medians of {ROUNDS} runs of the same program, in turn without and with Dunnage. "
        "Every byte is verified."
    )
    mpis = chosen(asked)
    means = [show(mpi, ranks) for mpi in mpis]
    if min(means) < 1 - ALIKE:
        print(
            "\nWith one of these MPIs Dunnage was slower here. `build/bin/dunnage tune` measures this machine for it."
        )
    print(
        "\nNext: your own program   build/bin/dunnage run --report -- mpirun -n 4 ./program\n"
        "      one datatype       build/bin/dunnage explain 'vector(1024, 2, 64, double)'"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
