"""Runs a benchmark program under every MPI, pattern by pattern, so that noise hits them all alike."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Tuple

from .experiment import Experiment
from .home import Home
from .results import Record

Say = Callable[[str], None]


class RunError(RuntimeError):
    """A benchmark program did not finish."""


@dataclass
class Run:
    """All that a run of an experiment gave."""

    records: List[Tuple[str, Record]] = field(default_factory=list)
    headers: Dict[str, Record] = field(default_factory=dict)  # of each MPI
    skipped: List[Record] = field(default_factory=list)


def run_program(home: Home, program: str, mpi: str, arguments: List[str], core: int) -> List[Record]:
    """Runs the program on one rank, which needs no launcher, pinned to a core, with the library preloaded.

    Wrong bytes are in the records and make the program's status 1; any other status is an error.
    """
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if home.library.exists():
        environment["LD_PRELOAD"] = str(home.library)
    command = [str(home.program(mpi, program)), *arguments]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    if done.returncode not in (0, 1):
        raise RunError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def default_core() -> int:
    """The last core that we may use: the first ones serve the system's interrupts."""
    return max(os.sched_getaffinity(0))


def run_experiment(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Measures every chosen pattern with every MPI, `rounds` times in turn."""
    run = Run()
    operation = "both" if len(experiment.operations) == 2 else experiment.operations[0]
    for mode in experiment.modes:
        for pattern in _patterns(home, experiment, mpis[0], mode, core):
            say(f"{mode} {pattern}")
            for turn in range(experiment.rounds):
                for mpi in mpis[turn % len(mpis):] + mpis[: turn % len(mpis)]:
                    arguments = ["--pattern", f"^{pattern}$", "--mode", mode, "--operation", operation]
                    arguments += ["--repetitions", str(experiment.repetitions[mode])]
                    if experiment.max_bytes:
                        arguments += ["--max-bytes", str(experiment.max_bytes)]
                    _collect(run, mpi, run_program(home, experiment.program, mpi, arguments, core))
    return run


def _patterns(home: Home, experiment: Experiment, mpi: str, mode: str, core: int) -> List[str]:
    arguments = ["--list", "--mode", mode, "--pattern", experiment.pattern]
    records: List[Dict[str, Any]] = run_program(home, experiment.program, mpi, arguments, core)
    return [record["pattern"] for record in records if record["record"] == "pattern"]


def _collect(run: Run, mpi: str, records: List[Record]) -> None:
    for record in records:
        if record["record"] == "header":
            run.headers[mpi] = record
        elif record["record"] == "result":
            run.records.append((mpi, record))
        elif record["record"] == "skipped" and record not in run.skipped:
            run.skipped.append(record)
