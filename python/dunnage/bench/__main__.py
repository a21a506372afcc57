"""The command line of ``dunnage bench``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import List, Optional

from .packages import require

require("bench")  # before the modules that need them

from ..terminal import colour_output
from . import commit, machine, message
from .bcast import report as bcast
from .bcast.run import run_broadcasts
from .cuda_aware import report as cuda_aware
from .cuda_aware.run import run_variants
from .experiment import Experiment, load
from .halo import report as halo
from .halo.run import run_halos
from .higrad import report as higrad
from .higrad.run import run_higrad
from .home import Home, experiment_files, find_home
from .installed import report as installed
from .installed.find import find_programs
from .installed.run import run_installed
from .noncontiguous_send import report as noncontiguous_send
from .options import parse
from .pack import report as pack
from .pack_device import report as pack_device
from .pack_device.run import require_device, run_cases
from .regressions import report as report_regressions, run_regressions
from .runner import NoDevice, NotHere, Run, RunError, default_core, run_experiment
from .suite.run import run_all
from .triggered import report as report_triggered, run_triggered
from .unexpected import report as unexpected
from .unexpected.run import run_lates

REPORTS = {
    "bench_bcast": bcast.report,
    "bench_pack": pack.report,
    "bench_pack_device": pack_device.report,
    "bench_cuda_aware": cuda_aware.report,
    "bench_halo": halo.report,
    "bench_message": message.report,
    "bench_commit": commit.report,
    "bench_noncontiguous_send": noncontiguous_send.report,
    "bench_regressions": report_regressions,
    "bench_triggered": report_triggered,
    "bench_unexpected": unexpected.report,
    "IMB-MPI1": installed.report,
    "osu_latency": installed.report,
    "higrad_mpi_module": higrad.report,
}
RUNNERS = {
    "bench_halo": run_halos,
    "bench_regressions": run_regressions,
    "bench_triggered": run_triggered,
    "bench_unexpected": run_lates,
    "higrad_mpi_module": run_higrad,
}
OPTIONAL = ("higrad_mpi_module",)  # programs that need a Fortran compiler


def adjust(experiment: Experiment, options: argparse.Namespace) -> None:
    """Replaces values of the published experiment by those of the command line."""
    experiment.rounds = options.rounds or experiment.rounds
    if not experiment.modes or not experiment.repetitions:
        return
    experiment.pattern = options.pattern or experiment.pattern
    experiment.modes = [options.mode] if options.mode else experiment.modes
    experiment.operations = [options.operation] if options.operation else experiment.operations
    experiment.max_bytes = experiment.max_bytes if options.max_bytes is None else options.max_bytes
    experiment.allocation = min(experiment.allocation, options.max_bytes or experiment.allocation)
    experiment.cases = [case for case in experiment.cases if re.search(experiment.pattern, case)]


def simulate(home: Home) -> None:
    """Makes the programs find the simulated device in place of CUDA's driver."""
    folders = [str(home.simulator), os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))


def run_one(home: Home, path: Path, options: argparse.Namespace) -> bool:
    """Runs one experiment and reports it. Returns whether Dunnage's bytes were right."""
    experiment = load(path, options.quick)
    on_device = bool(experiment.cases)
    adjust(experiment, options)
    if experiment.installed:
        return _run_installed(home, experiment, options)
    built = home.mpis(experiment.program)
    mpis = options.mpi.split(",") if options.mpi else [mpi for mpi in built if mpi not in experiment.leave_out]
    missing = [mpi for mpi in mpis if mpi not in built]
    if missing or not mpis:
        lacking = NotHere if experiment.program in OPTIONAL and not built else RunError
        raise (NoDevice if on_device or experiment.variants else lacking)(
            f"{experiment.program} is not built for {', '.join(missing) or 'any MPI'} in {home.path}"
            f" (built: {', '.join(built) or 'none'}); build it with make, or set DUNNAGE_HOME"
        )
    core = default_core() if options.core is None else options.core
    if on_device:
        require_device(home, experiment, mpis, core)
    print(experiment.title)
    if not home.library.exists() and experiment.modes:
        others = "everything but Dunnage" if on_device else "plain MPI only, against hand-written loops"
        print(f"{home.library} is missing: measuring {others}")
    runner = RUNNERS.get(experiment.program, run_experiment)
    if runner is run_experiment:
        if on_device:
            runner = run_cases
        elif experiment.variants:
            runner = run_variants
        elif experiment.sweeps:
            runner = run_broadcasts
    run = runner(home, experiment, mpis, core, _say)
    return _report(home, experiment, run, core, options)


def _say(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _run_installed(home: Home, experiment: Experiment, options: argparse.Namespace) -> bool:
    """Runs a benchmark of others, if it is installed."""
    programs = find_programs(home, experiment.installed, options.programs, options.mpi)
    if not programs:
        raise NotHere(f"{experiment.installed[0]} was not found beside any MPI's launcher; "
                      "give its folder by --programs, and its MPI by --mpi")
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: there is nothing to compare plain MPI with")
    print(experiment.title)
    return _report(home, experiment, run_installed(home, experiment, programs, _say), 0, options)


def _report(home: Home, experiment: Experiment, run: Run, core: int, options: argparse.Namespace) -> bool:
    for mpi, header in run.headers.items():
        version = " ".join(header["library_version"].splitlines()[0].split())
        print(f"{mpi}: {version}, Dunnage {'loaded' if header['dunnage'] else 'not loaded'}")
    head = {**machine.describe(), "core": core if experiment.ranks == 1 else None, "mpis": run.headers}
    return REPORTS[experiment.program](experiment, run, head, options.output or home.path / "results")


def _asked_for(stem: str) -> str:
    """Returns the words of a command line that ask for the experiment of a file."""
    for name in ("pack", "halo", "higrad", "unexpected"):
        stem = stem.replace(f"{name}_", f"{name} --memory ")
    return stem.replace("_", "-")


def _files_of(home: Home, name: str, *memory: str) -> List[Path]:
    """Returns the files of an experiment, in host or device memory."""
    stem = name.replace("-", "_")
    return [path for path in experiment_files(home) if path.stem in (stem, *(f"{stem}_{one}" for one in memory))]


def _title(home: Home, name: str) -> str:
    """Returns the titles of an experiment."""
    return ". ".join(load(path, False).title for path in _files_of(home, name, "host", "device")) + "."


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command.

    Returns 0 if it is done, 1 if Dunnage gave wrong bytes or a regression was found, and 2 if it
    could not run. With --all, see run_all.
    """
    home = find_home()
    options = parse(arguments, lambda name: _title(home, name))
    if options.simulated:
        simulate(home)
    files = experiment_files(home) if options.all else _files_of(home, options.name, options.memory)
    if not files:
        known = ", ".join(_asked_for(path.stem) for path in experiment_files(home))
        asked = f"{options.name} --memory {options.memory}"
        print(f"dunnage bench: no experiment '{asked}'; there are: {known}", file=sys.stderr)
        return 2
    if options.all:
        return run_all(home, files, options, run_one)
    try:
        return 0 if all([run_one(home, path, options) for path in files]) else 1
    except RunError as error:
        print(f"dunnage bench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    colour_output()
    sys.exit(main())
