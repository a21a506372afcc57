"""The few figures that an experiment is held to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Tuple

from .results import Result
from .statistics import geometric_mean

Criteria = Dict[str, Dict[str, float]]


@dataclass
class Figure:
    """One figure of the summary, its threshold if the experiment has one, and where it comes from."""

    mode: str
    operation: str
    mpi: str
    name: str
    value: float
    threshold: Optional[float] = None
    pattern: Optional[str] = None  # that the value belongs to

    @property
    def met(self) -> Optional[bool]:
        """Whether the threshold is reached; None where there is none."""
        return None if self.threshold is None else self.value >= self.threshold

    def to_json(self) -> Dict[str, Any]:
        """For the results file."""
        return {**asdict(self), "met": self.met}


def subject(results: List[Result]) -> str:
    """The series under test: Dunnage, or the hand-written loops where the library was not loaded."""
    return "dunnage" if results and all(result.has("dunnage") for result in results) else "hand"


def fastest_plain(results: List[Result]) -> Dict[Tuple[str, str, str], float]:
    """The time of the fastest MPI for each mode, operation and pattern."""
    fastest: Dict[Tuple[str, str, str], float] = {}
    for result in results:
        fastest[result.key] = min(result.time("plain"), fastest.get(result.key, float("inf")))
    return fastest


def summarize_results(results: List[Result], criteria: Criteria) -> List[Figure]:
    """All the figures, for each mode, operation and MPI in the order in which they were measured.

    The thresholds are Dunnage's; without it there are none.
    """
    fastest = fastest_plain(results)
    tested = subject(results)
    if tested != "dunnage":
        criteria = {}
    groups: Dict[Tuple[str, str, str], List[Result]] = {}
    for result in results:
        groups.setdefault((result.mode, result.operation, result.mpi), []).append(result)
    figures: List[Figure] = []
    for (mode, operation, mpi), group in groups.items():
        bounds = criteria.get(mode, {})

        def add(name: str, value: float, bound: str, pattern: Optional[str] = None) -> None:
            figures.append(Figure(mode, operation, mpi, name, value, bounds.get(bound), pattern))

        add("geometric mean, plain", geometric_mean([r.ratio(tested) for r in group]), "mean")
        add(
            "geometric mean, fastest plain",
            geometric_mean([fastest[r.key] / r.time(tested) for r in group]),
            "mean_fastest",
        )
        worst = min(group, key=lambda r: r.ratio(tested))
        add("minimum, plain", worst.ratio(tested), "minimum", worst.pattern)
        regular = [r for r in group if r.kind == "regular"]
        if mode == "cold" and regular:
            add("geometric mean, limit, regular", geometric_mean([r.share_of_limit(tested) for r in regular]), "")
            worst = min(regular, key=lambda r: r.share_of_limit(tested))
            add("minimum, limit, regular", worst.share_of_limit(tested), "limit", worst.pattern)
        for result in group:
            if result.pattern == "transpose":
                add("transpose, fastest plain", fastest[result.key] / result.time(tested), "transpose")
    return figures


@dataclass
class Slower:
    """A pattern on which the series under test loses to plain MPI."""

    result: Result
    ratio: float
    within_noise: bool  # the middle 80 % of the two series overlap


def slower_patterns(results: List[Result]) -> List[Slower]:
    """Worst first."""
    tested = subject(results)
    found = []
    for result in results:
        ratio = result.ratio(tested)
        if ratio < 1:
            overlap = result.series[tested]["p10"] <= result.series["plain"]["p90"]
            found.append(Slower(result, ratio, overlap))
    return sorted(found, key=lambda slower: slower.ratio)


def wrong(results: List[Result], series: str) -> List[Result]:
    """The results in which a series gave wrong bytes."""
    return [result for result in results if not result.series.get(series, {}).get("verified", True)]
