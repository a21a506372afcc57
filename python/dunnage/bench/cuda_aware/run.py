"""Runs the benchmark of messages in device memory.

Every MPI is run with every variant and kind of memory, each in processes of its own.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any, Dict, List

from ..experiment import Experiment
from ..home import Home
from ..results import Record
from ..runner import NoDevice, Run, RunError, Say, launch_program, turns

REFERENCES = "references"  # the copy engine and NCCL, which belong to no MPI


def _nccl() -> List[str]:
    """Returns the option for the library of NCCL's Python package, if that is installed.

    Otherwise the program looks for NCCL as for any library.
    """
    try:
        package = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        package = None
    for folder in (package.submodule_search_locations or []) if package else []:
        library = Path(folder) / "lib" / "libnccl.so.2"
        if library.exists():
            return ["--nccl", str(library)]
    return []


def run_variants(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs the references once, and then the variants of each MPI.

    If a launch dies or does not end, its results are lost, and the other launches go on.
    """
    del core  # the program itself binds its ranks to cores
    run = Run()
    references = {"name": REFERENCES, "preload": False, "memory": [REFERENCES]}
    for turn, mpi in turns(mpis, experiment.rounds):
        first = [references] if mpi == mpis[0] and turn == 0 else []
        for variant in first + experiment.variants:
            say(f"{mpi}, {variant['name']}, round {turn + 1}")
            # Each kind of memory has a launch of its own. What a library learns from messages in
            # one kind must not change the times of another kind.
            for memory in variant["memory"]:
                _run_variant(home, experiment, mpi, {**variant, "memory": memory}, run)
    return run


def _run_variant(home: Home, experiment: Experiment, mpi: str, variant: Dict[str, Any], run: Run) -> None:
    if variant.get("preload", True) and not home.library.exists():
        run.skipped.append({"mpi": mpi, "variant": variant["name"], "reason": f"{home.library} is missing"})
        return

    def take(record: Record) -> None:
        record.update(mpi=mpi, variant=variant["name"])
        if record["record"] == "header":
            header = run.headers.setdefault(mpi, record)
            header["dunnage"] = header["dunnage"] or record["dunnage"]
        elif record["record"] == "result":
            run.records.append((mpi, record))
        elif record["record"] == "skipped":
            run.skipped.append(record)

    settings = dict(variant.get("environment", {}))
    if not variant.get("preload", True):
        settings["LD_PRELOAD"] = ""
    more = experiment.more_arguments.get(mpi, [])
    arguments = [*experiment.arguments, *more, "--memory", variant["memory"], *_nccl()]
    try:
        launch_program(home, experiment.program, mpi, arguments, experiment.ranks, settings=settings, each=take,
                       limit=experiment.seconds or None)
    except RunError as error:
        if "bench_cuda_aware: no GPU: " in str(error):
            reason = str(error).split("bench_cuda_aware: ", 1)[1].splitlines()[0]
            raise NoDevice(reason) from error
        run.lost.append(f"{mpi}, {variant['name']}, {variant['memory']}: {_shortly(str(error), experiment.program)}")


def _shortly(error: str, program: str) -> str:
    """Returns how a launch ended, and what the program said about it.

    If the program said nothing, returns the first line that its MPI said.
    """
    head, *lines = error.splitlines()
    ended = re.search(r"(ended with status|was ended after|no launcher).*?:?$", head)
    said = [line for line in lines if line.startswith(f"{program}: ")]
    said += [line for line in lines if re.search(r"error|signal|abort", line, re.I)]
    return " ".join([ended.group(0) if ended else head, *said[:1]])[:400]
