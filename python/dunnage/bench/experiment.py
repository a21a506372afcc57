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
    """What is run, and what the figures are held to."""

    name: str
    title: str
    program: str
    rounds: int  # times round all the MPIs
    criteria: Dict[str, Dict[str, Any]] = field(default_factory=dict)

    # What the program is given, and on how many ranks; the pack benchmark has a table of its own instead.
    ranks: int = 1
    arguments: List[str] = field(default_factory=list)
    more_arguments: Dict[str, List[str]] = field(default_factory=dict)  # with one MPI
    link: str = ""  # the speed of the network between the two hosts that they run on; empty: one host
    leave_out: List[str] = field(default_factory=list)  # MPIs, unless asked for

    # Of the pack benchmark.
    pattern: str = ".*"
    modes: List[str] = field(default_factory=list)
    operations: List[str] = field(default_factory=list)
    repetitions: Dict[str, int] = field(default_factory=dict)
    max_bytes: int = 0

    # Of the pack benchmark on device memory.
    cases: List[str] = field(default_factory=list)
    starts: List[str] = field(default_factory=list)
    allocation: int = 0
    plain_seconds: float = 2  # leave out calls of plain MPI that would take longer
    seconds: float = 0  # begin no case after that time, of each MPI and round; of messages: end a variant after it

    # Of messages on device memory: what every MPI is measured with.
    variants: List[Dict[str, Any]] = field(default_factory=list)

    # Of broadcasts: numbers of ranks with the lengths of messages for them, and what Dunnage is told.
    sweeps: Dict[str, Dict[str, List[int]]] = field(default_factory=dict)
    settings: Dict[str, str] = field(default_factory=dict)


def load(path: Path, quick: bool = False) -> Experiment:
    """Reads an experiment; `quick` takes the cheaper values of its [quick] table."""
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
        **run,
    )
