"""Reports `dunnage bench message`: ping-pongs of two ranks with and without Dunnage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Dict, List, Tuple

from tabulate import tabulate

from .experiment import Experiment
from .figure import Criteria, Figure, figure_table
from .lines import line_plot
from .output import say_right, write_json
from .results import Measured, Record, join
from .runner import Run
from .style import FASTER
from .statistics import consistently_slower, geometric_mean

CALL = "call"  # a contiguous call in a loop, and not a ping-pong


@dataclass
class Exchange(Measured):
    """One ping-pong, or one call."""

    bytes: int

    @property
    def name(self) -> str:
        """Names the exchange with its size."""
        return f"{self.pattern}, {self.bytes} bytes"

    def ratio(self, faster: str, slower: str = "plain") -> float:
        """Returns the median of the paired ratios.

        Launches differ in speed, and medians over all launches may come from different ones.
        """
        pairs = zip(self.series[slower]["samples"], self.series[faster]["samples"])
        return median(theirs / mine for theirs, mine in pairs)

    @property
    def within_noise(self) -> bool:
        """Returns whether the exchange may be slower than plain MPI by chance.

        Its samples were taken in pairs.
        """
        return not consistently_slower(self.series["plain"]["samples"], self.series["dunnage"]["samples"])


def exchanges(run: Run) -> List[Exchange]:
    """Joins the results of all rounds."""
    return [Exchange(**one) for one in join(run.records, ("pattern", "bytes"))]


def slower_exchanges(results: List[Exchange]) -> List[Exchange]:
    """Returns the ping-pongs that are slower than plain MPI, the worst first."""
    found = [r for r in results if r.pattern != CALL and r.ratio("dunnage") < 1]
    return sorted(found, key=lambda r: r.ratio("dunnage"))


def summarize_exchanges(results: List[Exchange], criteria: Criteria) -> List[Figure]:
    """Returns for each MPI what a contiguous call costs in addition, and how the ping-pongs
    compare.
    """
    asked = criteria.get("contiguous", {})
    figures: List[Figure] = []
    for mpi in dict.fromkeys(result.mpi for result in results):
        own = [r for r in results if r.mpi == mpi]
        for result in own:
            if result.pattern == CALL:
                name = "added to a contiguous call, ns"
                figures.append(Figure(mpi, name, 1e9 * result.added, asked.get("added_ns"), at_most=True))
        pings = [r for r in own if r.pattern != CALL]
        for result in pings:
            if (result.pattern, result.bytes) == ("contiguous", 8):
                name = "8-byte ping-pong, plain/Dunnage"
                figures.append(Figure(mpi, name, result.ratio("dunnage"), asked.get("ping_pong")))
        strided = [r.ratio("dunnage") for r in pings if r.pattern != "contiguous"]
        if strided:
            figures.append(Figure(mpi, "geometric mean of strided, plain/Dunnage", geometric_mean(strided)))
        worst = min(pings, key=lambda r: r.ratio("dunnage"))
        figures.append(Figure(mpi, "slowest, plain/Dunnage", worst.ratio("dunnage"), pattern=worst.name))
    return figures


def _row(result: Exchange) -> Dict[str, str]:
    return {
        "pattern": result.pattern,
        "MPI": result.mpi,
        "bytes": str(result.bytes),
        "plain us": f"{1e6 * result.time('plain'):.4g}",
        "Dunnage us": f"{1e6 * result.time('dunnage'):.4g}",
        "plain/dunnage": f"{result.ratio('dunnage'):.3f}",
        "right": "yes" if result.series["dunnage"]["verified"] else "NO",
    }


def _slower_table(slower: List[Exchange]) -> str:
    if not slower:
        return "No series is slower than plain MPI."
    rows = [
        {"series": s.name, "MPI": s.mpi, "ratio": f"{s.ratio('dunnage'):.3f}",
         "note": "within noise" if s.within_noise else ""}
        for s in slower
    ]
    return "Slower than plain MPI\n" + tabulate(rows, headers="keys", disable_numparse=True)


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON and PNG. Returns whether all bytes were right."""
    results = exchanges(run)
    figures = summarize_exchanges(results, experiment.criteria)
    slower = slower_exchanges(results)
    table = tabulate([_row(r) for r in results], headers="keys", disable_numparse=True)
    print("", table, figure_table(figures), _slower_table(slower), sep="\n\n")
    stem = write_json(experiment, head, figures, output, {
        "slower": [
            {"mpi": s.mpi, "pattern": s.pattern, "bytes": s.bytes, "ratio": s.ratio("dunnage"),
             "within_noise": s.within_noise}
            for s in slower
        ],
        "results": [vars(result) for result in results],
    })
    curves: Dict[Tuple[str, str], List[Tuple[float, float]]] = {}
    for r in results:
        if r.pattern != CALL:
            curves.setdefault((r.mpi, r.pattern), []).append((r.bytes, r.ratio("dunnage")))
    title = f"{experiment.title}\n{head.get('cpu', '')}"
    line_plot(curves, title, "payload", "time of plain MPI / Dunnage", stem.with_suffix(".png"), level=1,
              better=FASTER, in_bytes=True)
    print(f"\nWritten: {stem}.json, .png")
    return say_right(results)
