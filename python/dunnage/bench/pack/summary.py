"""The figures of the pack benchmark that are compared with thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from ..figure import Criteria, Figure
from ..results import Measured
from ..statistics import geometric_mean
from .results import Result


def subject(results: Sequence[Measured]) -> str:
    """Returns the series under test: Dunnage, or the hand-written loops if the library was not
    loaded.
    """
    return "dunnage" if results and all(result.has("dunnage") for result in results) else "hand"


def fastest_plain(results: List[Result]) -> Dict[Tuple[str, str, str], float]:
    """Returns the time of the fastest MPI for each mode, operation and pattern."""
    fastest: Dict[Tuple[str, str, str], float] = {}
    for result in results:
        fastest[result.key] = min(result.time("plain"), fastest.get(result.key, float("inf")))
    return fastest


def counted(results: List[Result], criteria: Criteria) -> List[Result]:
    """Returns the results with at least the payload that the criteria of their mode name.

    Smaller ones are too easily lost in noise.
    """
    return [r for r in results if r.payload >= criteria.get(r.mode, {}).get("payload", 0)]


def summarize_results(results: List[Result], criteria: Criteria) -> List[Figure]:
    """Returns all figures, for each mode, operation and MPI in the order in which they were
    measured.

    The thresholds are Dunnage's. If Dunnage was not measured, there are no thresholds.
    """
    fastest = fastest_plain(results)
    tested = subject(results)
    results = counted(results, criteria)
    if tested != "dunnage":
        criteria = {}
    groups: Dict[Tuple[str, str, str], List[Result]] = {}
    for result in results:
        groups.setdefault((result.mode, result.operation, result.mpi), []).append(result)
    figures: List[Figure] = []
    for (mode, operation, mpi), group in groups.items():
        bounds = criteria.get(mode, {})

        def add(name: str, value: float, bound: str, pattern: Optional[str] = None) -> None:
            figures.append(Figure(mpi, name, value, bounds.get(bound), pattern, mode=mode, operation=operation))

        def add_means(suffix: str, chosen: List[Result], asked: bool) -> None:
            own = [r.ratio(tested) for r in chosen]
            best = [fastest[r.key] / r.time(tested) for r in chosen]
            add(f"geometric mean, plain{suffix}", geometric_mean(own), "mean" if asked else "")
            add(f"geometric mean, fastest plain{suffix}", geometric_mean(best), "mean_fastest" if asked else "")

        add_means("", group, True)
        strided = [r for r in group if r.kind != "contiguous"]
        if strided:
            add_means(", non-contiguous", strided, False)
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
    """A pattern on which the series under test is slower than plain MPI."""

    result: Measured
    ratio: float
    within_noise: bool  # whether the middle 80 % of the two series overlap


def slower_patterns(results: Sequence[Measured]) -> List[Slower]:
    """Returns the patterns that are slower, the worst first."""
    tested = subject(results)
    found = []
    for result in results:
        ratio = result.ratio(tested)
        if ratio < 1:
            overlap = result.series[tested]["p10"] <= result.series["plain"]["p90"]
            found.append(Slower(result, ratio, overlap))
    return sorted(found, key=lambda slower: slower.ratio)
