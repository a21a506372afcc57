"""Reports `dunnage bench commit`: what Dunnage adds to the life of a datatype."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Tuple

import numpy
from tabulate import tabulate

from .experiment import Experiment
from .figure import Criteria, Figure, figure_table
from .lines import line_plot
from .output import say_right, write_json
from .results import Measured, Record, join
from .runner import Run
from .style import LESS

Key = Tuple[str, int, str]  # constructor, entries, MPI


@dataclass
class Cost(Measured):
    """One operation on one datatype."""

    kind: str
    operation: str
    entries: int


@dataclass
class Life:
    """The operations on one datatype."""

    name: str
    entries: int
    mpi: str
    kind: str
    operations: Dict[str, Cost]

    @property
    def analysis(self) -> float:
        """Returns the seconds that Dunnage takes to analyse the type, at commit and at the first
        use.
        """
        return self.operations["commit"].added + max(self.operations["first use"].added, 0.0)

    @property
    def beyond_commit(self) -> float:
        """Returns by how many seconds the analysis takes longer than the library's own commit."""
        return self.analysis - self.operations["commit"].time("plain")


def lives(results: List[Cost]) -> List[Life]:
    """Puts the operations of each datatype together."""
    found: Dict[Key, Life] = {}
    for r in results:
        life = found.setdefault((r.pattern, r.entries, r.mpi), Life(r.pattern, r.entries, r.mpi, r.kind, {}))
        life.operations[r.operation] = r
    return list(found.values())


def growth(points: List[Tuple[int, float]]) -> float:
    """Returns the exponent with which time grows with the length of the list.

    An exponent of 1 is linear.
    """
    entries, seconds = zip(*points)
    return float(numpy.polyfit(numpy.log(entries), numpy.log(seconds), 1)[0])


def summarize_lives(found: List[Life], criteria: Criteria) -> List[Figure]:
    """Returns for each MPI the dearest small constructor, the fastest-growing list and the dearest
    list.
    """
    small, lists = criteria.get("small", {}), criteria.get("lists", {})
    figures: List[Figure] = []
    for mpi in dict.fromkeys(life.mpi for life in found):
        own = [life for life in found if life.mpi == mpi]
        few = [life for life in own if life.kind == "small"]
        if few:
            worst = max(few, key=lambda life: life.beyond_commit)
            name = "small: analysis beyond the library's commit, us"
            value = 1e6 * worst.beyond_commit
            figures.append(Figure(mpi, name, value, small.get("beyond_commit_us"), worst.name, at_most=True))
        many = [life for life in own if life.kind == "list"]
        curves: Dict[str, List[Tuple[int, float]]] = {}
        for life in many:
            if life.entries >= lists.get("from_entries", 0) and life.analysis > 0:
                curves.setdefault(life.name, []).append((life.entries, life.analysis))
        exponents = {name: growth(points) for name, points in curves.items() if len(points) > 1}
        if exponents:
            steepest = max(exponents, key=lambda name: exponents[name])
            name = "lists: exponent of growth"
            figures.append(Figure(mpi, name, exponents[steepest], lists.get("growth"), steepest, at_most=True))
        if many:
            longest = [life for life in many if life.entries == max(one.entries for one in many)]
            dearest = max(longest, key=lambda life: life.analysis)
            name = f"lists: analysis per entry of {dearest.entries}, ns"
            figures.append(Figure(mpi, name, 1e9 * dearest.analysis / dearest.entries, pattern=dearest.name))
    return figures


def _row(life: Life) -> Dict[str, str]:
    commit, first, free = (life.operations[name] for name in ("commit", "first use", "free"))
    return {
        "constructor": life.name,
        "entries": str(life.entries),
        "MPI": life.mpi,
        "commit us": f"{1e6 * commit.time('plain'):.3f}",
        "added us": f"{1e6 * commit.added:.3f}",
        "at first use": f"{1e6 * first.added:.3f}",
        "added per entry, ns": f"{1e9 * life.analysis / life.entries:.1f}" if life.kind == "list" else "",
        "free us": f"{1e6 * free.time('plain'):.3f}",
        "added to free": f"{1e6 * free.added:.3f}",
        "right": "yes" if commit.series["dunnage"]["verified"] else "NO",
    }


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON and PNG. Returns whether all bytes were right."""
    results = [Cost(**one) for one in join(run.records, ("pattern", "entries", "operation"), ("kind",))]
    found = lives(results)
    figures = summarize_lives(found, experiment.criteria)
    table = tabulate([_row(life) for life in found], headers="keys", disable_numparse=True)
    print("", table, figure_table(figures), sep="\n\n")
    stem = write_json(experiment, head, figures, output, {"results": [vars(result) for result in results]})
    curves: Dict[Tuple[str, str], List[Tuple[float, float]]] = {}
    for life in found:
        if life.kind == "list":
            curves.setdefault((life.mpi, life.name), []).append((life.entries, 1e9 * life.analysis / life.entries))
    title = f"{experiment.title}\n{head.get('cpu', '')}"
    y = "added by Dunnage per entry, ns"
    line_plot(curves, title, "entries of the list", y, stem.with_suffix(".png"), level=10, better=LESS)
    print(f"\nWritten: {stem}.json, .png")
    return say_right(results)
