"""Tables for the terminal and for CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Dict, List

from tabulate import tabulate

from ..figure import Figure, figure_table
from .results import Result
from .summary import Slower, subject


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.4g}"


def _bytes_right(result: Result) -> str:
    wrong = [name for name, series in result.series.items() if not series.get("verified", True)]
    return "yes" if not wrong else "NO: " + ", ".join(wrong)


def _row(result: Result) -> Dict[str, Any]:
    tested = "dunnage" if result.has("dunnage") else "hand"
    return {
        "pattern": result.pattern,
        "MPI": result.mpi,
        "payload": result.payload,
        "traffic": result.traffic,
        "plain us": _microseconds(result.time("plain")),
        "Dunnage us": _microseconds(result.time("dunnage")) if result.has("dunnage") else "-",
        "hand us": _microseconds(result.time("hand")),
        "past caches us": _microseconds(result.time("past caches")) if result.has("past caches") else "-",
        "memcpy us": _microseconds(result.time("memcpy")),
        "limit us": _microseconds(result.limit),
        f"plain/{tested}": f"{result.ratio(tested):.2f}",
        "of limit": f"{100 * result.share_of_limit(tested):.0f} %",
        "right": _bytes_right(result),
    }


def results_table(results: List[Result]) -> str:
    """Returns one table for each mode and operation."""
    groups: Dict[str, List[Dict[str, Any]]] = {}
    for result in results:
        groups.setdefault(f"{result.operation}, {result.mode}", []).append(_row(result))
    return "\n\n".join(f"{title}\n{tabulate(rows, headers='keys')}" for title, rows in groups.items())


def summary_table(figures: List[Figure], results: List[Result], left_out: List[str]) -> str:
    """Returns the figures with their thresholds, and the cold patterns that are too small to count.
    """
    tested = "Dunnage" if subject(results) == "dunnage" else "hand-written loops (Dunnage was not loaded)"
    text = f"Ratios: time of plain MPI over {tested}\n{figure_table(figures)}"
    return text + (f"\nToo small to be counted: {', '.join(left_out)}" if left_out else "")


def slower_table(slower: List[Slower]) -> str:
    """Returns the patterns that are slower, or a line that says there are none."""
    if not slower:
        return "No pattern is slower than plain MPI."
    rows = [
        {
            "pattern": one.result.pattern,
            "mode": one.result.mode,
            "operation": one.result.operation,
            "MPI": one.result.mpi,
            "ratio": f"{one.ratio:.3f}",
            "note": "within noise" if one.within_noise else "",
        }
        for one in slower
    ]
    return "Slower than plain MPI\n" + tabulate(rows, headers="keys", disable_numparse=True)


def write_csv(path: Path, results: List[Result]) -> None:
    """Writes one line for each series. Times are in seconds."""
    statistics = ("median", "trimean", "p10", "p90", "verified")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        fields = ("mpi", "pattern", "kind", "mode", "operation", "payload", "traffic", "limit")
        writer.writerow([*fields, "series", *statistics])
        for result in results:
            for name, series in result.series.items():
                values = [series.get(statistic, "") for statistic in statistics]
                writer.writerow([*(getattr(result, field) for field in fields), name, *values])
