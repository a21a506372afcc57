"""Runs the benchmark of halo exchanges with every MPI, with and without Dunnage, for every number
of ranks for which the machine has cores.
"""

from __future__ import annotations

from typing import List

from ..bcast.run import cores
from ..experiment import Experiment
from ..home import Home
from ..results import Record
from ..runner import NoDevice, Run, RunError, Say, launch_program, turns

VARIANTS = ("plain", "dunnage")


def run_halos(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs all launches; the variants take turns.

    If a launch dies or does not end, its results are lost, and the other launches go on. The launch
    of a record counts the launches of its variant.
    """
    del core  # the launcher places the ranks
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: there is nothing to compare plain MPI with")
    run = Run()
    here = cores()
    for name, sweep in experiment.sweeps.items():
        for ranks in sweep["ranks"]:
            if ranks > here:
                run.skipped.append({"sweep": name, "ranks": ranks, "reason": f"{here} cores"})
                continue
            for turn, mpi in turns(mpis, experiment.rounds):
                for variant in experiment.modes or VARIANTS:
                    say(f"{mpi}, {ranks} ranks, {variant}, round {turn + 1}")
                    _launch(home, experiment, mpi, ranks, variant, turn, run)
    return run


def _launch(home: Home, experiment: Experiment, mpi: str, ranks: int, variant: str, turn: int, run: Run) -> None:
    def take(record: Record) -> None:
        record.update(variant=variant, launch=turn)
        if record["record"] == "header":
            header = run.headers.setdefault(mpi, record)
            header["dunnage"] = header["dunnage"] or record["dunnage"]
        elif record["record"] == "result":
            run.records.append((mpi, record))

    settings = dict(experiment.settings) if variant == "dunnage" else {"LD_PRELOAD": ""}
    try:
        launch_program(home, experiment.program, mpi, experiment.arguments, ranks, settings=settings, each=take,
                       limit=experiment.seconds or None)
    except RunError as error:
        said = [line for line in str(error).splitlines() if line.startswith("bench_halo: ")]
        if any("GPU" in line or "libcuda" in line for line in said):
            raise NoDevice(said[0]) from error
        run.lost.append(f"{mpi}, {ranks} ranks, {variant}: {(said or [str(error)[-300:]])[0]}")
