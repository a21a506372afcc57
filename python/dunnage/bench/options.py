"""The options of ``dunnage bench``. Imports little: the manual pages are made from this file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from .units import read_size

ANY: Tuple[str, ...] = ()
# The options: their names, the experiments that have them, and what argparse is told.
OPTIONS: Tuple[Tuple[str, Tuple[str, ...], Dict[str, Any]], ...] = (
    ("--memory", ("pack", "halo", "higrad", "unexpected"),
     {"default": "host", "choices": ["host", "device"], "help": "where the data is (default: host)"}),
    ("--mpi", ANY, {"help": "comma-separated MPIs (default: every MPI that the program is built for)"}),
    ("--output", ANY, {"type": Path, "help": "folder for JSON, CSV and PNG (default: results/ of the build)"}),
    ("--quick", ANY, {"action": "store_true", "help": "fewer repetitions, and nothing large"}),
    ("--pattern", ("pack",), {"help": "only patterns or cases whose names match this regular expression"}),
    ("--mode", ("pack",), {"choices": ["cold", "warm"], "help": "only large patterns (cold) or small ones (warm)"}),
    ("--operation", ("pack",), {"choices": ["pack", "unpack"], "help": "only this operation"}),
    ("--rounds", ANY, {"type": int, "help": "number of rounds through all MPIs"}),
    ("--max-bytes", ("pack",), {"type": read_size, "metavar": "SIZE",
                                "help": "skip patterns and cases with larger buffers, for example 64KiB"}),
    ("--simulated", ("pack", "halo", "higrad", "triggered", "unexpected", "cuda-aware"),
     {"action": "store_true",
      "help": "use the simulated device in place of a GPU; shows that everything works, not how fast"}),
    ("--programs", ("imb", "osu"), {"type": Path, "metavar": "FOLDER",
                                    "help": "folder with the benchmark's programs; --mpi names their MPI then"}),
    ("--core", ANY, {"type": int, "help": "core for one rank (default: the last)"}),
)


def parser(**more: Any) -> argparse.ArgumentParser:
    """Returns all options of the command. `more` goes to argparse."""
    made = argparse.ArgumentParser(
        prog="dunnage bench", description="Reproduces a published experiment.",
        epilog="Each experiment has its own help, for example: dunnage bench pack --help", **more)
    made.add_argument("name", nargs="?", help="the experiment, for example: pack")
    made.add_argument("--all", action="store_true",
                      help="run every experiment, and write one page with all results: all.html. If it is "
                      "interrupted, the same command goes on")
    made.add_argument("--force", action="store_true",
                      help="--all: measure again what an earlier run in the output folder has measured")
    for name, experiments, about in OPTIONS:
        whose = f"{', '.join(experiments)}: " if experiments else ""
        made.add_argument(name, **{**about, "help": whose + about["help"]})
    return made


def parser_of(experiment: str, description: str = "") -> argparse.ArgumentParser:
    """Returns the options of one experiment."""
    made = argparse.ArgumentParser(prog=f"dunnage bench {experiment}", description=description)
    for name, experiments, about in OPTIONS:
        if not experiments or experiment in experiments:
            made.add_argument(name, **about)
    made.set_defaults(name=experiment, all=False, force=False)
    return made


def parse(arguments: Optional[List[str]] = None, title: Callable[[str], str] = str) -> argparse.Namespace:
    """Reads the command line. Ends the program if it cannot be meant.

    `title` returns what an experiment's help says of it.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    found, unknown = parser(add_help=False).parse_known_args(words)
    if not found.name or found.all:
        own = parser()
        options = own.parse_args(words)
        if bool(options.name) == options.all:
            own.error("give the name of one experiment, or --all")
        return options
    words.remove(found.name)
    own = parser_of(found.name, title(found.name))
    options, unknown = own.parse_known_args(words)
    for name, experiments, _ in OPTIONS:
        if any(word.partition("=")[0] == name for word in unknown):
            own.error(f"{name} is an option of these experiments only: {', '.join(experiments)}")
    if unknown:
        own.error(f"unrecognized arguments: {' '.join(unknown)}")
    return argparse.Namespace(**{**vars(found), **vars(options)})
