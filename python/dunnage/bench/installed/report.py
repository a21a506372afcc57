"""Reports benchmarks of others: each line with and without Dunnage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Dict, List, Tuple

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import Figure, figure_table
from ..lines import line_plot
from ..output import write_json
from ..results import Measured, Record, join
from ..runner import Run
from ..statistics import geometric_mean, median_interval
from ..style import FASTER


@dataclass
class Line(Measured):
    """One line of a benchmark's table. One sample is the time of one launch."""

    bytes: int

    @property
    def ratios(self) -> List[float]:
        """Returns plain over Dunnage of each round."""
        pairs = zip(self.series["plain"]["samples"], self.series["dunnage"]["samples"])
        return [theirs / mine for theirs, mine in pairs if mine > 0]

    @property
    def name(self) -> str:
        """Names the line with its size."""
        return f"{self.pattern}, {self.bytes} bytes"


def lines(run: Run) -> List[Line]:
    """Joins the results of all rounds. A line without a time that can be told is left out."""
    found = [Line(**one) for one in join(run.records, ("pattern", "bytes"))]
    return [line for line in found if line.ratios]


def summarize(results: List[Line]) -> List[Figure]:
    """Returns the mean ratio of each MPI and benchmark, and the lowest ratio."""
    figures = []
    for mpi in dict.fromkeys(line.mpi for line in results):
        own = [line for line in results if line.mpi == mpi]
        for name in dict.fromkeys(line.pattern for line in own):
            ratios = [median(line.ratios) for line in own if line.pattern == name]
            figures.append(Figure(mpi, f"{name}, plain/Dunnage, geometric mean", geometric_mean(ratios)))
        worst = min(own, key=lambda line: median(line.ratios))
        figures.append(Figure(mpi, "lowest, plain/Dunnage", median(worst.ratios), pattern=worst.name))
    return figures


def _row(line: Line) -> Dict[str, str]:
    low, high = median_interval(line.ratios)
    return {
        "benchmark": line.pattern,
        "MPI": line.mpi,
        "bytes": str(line.bytes),
        "plain us": f"{1e6 * line.time('plain'):.4g}",
        "Dunnage us": f"{1e6 * line.time('dunnage'):.4g}",
        "plain/Dunnage": f"{median(line.ratios):.3f}",
        "from, to": f"{low:.3f}, {high:.3f}",
    }


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON and PNG. Returns True: these benchmarks check no bytes."""
    results = lines(run)
    figures = summarize(results)
    print("", tabulate([_row(line) for line in results], headers="keys", disable_numparse=True),
          figure_table(figures), sep="\n\n")
    stem = write_json(experiment, head, figures, output, {"results": [vars(line) for line in results]})
    curves: Dict[Tuple[str, str], List[Tuple[float, float]]] = {}
    for line in results:
        if line.bytes:
            curves.setdefault((line.mpi, line.pattern), []).append((line.bytes, median(line.ratios)))
    line_plot(curves, f"{experiment.title}\n{head.get('cpu', '')}", "payload", "time of plain MPI / Dunnage",
              stem.with_suffix(".png"), level=1, better=FASTER, in_bytes=True)
    print(f"\nWritten: {stem}.json, .png")
    return True
