"""What a run of the halo benchmark says: a series for each way, MPI, variant and size."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Dict, List, Tuple

from ..experiment import Experiment
from ..figure import Figure
from ..runner import Run
from ..statistics import geometric_mean

LIMIT = "direct"
Key = Tuple[str, int, int, int, int, str]


@dataclass
class Halo:
    """One way at one size. Times are in seconds: the median of each launch."""

    mpi: str
    ranks: int
    variables: int
    ghost: int
    cells: int
    way: str
    bytes: int = 0
    times: Dict[str, List[float]] = field(default_factory=dict)  # of each variant
    phases: Dict[str, Dict[str, float]] = field(default_factory=dict)
    verified: Dict[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Names the way with its size."""
        variables = f", {self.variables} variables" if self.variables > 1 else ""
        return f"{self.way}, {self.ranks} ranks, {self.cells} cells, {self.ghost} deep{variables}"

    def time(self, variant: str) -> float:
        """Returns the median of the launches."""
        return median(self.times[variant])

    @property
    def compared(self) -> bool:
        """Returns whether both variants were measured."""
        return bool(self.times.get("plain")) and bool(self.times.get("dunnage"))

    @property
    def ratio(self) -> float:
        """Returns plain over Dunnage: the median of the ratios of the launches that took turns."""
        return median(plain / own for plain, own in zip(self.times["plain"], self.times["dunnage"]))


def halos(run: Run) -> List[Halo]:
    """Joins the launches."""
    found: Dict[Key, Halo] = {}
    for mpi, record in run.records:
        key = (mpi, record["ranks"], record["variables"], record["ghost"], record["cells"], record["way"])
        one = found.setdefault(key, Halo(*key, bytes=record["bytes"]))
        variant = record["variant"]
        one.times.setdefault(variant, []).append(record["seconds"]["median"])
        one.phases[variant] = record["phases"]
        if record["verified"] is not None:
            one.verified[variant] = one.verified.get(variant, True) and record["verified"]
    return list(found.values())


def limits(results: List[Halo]) -> Dict[Tuple[str, int, int, int, int], float]:
    """Returns the time of the limit for each MPI and size."""
    return {
        (one.mpi, one.ranks, one.variables, one.ghost, one.cells): min(map(one.time, one.times))
        for one in results if one.way == LIMIT
    }


def limit_of(one: Halo, found: Dict[Tuple[str, int, int, int, int], float]) -> float:
    """Returns the limit at the size of a result; not a number if it was not measured."""
    return found.get((one.mpi, one.ranks, one.variables, one.ghost, one.cells), float("nan"))


def summarize_halos(results: List[Halo], experiment: Experiment) -> List[Figure]:
    """Returns for each MPI and way how it compares with plain MPI, and with the limit where the
    experiment asks for that.
    """
    figures: List[Figure] = []
    asked = experiment.criteria.get("plain", {})
    found = limits(results)
    for mpi in dict.fromkeys(one.mpi for one in results):
        own = [one for one in results if one.mpi == mpi and one.compared and one.way != LIMIT]
        if not own:
            continue
        for way in dict.fromkeys(one.way for one in own):
            ratios = [one.ratio for one in own if one.way == way]
            figures.append(Figure(mpi, f"{way}, geometric mean, plain/Dunnage", geometric_mean(ratios),
                                  asked.get("mean") if way in ("isend", "persistent", "implicit") else None))
        worst = min(own, key=lambda one: one.ratio)
        figures.append(Figure(mpi, "slowest, plain/Dunnage", worst.ratio, asked.get("least"), pattern=worst.name))
        for way, most in experiment.criteria.get("limit", {}).items():
            for one in own:
                if one.way == way and one.cells == max(o.cells for o in own) and limit_of(one, found) > 0:
                    figures.append(Figure(mpi, "Dunnage over the limit", one.time("dunnage") / limit_of(one, found),
                                          most, pattern=one.name, at_most=True))
    return figures
