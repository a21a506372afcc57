"""What was measured: one result per MPI, pattern and operation, and how rounds merge into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Tuple

from .statistics import summarize

Record = Dict[str, Any]
COPIES = ("copy", "streaming copy")


@dataclass
class Result:
    """The measured series of one operation on one pattern with one MPI. Times are seconds."""

    mpi: str
    pattern: str
    kind: str
    mode: str
    operation: str
    payload: int
    traffic: int
    series: Dict[str, Dict[str, Any]]

    def time(self, series: str) -> float:
        """Median time of a series."""
        return float(self.series[series]["median"])

    def has(self, series: str) -> bool:
        """Whether the series was measured: `dunnage` only is where the library was loaded."""
        return series in self.series

    @property
    def limit(self) -> float:
        """The least time in which the bytes that must cross memory can, at the speed of the better copy."""
        return min(self.time(copy) for copy in COPIES)

    def ratio(self, faster: str, slower: str = "plain") -> float:
        """How many times faster one series is than another."""
        return self.time(slower) / self.time(faster)

    def share_of_limit(self, series: str) -> float:
        """1 for a series that takes no longer than the limit."""
        return self.limit / self.time(series)

    @property
    def key(self) -> Tuple[str, str, str]:
        """What is compared across MPIs."""
        return (self.mode, self.operation, self.pattern)


def merge(records: Iterable[Tuple[str, Record]]) -> List[Result]:
    """Joins the (MPI, record) pairs of all rounds. A series is right only if it was right in every round."""
    merged: Dict[Tuple[str, ...], Result] = {}
    for mpi, record in records:
        key = (mpi, record["mode"], record["operation"], record["pattern"])
        if key not in merged:
            fields = ("pattern", "kind", "mode", "operation", "payload", "traffic")
            merged[key] = Result(mpi=mpi, series={}, **{name: record[name] for name in fields})
        for name, measured in record["series"].items():
            series = merged[key].series.setdefault(name, {"samples": []})
            series["samples"] += measured["samples"]
            if "verified" in measured:
                series["verified"] = series.get("verified", True) and measured["verified"]
    for result in merged.values():
        for series in result.series.values():
            series.update(summarize(series["samples"]))
    return list(merged.values())
