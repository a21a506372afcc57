"""Runs a benchmark program under every MPI. The MPIs take turns for each pattern, so that noise
hits them alike.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .experiment import Experiment
from .home import Home
from .results import Record

CANNOT = 77  # the status of a script that cannot do its work on this machine
Say = Callable[[str], None]
Take = Callable[[Record], None]


class RunError(RuntimeError):
    """A benchmark program did not finish."""


class NotHere(RunError):
    """This machine lacks something that the benchmark needs."""


class NoDevice(NotHere):
    """There is no GPU to measure on, or no program for a GPU."""


@dataclass
class Run:
    """Everything that a run of an experiment returned."""

    records: List[Tuple[str, Record]] = field(default_factory=list)
    headers: Dict[str, Record] = field(default_factory=dict)  # the header of each MPI
    skipped: List[Record] = field(default_factory=list)
    lost: List[str] = field(default_factory=list)  # what should have been measured but could not be


def run_program(home: Home, program: str, mpi: str, arguments: List[str], core: int) -> List[Record]:
    """Runs the program on one rank, pinned to a core, with the library preloaded.

    One rank needs no launcher.
    """
    preload = {"LD_PRELOAD": str(home.library)} if home.library.exists() else {}
    command = [str(home.program(mpi, program)), *arguments]
    return _records(command, preload, preexec_fn=lambda: os.sched_setaffinity(0, {core}))


def launch_program(
    home: Home, program: str, mpi: str, arguments: List[str], ranks: int, link: str = "",
    settings: Optional[Dict[str, str]] = None, launch: Sequence[str] = (), each: Take = lambda record: None,
    limit: Optional[float] = None,
) -> List[Record]:
    """Runs the program under the launcher of its MPI, which also places the ranks, and returns its
    records.

    Only the ranks have the library preloaded and the settings. With `link`, the ranks run on two
    hosts that are made of this one, connected by a network of that speed. With `launch`, these
    words of the user start the ranks, whatever launcher they name. `each` is called with every
    record as it comes. After `limit` seconds the launch is ended.
    """
    launcher = home.launcher(mpi)
    if launcher is None and not launch:
        raise RunError(f"no launcher for {mpi}: put mpirun.{mpi} on PATH")
    words = [str(home.program(mpi, program)), *arguments]
    variables = [f"{name}={value}" for name, value in {"LD_PRELOAD": str(home.library), **(settings or {})}.items()]
    if launch:
        return _records([*launch, "env", *variables, *words], {}, each, limit)
    assert launcher is not None
    if link:
        hosts = [str(home.script("two-hosts.sh")), "--rate", link, "--mpi", mpi, "--launcher", launcher]
        for name, value in (settings or {}).items():
            hosts += ["--env", f"{name}={value}"]
        return _records([*hosts, "--dunnage", str(home.path / "bin" / "dunnage"), "--", *words], {}, each, limit)
    command = [launcher, "-n", str(ranks)]
    if mpi.startswith("openmpi"):
        command.append("--oversubscribe")
        for variable in variables:
            command += ["-x", variable]
        # With Open MPI 5, one-sided calls over UCX fail, also without Dunnage.
        return _records([*command, *words], {"OMPI_MCA_osc": "^ucx"}, each, limit)
    for variable in variables:
        command += ["-genv", *variable.split("=", 1)]
    return _records([*command, *words], {}, each, limit)


def launch_environment(variables: Dict[str, str]) -> Dict[str, str]:
    """Returns the environment of a launcher: this one, and the variables. Root may launch, too."""
    environment = dict(os.environ, **variables)
    for launcher in ("OMPI", "PRTE"):  # of Open MPI 4 and of Open MPI 5
        environment[f"{launcher}_ALLOW_RUN_AS_ROOT"] = environment[f"{launcher}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return environment


def _records(
    command: List[str], variables: Dict[str, str], each: Take = lambda record: None, limit: Optional[float] = None,
    **options: Any
) -> List[Record]:
    """Runs a command and returns its records. Raises RunError if its status is neither 0 nor 1.

    Status 1 means wrong bytes, which are in the records.
    """
    records: List[Record] = []
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
        command, env=launch_environment(variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
        text=True, start_new_session=True, **options,
    ) as process:
        late = threading.Event()
        timer = threading.Timer(limit or 0, lambda: (late.set(), _end(process)))
        if limit is not None:
            timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("{"):
                    records.append(json.loads(line))
                    each(records[-1])
            process.wait()
        finally:
            timer.cancel()
            _end(process)
        errors.seek(0)
        said = errors.read()
    if process.returncode == CANNOT:
        raise NotHere(said.strip())
    # MPICH's launcher may end with status 0 when it is ended.
    if late.is_set() or process.returncode not in (0, 1) or not records:
        end = f"was ended after {limit:.0f} s" if late.is_set() else f"ended with status {process.returncode}"
        raise RunError(f"{' '.join(command)} {end}:\n{said}")
    return records


def _end(process: subprocess.Popen) -> None:
    """Ends a launcher that still runs, which ends its ranks."""
    if process.poll() is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(5)
    except (ProcessLookupError, PermissionError):
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def default_core() -> int:
    """Returns the last core that this process may use.

    The first cores serve the system's interrupts.
    """
    return max(os.sched_getaffinity(0))


def run_experiment(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs an experiment's program as often as the experiment says, with the MPIs in turn."""
    if experiment.modes:
        return _run_patterns(home, experiment, mpis, core, say)
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: there is nothing to compare plain MPI with")
    run = Run()
    for turn, mpi in turns(mpis, experiment.rounds):
        say(f"{mpi}, round {turn + 1}")
        arguments = experiment.arguments + experiment.more_arguments.get(mpi, [])
        if experiment.ranks == 1:
            records = run_program(home, experiment.program, mpi, arguments, core)
        else:
            records = launch_program(home, experiment.program, mpi, arguments, experiment.ranks, experiment.link)
        collect(run, mpi, records)
    return run


def turns(mpis: List[str], rounds: int) -> List[Tuple[int, str]]:
    """Returns (round, MPI) pairs: each MPI once in every round, and another MPI first in each
    round.
    """
    return [(turn, mpis[(turn + place) % len(mpis)]) for turn in range(rounds) for place in range(len(mpis))]


def _run_patterns(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs each chosen pattern with all MPIs before the next pattern begins."""
    run = Run()
    operation = "both" if len(experiment.operations) == 2 else experiment.operations[0]
    for mode in experiment.modes:
        for pattern in _patterns(home, experiment, mpis[0], mode, core):
            say(f"{mode} {pattern}")
            for _, mpi in turns(mpis, experiment.rounds):
                arguments = ["--pattern", f"^{pattern}$", "--mode", mode, "--operation", operation]
                arguments += ["--repetitions", str(experiment.repetitions[mode])]
                if experiment.max_bytes:
                    arguments += ["--max-bytes", str(experiment.max_bytes)]
                collect(run, mpi, run_program(home, experiment.program, mpi, arguments, core))
    return run


def _patterns(home: Home, experiment: Experiment, mpi: str, mode: str, core: int) -> List[str]:
    arguments = ["--list", "--mode", mode, "--pattern", experiment.pattern]
    records: List[Dict[str, Any]] = run_program(home, experiment.program, mpi, arguments, core)
    return [record["pattern"] for record in records if record["record"] == "pattern"]


def collect(run: Run, mpi: str, records: List[Record]) -> None:
    for record in records:
        if record["record"] == "header":
            run.headers[mpi] = record
        elif record["record"] == "result":
            run.records.append((mpi, record))
        elif record["record"] == "skipped" and record not in run.skipped:
            run.skipped.append(record)
