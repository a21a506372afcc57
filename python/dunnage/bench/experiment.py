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
    pattern: str
    modes: List[str]
    operations: List[str]
    rounds: int
    repetitions: Dict[str, int]
    max_bytes: int
    criteria: Dict[str, Dict[str, float]] = field(default_factory=dict)


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
