"""A figure of a summary, and whether it is what was asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional

from tabulate import tabulate

Criteria = Dict[str, Dict[str, float]]


@dataclass
class Figure:
    """One figure, its threshold if the experiment has one, and where it comes from."""

    mpi: str
    name: str
    value: float
    threshold: Optional[float] = None
    pattern: Optional[str] = None  # that the value belongs to
    at_most: bool = False  # the threshold is an upper one
    mode: str = ""
    operation: str = ""

    @property
    def met(self) -> Optional[bool]:
        """Whether the threshold is kept; None where there is none."""
        if self.threshold is None:
            return None
        return self.value <= self.threshold if self.at_most else self.value >= self.threshold

    def to_json(self) -> Dict[str, Any]:
        """For the results file."""
        return {**asdict(self), "met": self.met}


def figure_table(figures: List[Figure]) -> str:
    """Columns that say nothing are left out."""
    rows = [
        {
            "mode": figure.mode,
            "operation": figure.operation,
            "MPI": figure.mpi,
            "figure": figure.name,
            "value": f"{figure.value:.4g}",
            "asked": "" if figure.threshold is None else f"{'<=' if figure.at_most else '>='} {figure.threshold:g}",
            "met": {None: "", True: "yes", False: "NO"}[figure.met],
            "pattern": figure.pattern or "",
        }
        for figure in figures
    ]
    used = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    return tabulate([{name: row[name] for name in used} for row in rows], headers="keys", disable_numparse=True)
