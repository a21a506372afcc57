"""What was measured: one result per MPI, pattern and operation, and how rounds merge into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from .statistics import summarize

Record = Dict[str, Any]
COPIES = ("copy", "streaming copy")


@dataclass
class Measured:
    """Some series that were measured in turn, with one MPI. Times are seconds."""

    mpi: str
    pattern: str
    series: Dict[str, Dict[str, Any]]

    def time(self, series: str) -> float:
        """Median time of a series."""
        return float(self.series[series]["median"])

    def has(self, series: str) -> bool:
        """Whether the series was measured: `dunnage` only is where the library was loaded."""
        return series in self.series

    def ratio(self, faster: str, slower: str = "plain") -> float:
        """How many times faster one series is than another."""
        return self.time(slower) / self.time(faster)

    @property
    def added(self) -> float:
        """What Dunnage adds to the time of plain MPI."""
        return self.time("dunnage") - self.time("plain")


@dataclass
class Result(Measured):
    """One operation of the pack benchmark on one pattern."""

    kind: str
    mode: str
    operation: str
    payload: int
    traffic: int

    @property
    def limit(self) -> float:
        """The least time in which the bytes that must cross memory can, at the speed of the better copy."""
        return min(self.time(copy) for copy in COPIES)

    def share_of_limit(self, series: str) -> float:
        """1 for a series that takes no longer than the limit."""
        return self.limit / self.time(series)

    @property
    def key(self) -> Tuple[str, str, str]:
        """What is compared across MPIs."""
        return (self.mode, self.operation, self.pattern)


def join(records: Iterable[Tuple[str, Record]], key: Sequence[str], fields: Sequence[str] = ()) -> List[Record]:
    """Joins the (MPI, record) pairs of all rounds that agree in the fields of `key`.

    A series is right only if it was right in every round.
    """
    joined: Dict[Tuple[Any, ...], Record] = {}
    for mpi, record in records:
        names = (*key, *fields)
        one = joined.setdefault(
            (mpi, *(record[name] for name in key)),
            {"mpi": mpi, **{name: record[name] for name in names}, "series": {}},
        )
        for name, measured in record["series"].items():
            series = one["series"].setdefault(name, {"samples": []})
            series["samples"] += measured["samples"]
            if "verified" in measured:
                series["verified"] = series.get("verified", True) and measured["verified"]
    for one in joined.values():
        for series in one["series"].values():
            series.update(summarize(series["samples"]))
    return list(joined.values())


def merge(records: Iterable[Tuple[str, Record]]) -> List[Result]:
    """The results of the pack benchmark."""
    found = join(records, ("mode", "operation", "pattern"), ("kind", "payload", "traffic"))
    return [Result(**one) for one in found]
