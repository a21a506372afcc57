"""`dunnage bench regressions` on many cores: launches of several MPIs beside each other, each on
two cores of its own, until the time is over. run.py beside this file calls it.

An MPI that is named twice has two pairs of cores. A point is surely slower if every launch says so:
there is no second time for points that seem slower.
"""

import argparse
import os
import threading
import time
from collections import Counter

from tabulate import tabulate

from dunnage.bench import regressions
from dunnage.bench.experiment import load
from dunnage.bench.home import experiment_files, find_home
from dunnage.bench.runner import Run, RunError, launch_program
from dunnage.bench.statistics import geometric_mean

PAIRS = "openmpi,openmpi,openmpi5,openmpi5,mpich5,mpich5,mpich,impi"


def launches(home, experiment, mpi, pair, end, run, counts, complaints):
    """Launches one after the other, with warm and cold caches in turns."""
    os.sched_setaffinity(0, {2 * pair, 2 * pair + 1})  # of this thread, and of what it starts
    turn = pair
    while (left := end - time.monotonic()) > 5:
        caches = regressions.CACHES[turn % 2]
        turn += 1
        counts[mpi, caches] += 1

        def take(record):
            if record["record"] == "result":
                run.records.append((mpi, {**record, "time": regressions.FIRST}))

        try:
            launch_program(home, experiment.program, mpi, [*experiment.arguments, "--caches", caches], experiment.ranks,
                           each=take, limit=left)
        except RunError as error:
            if time.monotonic() < end:
                complaints.append(f"{mpi}: {error}")


def tell(run, counts, asked):
    measured = regressions.points(run)
    mpis = list(dict.fromkeys(point.mpi for point in measured))
    calls = list(dict.fromkeys(point.call for point in measured))

    def mean(call, mpi):
        return f"{geometric_mean([p.ratio for p in measured if p.mpi == mpi and p.call == call]):.2f}"

    print("launches:", ", ".join(f"{mpi} {caches} {number}" for (mpi, caches), number in sorted(counts.items())))
    print("wrong bytes:", sum(not point.verified for point in measured))
    print("\nplain over Dunnage, geometric means")
    rows = [[call, *(mean(call, mpi) for mpi in mpis)] for call in calls]
    slower = [p for p in regressions.slower(measured, asked) if max(p.ratios[regressions.FIRST]) < asked["least"]]
    of = {mpi: [p for p in slower if p.mpi == mpi] for mpi in mpis}
    rows.append([f"points below {asked['least']} in all launches", *(str(len(of[mpi])) for mpi in mpis)])
    rows.append(["of so many", *(str(sum(p.mpi == mpi for p in measured)) for mpi in mpis)])
    print(tabulate(rows, headers=["", *mpis], disable_numparse=True))
    for mpi in mpis:
        print(f"\n{mpi}, slower")
        print(tabulate([regressions.row(p) for p in of[mpi]], headers="keys", disable_numparse=True))


def main(arguments):
    parser = argparse.ArgumentParser(prog="run.py ARCHIVE regressions", description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=280)
    parser.add_argument("--mpi", default=PAIRS, help=f"the MPI of each pair of cores, with commas (default: {PAIRS})")
    options = parser.parse_args(arguments)
    home = find_home()
    experiment = next(e for e in map(load, experiment_files(home)) if e.program == "bench_regressions")
    # The threads' cores are the ranks' cores.
    os.environ.update(OMPI_MCA_hwloc_base_binding_policy="none", PRTE_MCA_hwloc_default_binding_policy="none",
                      I_MPI_PIN="0")
    run, counts, complaints = Run(), Counter(), []
    end = time.monotonic() + options.seconds
    threads = [
        threading.Thread(target=launches, args=(home, experiment, mpi, pair, end, run, counts, complaints))
        for pair, mpi in enumerate(options.mpi.split(","))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tell(run, counts, experiment.criteria["slower"])
    for complaint in complaints:
        print("did not finish:", complaint)
