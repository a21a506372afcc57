"""The options of ``dunnage bench``. Imports little: the manual pages are made from this file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import List, Optional

from .units import read_size


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = argparse.ArgumentParser(prog="dunnage bench", description="Reproduces a published experiment.")
    parser.add_argument("name", nargs="?", help="the experiment, for example: pack")
    parser.add_argument("--all", action="store_true",
                        help="run every experiment, and write one page with all results: all.html. If it is "
                        "interrupted, the same command goes on")
    parser.add_argument("--force", action="store_true",
                        help="--all: measure again what an earlier run in the output folder has measured")
    parser.add_argument("--memory", default="host",
                        help="pack, halo, higrad, unexpected: where the data is, host or device (default: host)")
    parser.add_argument("--mpi", help="comma-separated MPIs (default: every MPI that the program is built for)")
    parser.add_argument("--output", type=Path, help="folder for JSON, CSV and PNG (default: results/ of the build)")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, and nothing large")
    parser.add_argument("--pattern", help="pack: only patterns or cases whose names match this regular expression")
    parser.add_argument("--mode", choices=["cold", "warm"],
                        help="pack: only large patterns (cold) or only small ones (warm)")
    parser.add_argument("--operation", choices=["pack", "unpack"], help="pack: only this operation")
    parser.add_argument("--rounds", type=int, help="number of rounds through all MPIs")
    parser.add_argument("--max-bytes", type=read_size, metavar="SIZE",
                        help="pack: skip patterns and cases with larger buffers, for example 64KiB")
    parser.add_argument("--simulated", action="store_true",
                        help="use the simulated device in place of a GPU; shows that everything works, not how fast")
    parser.add_argument("--core", type=int, help="core for one rank (default: the last)")
    return parser


def parse(arguments: Optional[List[str]] = None) -> argparse.Namespace:
    """Reads the command line. Ends the program if it cannot be meant."""
    own = parser()
    options = own.parse_args(arguments)
    if bool(options.name) == options.all:
        own.error("give the name of one experiment, or --all")
    return options
