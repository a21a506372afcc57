"""The results of a measurement, one for each MPI, pattern and operation, and how rounds are joined
into them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Sequence, Tuple

from .statistics import summarize

Record = Dict[str, Any]


@dataclass
class Measured:
    """Several series that were measured in turn, with one MPI. Times are in seconds."""

    mpi: str
    pattern: str
    series: Dict[str, Dict[str, Any]]

    def time(self, series: str) -> float:
        """Returns the median time of a series."""
        return float(self.series[series]["median"])

    def has(self, series: str) -> bool:
        """Returns whether the series was measured.

        `dunnage` was measured only if the library was loaded.
        """
        return series in self.series

    def ratio(self, faster: str, slower: str = "plain") -> float:
        """Returns how many times faster one series is than another."""
        return self.time(slower) / self.time(faster)

    @property
    def added(self) -> float:
        """Returns what Dunnage adds to the time of plain MPI."""
        return self.time("dunnage") - self.time("plain")


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


def wrong(results: Sequence[Measured], series: str) -> List[Measured]:
    """Returns the results in which a series gave wrong bytes."""
    return [result for result in results if not result.series.get(series, {}).get("verified", True)]
