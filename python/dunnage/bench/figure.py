"""A figure of a summary, and whether it meets its threshold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional

from tabulate import tabulate

Criteria = Dict[str, Dict[str, float]]


@dataclass
class Figure:
    """One figure, its threshold if the experiment has one, and where the figure comes from."""

    mpi: str
    name: str
    value: float
    threshold: Optional[float] = None
    pattern: Optional[str] = None  # the pattern that has this value
    at_most: bool = False  # whether the threshold is an upper bound
    mode: str = ""
    operation: str = ""

    @property
    def met(self) -> Optional[bool]:
        """Returns whether the threshold is met, or None if there is none."""
        if self.threshold is None:
            return None
        return self.value <= self.threshold if self.at_most else self.value >= self.threshold

    def to_json(self) -> Dict[str, Any]:
        """Returns the figure for the results file."""
        return {**asdict(self), "met": self.met}


def figure_table(figures: List[Figure]) -> str:
    """Returns the table of figures. Empty columns are left out."""
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


def verdicts(figures: List[Figure]) -> str:
    """Returns a line for each threshold."""
    lines = []
    for one in figures:
        if one.met is not None:
            bound = f"{'at most' if one.at_most else 'at least'} {one.threshold:g}"
            where = ", ".join(part for part in (one.mpi, one.operation, one.mode) if part)
            lines.append(f"{'met   ' if one.met else 'MISSED'} {one.name}: {one.value:.4g}, asked {bound} ({where})")
    return "\n".join(lines)
