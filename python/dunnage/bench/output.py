"""What the reports of all experiments write and say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

from .experiment import Experiment
from .figure import Figure
from .results import Measured, Record, wrong


def write_json(
    experiment: Experiment, head: Record, figures: List[Figure], output: Path, parts: Dict[str, Any]
) -> Path:
    """Writes the results file of any experiment. Returns its path without the suffix."""
    output.mkdir(parents=True, exist_ok=True)
    document = {"experiment": experiment.name, **head, "summary": [figure.to_json() for figure in figures], **parts}
    stem = output / experiment.name
    stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    return stem


def say_right(results: List[Measured]) -> bool:
    """Prints the results in which Dunnage gave wrong bytes. Returns whether there are none."""
    broken = wrong(results, "dunnage")
    for result in broken:
        print(f"DUNNAGE GIVES WRONG BYTES: {getattr(result, 'operation', '')} '{result.pattern}' with {result.mpi}")
    return not broken
