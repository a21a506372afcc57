"""What a run of the Higrad benchmark says: for each MPI, size, option and variant a time for the
computation and one for the exchange.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Dict, List, Set, Tuple

from ..experiment import Experiment
from ..figure import Figure
from ..runner import Run

COPIED, DERIVED, PACKED = 0, 1, 2
TRIGGERED = (3, 4, 5)  # only with Dunnage, and in device memory
OPTIONS = ["0 copies through host memory", "1 derived datatypes", "2 packing kernels",
           "3 a stream starts the messages", "4 a graph", "5 kernels send"]
Key = Tuple[str, int, int, int]


@dataclass
class Case:
    """One option at one size. Times are seconds of a step: the median of each launch."""

    mpi: str
    ranks: int
    ghost: int
    option: int
    memory: str = ""
    mesh: List[int] = field(default_factory=list)
    variables: int = 0
    compute: Dict[str, List[float]] = field(default_factory=dict)  # of each variant
    exchange: Dict[str, List[float]] = field(default_factory=dict)
    checksums: Dict[str, List[str]] = field(default_factory=dict)
    right: Dict[str, bool] = field(default_factory=dict)
    ways: List[str] = field(default_factory=list)  # of exchanges that a stream starts, in each launch

    @property
    def name(self) -> str:
        """Names the case with its size."""
        return f"option {self.option}, {self.ranks} ranks, {self.ghost} deep"

    def time(self, variant: str) -> float:
        """Returns the median time of an exchange."""
        return median(self.exchange[variant])

    @property
    def compared(self) -> bool:
        """Returns whether both variants were measured."""
        return bool(self.exchange.get("plain")) and bool(self.exchange.get("dunnage"))

    @property
    def ratio(self) -> float:
        """Returns the exchange of plain MPI over that with Dunnage: the median of the launches that
        took turns.
        """
        return median(plain / own for plain, own in zip(self.exchange["plain"], self.exchange["dunnage"]))


def cases(run: Run) -> List[Case]:
    """Joins the launches, and compares all checksums with those of plain MPI in option 0.

    Option 0 sends from host memory, so it needs nothing but the MPI. If plain MPI has no checksum
    or several, no result counts as right.
    """
    found: Dict[Key, Case] = {}
    for mpi, record in run.records:
        key = (mpi, record["ranks"], record["ghost"], record["option"])
        one = found.setdefault(key, Case(*key, memory=record["memory"], mesh=record["mesh"],
                                         variables=record["variables"]))
        variant = record["variant"]
        one.compute.setdefault(variant, []).append(record["compute"]["median"])
        one.exchange.setdefault(variant, []).append(record["communication"]["median"])
        one.checksums.setdefault(variant, []).append(record["checksum"])
        if "way" in record:
            one.ways.append(record["way"])
    joined = [found[key] for key in sorted(found)]
    expected: Dict[int, Set[str]] = {}  # the result depends on how deep the ghost cells are
    for one in joined:
        if one.option == COPIED:
            expected.setdefault(one.ghost, set()).update(one.checksums.get("plain", []))
    for one in joined:
        wanted = expected.get(one.ghost, set())
        one.right = {name: len(wanted) == 1 and set(sums) == wanted for name, sums in one.checksums.items()}
    return joined


def summarize_cases(results: List[Case], experiment: Experiment) -> List[Figure]:
    """Returns for each MPI and size what Dunnage gains, and what derived datatypes cost beside
    packing kernels: in the document 150 and 184 times as much.
    """
    least = experiment.criteria.get("plain", {}).get("least")
    most = experiment.criteria.get("packed", {}).get("most")
    figures: List[Figure] = []
    by_key = {(one.mpi, one.ranks, one.ghost, one.option): one for one in results}
    for one in results:
        size = f"{one.ranks} ranks, {one.ghost} deep"
        if one.compared:
            figures.append(Figure(one.mpi, f"option {one.option}, exchange, plain/Dunnage", one.ratio,
                                  least if one.option == DERIVED else None, pattern=size))
        packed = by_key.get((one.mpi, one.ranks, one.ghost, PACKED))
        if one.option != DERIVED or packed is None:
            continue
        for variant, name in (("plain", "plain"), ("dunnage", "Dunnage")):
            if one.exchange.get(variant) and packed.exchange.get(variant):
                figures.append(Figure(one.mpi, f"exchange, option 1 over option 2, {name}",
                                      one.time(variant) / packed.time(variant),
                                      most if variant == "dunnage" else None, pattern=size, at_most=True))
    return figures
