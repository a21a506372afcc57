"""What became of one experiment. A file beside its results keeps it, so that a run can go on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

DONE, WRONG, CANNOT, FAILED = "done", "finds fault", "cannot run here", "failed"
NOT_RUN, LEFT_OUT = "not run yet", "left out"


@dataclass
class Outcome:
    """One experiment: how it ended, what it printed, and with what it was run."""

    name: str
    title: str
    state: str
    seconds: float = 0
    reason: str = ""  # why it could not run, or failed
    printed: str = ""
    date: str = ""
    # What must be alike for the results to stand beside those of the other experiments: the options
    # and the commit.
    conditions: Dict[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Returns whether there is nothing left to measure."""
        return self.state in (DONE, WRONG)


def path(folder: Path, name: str) -> Path:
    """Returns the file that keeps the outcome of an experiment."""
    return folder / "outcomes" / f"{name}.json"


def save(folder: Path, outcome: Outcome) -> None:
    """Writes the outcome. If the program is interrupted here, the old file stays."""
    file = path(folder, outcome.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(asdict(outcome), indent=1) + "\n")
    new.replace(file)


def load(folder: Path, name: str) -> Optional[Outcome]:
    """Returns the outcome of an earlier run, or None if there is none that can be read."""
    try:
        return Outcome(**json.loads(path(folder, name).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def results(folder: Path, name: str) -> Dict[str, Any]:
    """Returns the results file of an experiment, or {} if there is none."""
    try:
        found: Dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
        return found
    except (OSError, ValueError):
        return {}


def figures(folder: Path, name: str) -> List[Dict[str, Any]]:
    """Returns the figures of an experiment's summary, each as Figure.to_json makes it."""
    return list(results(folder, name).get("summary", []))
