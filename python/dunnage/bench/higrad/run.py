"""Runs the Higrad program with every MPI, with and without Dunnage, for every number of ranks for
which the machine has cores.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List

from ..bcast.run import cores
from ..experiment import Experiment
from ..home import Home
from ..results import Record
from ..runner import NoDevice, Run, RunError, Say, launch_program, turns
from .results import TRIGGERED

VARIANTS = ("plain", "dunnage")
ALL_OPTIONS, FROM_HOST = "0,1,2", "0"
BY_STREAMS = "higrad_triggered"  # the program that has the options TRIGGERED too
TOLD = {"DUNNAGE_PARTITIONED": "on", "DUNNAGE_NEIGHBOURS": "on"}  # as `dunnage run` tells all ranks
SMALL = ["--mesh", "8,8,8", "--steps", "1", "--warm-up", "0", "--variables", "1"]


def run_higrad(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs all launches; the variants take turns, and each launch runs all options.

    If a launch dies or does not end, its results are lost, and the other launches go on. If plain
    MPI cannot send from device memory, it is measured in option 0 only. With Dunnage, in device
    memory, a second program has the options that a stream starts, if it was built for the MPI.
    """
    del core  # the launcher places the ranks
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: there is nothing to compare plain MPI with")
    run = Run()
    options = {mpi: _options(home, experiment, mpi, run) for mpi in mpis}
    here = cores()
    for name, sweep in experiment.sweeps.items():
        for ranks in sweep["ranks"]:
            if ranks > here:
                run.skipped.append({"sweep": name, "ranks": ranks, "reason": f"{here} cores"})
                continue
            for ghost in sweep["ghost"]:
                for turn, mpi in turns(mpis, experiment.rounds):
                    for variant in VARIANTS:
                        say(f"{mpi}, {ranks} ranks, {ghost} deep, {variant}, round {turn + 1}")
                        arguments = [*experiment.arguments, "--ghost", str(ghost), "--option", options[mpi][variant]]
                        try:
                            records = _launch(home, experiment, mpi, ranks, variant, arguments)
                        except RunError as error:
                            run.lost.append(f"{mpi}, {ranks} ranks, {variant}: {str(error)[-300:]}")
                            continue
                        _keep(run, mpi, variant, turn, records)
                    _run_triggered(home, experiment, mpi, ranks, ghost, turn, run)
    return run


def _keep(run: Run, mpi: str, variant: str, turn: int, records: List[Record]) -> None:
    run.records += [(mpi, {**record, "variant": variant, "launch": turn})
                    for record in records if record["record"] == "result"]


def _run_triggered(
    home: Home, experiment: Experiment, mpi: str, ranks: int, ghost: int, turn: int, run: Run
) -> None:
    """Launches each option that a stream starts, because one that is not possible here makes the
    status of a launch an error. The program says why.
    """
    if _memory(experiment) == "host" or not home.program(mpi, BY_STREAMS).exists():
        return
    for option in TRIGGERED:
        arguments = [*experiment.arguments, "--ghost", str(ghost), "--option", str(option)]
        try:
            records = _launch(home, experiment, mpi, ranks, "dunnage", arguments, program=BY_STREAMS, **TOLD)
        except RunError as error:
            said = [line for line in str(error).splitlines() if line.startswith(f"higrad: option {option} ")]
            if said:
                skipped = {"mpi": mpi, "ranks": ranks, "options": str(option), "reason": said[0][len("higrad: "):]}
                if skipped not in run.skipped:
                    run.skipped.append(skipped)
            else:
                run.lost.append(f"{mpi}, {ranks} ranks, option {option}, dunnage: {str(error)[-300:]}")
            continue
        _keep(run, mpi, "dunnage", turn, records)


def _memory(experiment: Experiment) -> str:
    return experiment.arguments[experiment.arguments.index("--memory") + 1]


def _options(home: Home, experiment: Experiment, mpi: str, run: Run) -> Dict[str, str]:
    """Returns the options that each variant can run with, and sets the header of the MPI.

    Short launches try it: an MPI that is not CUDA-aware ends on device memory, or corrupts it.
    """
    memory = _memory(experiment)
    small = [*SMALL, "--memory", memory, "--option"]
    with tempfile.TemporaryDirectory() as folder:
        # The program knows nothing of Dunnage. That the report exists shows that Dunnage was there.
        written = Path(folder) / "report.json"
        records = _launch(home, experiment, mpi, 1, "dunnage", [*small, FROM_HOST], DUNNAGE_REPORT=str(written))
        run.headers[mpi] = {**records[0], "dunnage": written.exists()}
    if memory == "host":
        return dict.fromkeys(VARIANTS, ALL_OPTIONS)
    try:
        tried = _launch(home, experiment, mpi, 2, "plain", [*small, ALL_OPTIONS])
        aware = len({record["checksum"] for record in tried if record["record"] == "result"}) == 1
    except RunError:
        aware = False
    if not aware:
        run.skipped.append({"mpi": mpi, "variant": "plain", "options": "1, 2",
                            "reason": "this MPI by itself cannot send from device memory"})
    return {"plain": ALL_OPTIONS if aware else FROM_HOST, "dunnage": ALL_OPTIONS}


def _launch(
    home: Home, experiment: Experiment, mpi: str, ranks: int, variant: str, arguments: List[str], program: str = "",
    **settings: Any
) -> List[Record]:
    """Returns the records of a launch, of the experiment's program if no other one is named. Raises
    NoDevice if there is no GPU, or RunError.
    """
    preload = [str(home.library)] if variant == "dunnage" else []
    if str(home.simulator) in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        preload.append(str(home.path / "tests" / "libkernels_on_host.so"))
    if variant == "dunnage":
        settings.update(experiment.settings)
    try:
        return launch_program(home, program or experiment.program, mpi, ["--json", *arguments], ranks,
                              settings={**settings, "LD_PRELOAD": ":".join(preload)},
                              limit=experiment.seconds or None)
    except RunError as error:
        said = [line for line in str(error).splitlines() if line.startswith("higrad: ") and "libcuda" in line]
        if said:
            raise NoDevice(said[0]) from error
        raise
