"""Runs the benchmark of broadcasts with every MPI and every number of ranks for which the machine
has cores.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Dict, List, Set

from ..experiment import Experiment
from ..home import Home
from ..results import Record
from ..runner import Run, RunError, Say, launch_program, turns


def cores() -> int:
    """Returns the number of cores that this process may use.

    Hyperthreads of one core count once.
    """
    seen: Set[str] = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        seen.add(siblings.read_text().strip() if siblings.exists() else str(cpu))
    return len(seen)


def points(experiment: Experiment, here: int) -> Dict[int, List[int]]:
    """Returns the lengths of messages to measure for each number of ranks.

    In the experiment, 0 ranks mean three quarters of the cores.
    """
    found: Dict[int, Set[int]] = {}
    for sweep in experiment.sweeps.values():
        for ranks in sweep["ranks"]:
            found.setdefault(ranks or max(2, here * 3 // 4), set()).update(sweep["bytes"])
    return {ranks: sorted(found[ranks]) for ranks in sorted(found)}


def run_broadcasts(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs all launches.

    If a launch dies or does not end, its results are lost, and the other launches go on.
    """
    del core  # the program itself binds its ranks to cores
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: there is nothing to compare plain MPI with")
    run = Run()
    here = cores()
    spare = 2 if here >= 8 else 0
    for ranks, lengths in points(experiment, here).items():
        if ranks > here - spare:
            run.skipped.append({"ranks": ranks, "reason": f"{here} cores"})
            continue
        for turn, mpi in turns(mpis, experiment.rounds):
            say(f"{mpi}, {ranks} ranks, round {turn + 1}")

            def take(record: Record, mpi: str = mpi) -> None:
                if record["record"] == "header":
                    run.headers.setdefault(mpi, record)
                elif record["record"] == "result":
                    run.records.append((mpi, record))

            arguments = ["--bytes", ",".join(map(str, lengths)), *experiment.arguments]
            try:
                launch_program(home, experiment.program, mpi, arguments, ranks, settings=experiment.settings, each=take,
                               limit=experiment.seconds or None)
            except RunError as error:
                run.lost.append(f"{mpi}, {ranks} ranks: {str(error)[-400:]}")
    return run
