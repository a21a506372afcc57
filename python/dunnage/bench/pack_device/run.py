"""Runs the pack benchmark on device memory. If the program dies in a case, that case is lost, and
the others go on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from typing import Dict, List, Optional, TextIO, Tuple

from ..experiment import Experiment
from ..home import Home
from ..results import Record
from ..runner import NoDevice, Run, RunError, Say, collect, turns

NOTHING = 3  # the program's status if it finds no GPU
PATIENCE = 120.0  # seconds in addition to the experiment's own limit
DEATHS = 5  # after so many deaths the program is not started again


def _start(
    home: Home, experiment: Experiment, mpi: str, core: int, arguments: List[str], errors: TextIO
) -> subprocess.Popen:
    preload = {"LD_PRELOAD": str(home.library)} if home.library.exists() else {}
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **preload)
    return subprocess.Popen(
        [str(home.program(mpi, experiment.program)), *arguments], env=environment, stdout=subprocess.PIPE,
        stderr=errors, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )


def _ended(status: int) -> str:
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def _said(errors: TextIO, experiment: Experiment) -> str:
    """Returns the last line that the program itself printed.

    Lines of an MPI about a crash are ignored.
    """
    errors.seek(0)
    own = f"{experiment.program}: "
    lines = [line[len(own) :] for line in errors.read().splitlines() if line.startswith(own)]
    return lines[-1] if lines else ""


def attempt(home: Home, experiment: Experiment, mpi: str, core: int, what: str) -> Optional[str]:
    """Lets a child process pack once on device memory.

    Returns why this cannot be measured, or None if it can. An MPI that knows nothing of GPUs
    crashes.
    """
    with tempfile.TemporaryFile("w+") as errors:
        child = _start(home, experiment, mpi, core, ["--try", what], errors)
        try:
            child.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return f"MPI_Pack on device memory did not end within {PATIENCE:g} s"
        said = _said(errors, experiment)
    if child.returncode == NOTHING:
        raise NoDevice(f"no GPU: {said}")
    # If Dunnage gives wrong bytes, the measurement finds and reports them.
    if child.returncode == 0 or (child.returncode == 1 and what == "dunnage"):
        return None
    if child.returncode == 1:
        return "MPI_Pack on device memory gives wrong bytes"
    return f"MPI_Pack on device memory {_ended(child.returncode)}" + (f": {said}" if said else "")


def require_device(home: Home, experiment: Experiment, mpis: List[str], core: int) -> None:
    """Raises NoDevice if there is no GPU."""
    attempt(home, experiment, mpis[0], core, "plain")


def run_cases(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs every case with every MPI. All series of a case run in one process."""
    run = Run()
    reasons: Dict[str, Dict[str, str]] = {}
    for mpi in mpis:
        tried = {what: attempt(home, experiment, mpi, core, what) for what in _wanted(home)}
        reasons[mpi] = {what: reason for what, reason in tried.items() if reason}
        if "dunnage" in reasons[mpi]:
            run.lost.append(f"{mpi}: {reasons[mpi]['dunnage']}")
    for turn, mpi in turns(mpis, experiment.rounds):
        flags = [f"--{what}" for what in _wanted(home) if what not in reasons[mpi]]
        cases = list(experiment.cases)
        for _ in range(DEATHS):
            def tell(line: str, mpi: str = mpi, turn: int = turn) -> None:
                say(f"{mpi}, round {turn + 1}: {line}")

            died = _run_some(home, experiment, mpi, core, cases, flags, run, tell)
            if died is None:
                break
            case, why = died
            run.lost.append(f"{mpi}: '{case}' {why}")
            cases = cases[cases.index(case) + 1 :]
            if not cases:
                break
    for mpi, header in run.headers.items():
        header["not measured"] = reasons[mpi]
    return run


def _wanted(home: Home) -> List[str]:
    return ["plain", "dunnage"] if home.library.exists() else ["plain"]


def _run_some(
    home: Home, experiment: Experiment, mpi: str, core: int, cases: List[str], flags: List[str], run: Run, say: Say
) -> Optional[Tuple[str, str]]:
    """Runs cases until they are done.

    If the program dies, returns the case in which it died, and how.
    """
    arguments = [*flags, "--seconds", str(experiment.seconds), "--allocation", str(experiment.allocation)]
    arguments += ["--plain-seconds", str(experiment.plain_seconds)]
    arguments += ["--repetitions", str(experiment.repetitions["samples"])]
    arguments += ["--warm-ups", str(experiment.repetitions["warm_ups"])]
    for option, values in (
        ("--start", experiment.starts), ("--mode", experiment.modes), ("--operation", experiment.operations),
        ("--case", cases),
    ):
        for value in values:
            arguments += [option, value]
    current: Optional[Record] = None
    with tempfile.TemporaryFile("w+") as errors:
        child = _start(home, experiment, mpi, core, arguments, errors)
        assert child.stdout is not None
        # If a call never returns, the results of the other cases must still be written.
        signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.alarm(int(experiment.seconds + PATIENCE))
        for line in child.stdout:
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            if record["record"] == "begin":
                current = record
                say(f"{record['pattern']}, start {record['start']}")
            collect(run, mpi, [record])
        status = child.wait()
        signal.alarm(0)
        said = _said(errors, experiment)
    if status in (0, 1):
        return None
    if current is None:
        raise RunError(f"{experiment.program} {_ended(status)}: {said}")
    return current["pattern"], _ended(status) + (f": {said}" if said else "")
