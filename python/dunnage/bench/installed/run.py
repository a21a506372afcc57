"""Launches benchmarks of others, plain and with Dunnage in turn."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, List, Optional

from ..experiment import Experiment
from ..home import Home
from ..runner import Run, RunError, Say, launch_environment, turns
from . import tables

READERS = {"imb": tables.imb, "osu": tables.osu}
LIMIT = 600  # seconds; a launch is ended then


def run_installed(home: Home, experiment: Experiment, programs: Dict[str, List[Path]], say: Say) -> Run:
    """Runs every program once plain and once with Dunnage in each round, and another one first in
    each round.

    The first round is not counted. With Dunnage it asks for a report, which tells whether the
    library was loaded.
    """
    read = READERS[experiment.name]
    run = Run()
    for mpi, there in programs.items():
        version = _text([str(home.launcher(mpi)), "--version"], {}).strip() or mpi
        run.headers[mpi] = {"library_version": version, "dunnage": _is_loaded(home, experiment, mpi, there)}
    for turn, mpi in turns(list(programs), experiment.rounds):
        for program in programs[mpi]:
            say(f"{mpi}, {program.name}, round {turn + 1}")
            seconds: Dict[str, Dict[str, tables.Row]] = {}
            for series in ("plain", "dunnage") if turn % 2 else ("dunnage", "plain"):
                preload = {"LD_PRELOAD": str(home.library)} if series == "dunnage" else {}
                text = _launch(home, experiment, mpi, program, preload)
                seconds[series] = {f"{row.benchmark} {row.bytes}": row for row in read(text)}
            for key, plain in seconds["plain"].items():
                ours = seconds["dunnage"].get(key)
                if ours is None:
                    continue  # IMB leaves out what takes too long on a busy machine
                run.records.append((mpi, {
                    "record": "result", "pattern": plain.benchmark, "bytes": plain.bytes,
                    "series": {"plain": {"samples": [1e-6 * plain.microseconds]},
                               "dunnage": {"samples": [1e-6 * ours.microseconds]}}}))
    if not run.records:
        raise RunError(f"{', '.join(experiment.installed)}: no table was found in what the programs printed")
    return run


def _is_loaded(home: Home, experiment: Experiment, mpi: str, programs: List[Path]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        _launch(home, experiment, mpi, programs[0], {"LD_PRELOAD": str(home.library), "DUNNAGE_REPORT": str(report)})
        return report.exists()


def _launch(home: Home, experiment: Experiment, mpi: str, program: Path, variables: Dict[str, str]) -> str:
    """Returns what a launch printed. Only the ranks get the variables."""
    launcher = home.launcher(mpi)
    if launcher is None:
        raise RunError(f"no launcher for {mpi}: put mpirun.{mpi} on PATH")
    command = [launcher, "-n", str(experiment.ranks)]
    if mpi.startswith("openmpi"):
        command.append("--oversubscribe")
    # A library in the folder beside the launcher's is the one that the program was built with.
    libraries = [str(Path(launcher).resolve().parent.parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    words = [f"{name}={value}" for name, value in variables.items()]
    own = {} if libraries[0] in ("/usr/lib", "/lib") else {"LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
    return _text([*command, "env", *words, str(program), *experiment.arguments], own, LIMIT)


def _text(command: List[str], variables: Dict[str, str], limit: Optional[float] = None) -> str:
    with subprocess.Popen(command, env=launch_environment(variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            said, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise RunError(f"{' '.join(command)} was ended after {limit:.0f} s") from None
    if process.returncode != 0:
        raise RunError(f"{' '.join(command)} ended with status {process.returncode}:\n{errors or said}")
    return said
