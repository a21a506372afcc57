"""The description of an experiment, read from its TOML file."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass
class Experiment:
    """What is run, and the thresholds of its figures."""

    name: str
    title: str
    program: str
    rounds: int  # number of rounds through all MPIs
    criteria: Dict[str, Dict[str, Any]] = field(default_factory=dict)

    # The program's arguments and number of ranks. The pack benchmark has a table of its own
    # instead.
    ranks: int = 1
    arguments: List[str] = field(default_factory=list)
    more_arguments: Dict[str, List[str]] = field(default_factory=dict)  # arguments for one MPI only
    # The speed of the network between the two hosts that the ranks run on; empty: one host.
    link: str = ""
    # MPIs that are left out unless they are asked for.
    leave_out: List[str] = field(default_factory=list)

    # Programs of others, which are run if they are installed.
    installed: List[str] = field(default_factory=list)

    # For the pack benchmark.
    pattern: str = ".*"
    modes: List[str] = field(default_factory=list)
    operations: List[str] = field(default_factory=list)
    repetitions: Dict[str, int] = field(default_factory=dict)
    max_bytes: int = 0

    # For the pack benchmark on device memory.
    cases: List[str] = field(default_factory=list)
    starts: List[str] = field(default_factory=list)
    allocation: int = 0
    plain_seconds: float = 2  # calls of plain MPI that would take longer are left out
    # No case begins after this time of each MPI and round; for messages: a variant is ended after
    # it.
    seconds: float = 0

    # For messages in device memory: the variants that every MPI is measured with.
    variants: List[Dict[str, Any]] = field(default_factory=list)

    # For broadcasts: numbers of ranks with their lengths of messages, and Dunnage's settings.
    sweeps: Dict[str, Dict[str, List[int]]] = field(default_factory=dict)
    settings: Dict[str, str] = field(default_factory=dict)

    left_out: str = ""  # why --all does not run it
    about: float = 60  # seconds that each MPI takes on two cores, to tell the time that is left


def load(path: Path, quick: bool = False) -> Experiment:
    """Reads an experiment.

    If `quick` is true, the values of its [quick] table replace the others.
    """
    with path.open("rb") as file:
        document: Dict[str, Any] = tomllib.load(file)
    run = dict(document["run"])
    if quick:
        run.update(document.get("quick", {}))
    return Experiment(
        name=path.stem,
        title=document["title"],
        program=document["program"],
        criteria=document.get("criteria", {}),
        about=document.get("about", {}).get("quick" if quick else "full", 60),
        **run,
    )
