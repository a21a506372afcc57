"""The options of ``dunnage tune``. Imports little: the manual pages are made from this file."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from pathlib import Path
from typing import List, Optional

MOST_RANKS = 64  # with which broadcasts are measured, unless more are asked for


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = argparse.ArgumentParser(
        prog="dunnage tune", description="Measures what packing and messages cost on this machine, "
        "and writes the model file by which Dunnage chooses.")
    parser.add_argument("--mpi", help="comma-separated MPIs (default: every one that Dunnage's programs are built for)")
    parser.add_argument("--output", type=Path,
                        help="the file (default: where Dunnage looks for it, as `dunnage info` says)")
    parser.add_argument("--launch", type=shlex.split, default=[], metavar="WORDS",
                        help="how to start two ranks of one MPI, for example 'mpirun -n 2 --host a,b'")
    parser.add_argument("--memory", choices=["host", "device"], default="host",
                        help="device: measure from which sizes messages between GPUs gain by each of their ways; "
                        "the rest of the file stays")
    parser.add_argument("--collective", choices=["bcast"],
                        help="bcast: measure what broadcasts cost within a host or between two; "
                        "the rest of the file stays")
    parser.add_argument("--ranks", type=int,
                        help="the most ranks to measure broadcasts with (default: one less than there are cores, at "
                        f"most {MOST_RANKS})")
    parser.add_argument("--seconds", type=float, default=100,
                        help="about how long it may take at most (default: 100); ignored for device memory")
    return parser


def _unwritable(path: Path) -> str:
    """Returns why a file cannot be written there, or nothing. The user should not learn it after
    the measurement.
    """
    if path.is_dir():
        return "is a folder; name a file"
    if path.exists():
        return "" if os.access(path, os.W_OK) else "cannot be written"
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        return f"{folder} is no folder"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"nothing can be made in {folder}"


def parse(arguments: Optional[List[str]] = None) -> argparse.Namespace:
    """Reads the command line. Ends the program if it cannot be meant."""
    own = parser()
    options = own.parse_args(arguments)
    if not 0 < options.seconds < math.inf:  # nor a number, perhaps
        own.error(f"--seconds {options.seconds:g}: must be a number greater than 0")
    if options.output and (why := _unwritable(options.output)):
        own.error(f"--output {options.output}: {why}")
    if options.launch and (not options.mpi or "," in options.mpi):
        own.error("--launch starts ranks of one MPI: name it with --mpi")
    if options.collective and options.memory == "device":
        own.error("--collective measures broadcasts of host memory only")
    if options.ranks is not None and (not options.collective or options.launch or options.ranks < 2):
        own.error("--ranks needs --collective, must be 2 or more, and cannot be given with --launch")
    return options
