"""The results of the pack benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, List, Tuple

from ..results import Measured, Record, join

COPIES = ("copy", "streaming copy")


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
        """Returns the least time in which the bytes can cross memory, at the speed of the better
        copy.
        """
        return min(self.time(copy) for copy in COPIES)

    def share_of_limit(self, series: str) -> float:
        """Returns the limit over the time of a series: 1 if it takes no longer than the limit."""
        return self.limit / self.time(series)

    @property
    def key(self) -> Tuple[str, str, str]:
        """Returns what is compared across MPIs."""
        return (self.mode, self.operation, self.pattern)


def merge(records: Iterable[Tuple[str, Record]]) -> List[Result]:
    """Joins the results of the pack benchmark."""
    found = join(records, ("mode", "operation", "pattern"), ("kind", "payload", "traffic"))
    return [Result(**one) for one in found]
