"""Runs the benchmark of late receivers with every MPI, with and without Dunnage.

Each size has launches of its own. Memory that one size made the MPI keep is therefore not counted
for another, and the ways in Dunnage's report belong to one size.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Dict, List

from ..bcast.run import cores
from ..experiment import Experiment
from ..home import Home
from ..results import Record
from ..runner import NoDevice, Run, RunError, Say, launch_program, turns

VARIANTS = ("plain", "dunnage")
HOOKS = {"send": "MPI_Send", "isend": "MPI_Isend", "persistent": "MPI_Send_init", "sendrecv": "MPI_Sendrecv"}
SMALL = ["--bytes", "65536", "--messages", "1", "--lateness", "0", "--rounds", "1", "--each", "1"]


def run_lates(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs all launches; the variants take turns.

    If a launch dies or does not end, its results are lost, and the other launches go on. Plain MPI
    is left out on device memory that it cannot send from.
    """
    del core  # the launcher places the ranks
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: there is nothing to compare plain MPI with")
    run = Run()
    variants = {mpi: _variants(home, experiment, mpi, run) for mpi in mpis}
    here = cores()
    for name, sweep in experiment.sweeps.items():
        for ranks in sweep["ranks"]:
            if ranks > here:
                run.skipped.append({"sweep": name, "ranks": ranks, "reason": f"{here} cores"})
                continue
            for turn, mpi in turns(mpis, experiment.rounds):
                for bytes_, block, messages in itertools.product(sweep["bytes"], sweep["blocks"], sweep["messages"]):
                    arguments = [*experiment.arguments, "--bytes", str(bytes_), "--blocks", str(block),
                                 "--messages", str(messages)]
                    for variant in variants[mpi]:
                        what = f"{mpi}, {ranks} ranks, {messages} x {bytes_} bytes, blocks {block}, {variant}"
                        say(f"{what}, round {turn + 1}")
                        try:
                            records = _launch(home, experiment, mpi, ranks, variant, arguments)
                        except RunError as error:
                            run.lost.append(f"{what}: {str(error)[-300:]}")
                            continue
                        run.records += [(mpi, {**record, "variant": variant, "launch": turn})
                                        for record in records if record["record"] == "result"]
    return run


def _variants(home: Home, experiment: Experiment, mpi: str, run: Run) -> List[str]:
    """Returns the variants that this MPI can run, and sets the header of the MPI.

    Short launches try it: an MPI that is not CUDA-aware ends on device memory, or corrupts it.
    """
    memory = experiment.arguments[experiment.arguments.index("--memory") + 1]
    small = ["--memory", memory, *SMALL]
    run.headers[mpi] = _launch(home, experiment, mpi, 2, "dunnage", small)[0]
    if memory == "host":
        return list(VARIANTS)
    try:
        tried = _launch(home, experiment, mpi, 2, "plain", small)
        aware = all(record["verified"] for record in tried if record["record"] == "result")
    except RunError:
        aware = False
    if aware:
        return list(VARIANTS)
    run.skipped.append({"mpi": mpi, "variant": "plain",
                        "reason": "this MPI by itself cannot send from device memory"})
    return ["dunnage"]


def _launch(
    home: Home, experiment: Experiment, mpi: str, ranks: int, variant: str, arguments: List[str]
) -> List[Record]:
    """Returns the records of a launch; with Dunnage, the results have the ways of their call.

    Raises NoDevice if there is no GPU, or RunError.
    """
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        settings = {"LD_PRELOAD": ""}
        if variant == "dunnage":
            settings = {**experiment.settings, "DUNNAGE_REPORT": str(written)}
        try:
            records = launch_program(home, experiment.program, mpi, arguments, ranks, settings=settings,
                                     limit=experiment.seconds or None)
        except RunError as error:
            said = [line for line in str(error).splitlines() if line.startswith("bench_unexpected: ")]
            if any("GPU" in line or "libcuda" in line for line in said):
                raise NoDevice(said[0]) from error
            raise
        report = json.loads(written.read_text()) if written.exists() else {"calls": {}}
    for record in records:
        if record["record"] == "result":
            record["ways"] = ways(report["calls"].get(HOOKS[record["call"]], {}))
    return records


def ways(call: Record) -> Dict[str, int]:
    """Returns how many messages of a call went which way, from its part of Dunnage's report."""
    found = {f"left to the MPI: {reason}": count for reason, count in call.get("declined", {}).items()}
    accelerated, tickets = call.get("accelerated", 0), call.get("by ticket", 0)
    if "device memory" in call:
        found.update(call["device memory"])
    else:
        found.update({"by ticket": tickets, "packed, sent by the MPI": accelerated - tickets})
    return {way: count for way, count in found.items() if count > 0}
