"""Reports `dunnage bench bcast`: broadcasts of bytes.

The native and the tuned broadcast of H. Zhou et al., "A Bandwidth-saving Optimization for MPI
Broadcast Collective Operation", stand beside those of the MPI and of Dunnage.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import figure_table
from ..output import write_json
from ..results import Record
from ..runner import Run, RunError
from ..units import size
from .plot import plot_broadcasts
from .results import (
    LOOP, PAIRS, SYNCHRONISED, Broadcast, broadcasts, miscounted, slower_broadcasts, summarize_broadcasts,
)


def _megabytes(one: Broadcast, way: str, method: str) -> str:
    time = one.time(way, method)
    return f"{one.bytes / time / 1e6:.4g}" if time else "-"


def _tables(results: List[Broadcast]) -> str:
    """Returns a table for each MPI, number of ranks, kind of buffers and root.

    Lengths go down, ways go across.
    """
    tables = []
    groups: Dict[tuple, List[Broadcast]] = {}
    for one in results:
        groups.setdefault((one.mpi, one.ranks, one.buffers, one.roots), []).append(one)
    for (mpi, ranks, buffers, roots), own in groups.items():
        ways = list(dict.fromkeys(way for one in own for way in one.series))
        for method in (SYNCHRONISED, LOOP):
            rows = []
            for one in own:
                row = {"bytes": size(one.bytes), **{way: _megabytes(one, way, method) for way in ways}}
                for faster, slower in PAIRS:
                    ratio = one.ratio(faster, slower, method)
                    row[f"{slower}/{faster}"] = f"{ratio:.2f}" if ratio else "-"
                for way in ("dunnage", "dunnage-ibcast"):
                    spread = one.spread(way, method)
                    row[f"spread {way}"] = f"{spread:.0%}" if spread is not None else "-"
                rows.append(row)
            title = (f"{mpi}, {ranks} ranks, {buffers} buffers, root {roots}, {method}: MB/s; ratios of times; "
                     "spreads (p10 to p90)")
            tables.append(f"{title}\n{tabulate(rows, headers='keys', disable_numparse=True)}")
    return "\n\n".join(tables)


def _notes(results: List[Broadcast], run: Run) -> List[str]:
    notes = [f"left out: {one['ranks']} ranks, since there are {one['reason']}" for one in run.skipped]
    late = sum(series["late"] for one in results for series in one.series.values())
    synchronised = [series[SYNCHRONISED] for one in results for series in one.series.values() if SYNCHRONISED in series]
    samples = sum(len(series["samples"]) for series in synchronised)
    notes.append(f"{late} of {late + samples} synchronised broadcasts were not counted, "
                 "because a rank was late for their start")
    for mpi, header in run.headers.items():
        if header["core"] < 0:
            notes.append(f"{mpi}: the ranks have no core each, so the figures mean little")
    return notes


def _slower_table(results: List[Broadcast], least: float) -> str:
    slower = slower_broadcasts(results, least)
    if not slower:
        return f"No broadcast is slower than plain MPI's by more than {1 - least:.0%}."
    rows = [{"MPI": one.mpi, "broadcast": one.where, "way": way, "plain/dunnage": f"{ratio:.3f}",
             "spread plain": f"{one.spread(plain):.0%}", "spread dunnage": f"{one.spread(way):.0%}"}
            for ratio, one, way, plain in slower]
    table = tabulate(rows, headers="keys", disable_numparse=True)
    return f"Slower than plain MPI's by more than {1 - least:.0%}, synchronised\n{table}"


def _without_samples(one: Broadcast) -> Record:
    """Returns the results for the JSON file.

    The file has the number of samples and not the samples, because there are hundreds.
    """
    def short(value: Any) -> Any:
        return {**value, "samples": len(value["samples"])} if isinstance(value, dict) else value

    series = {way: {name: short(value) for name, value in measured.items()} for way, measured in one.series.items()}
    return {**vars(one), "series": series}


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON, text and PNG.

    Returns whether all bytes and counts were right and nothing was lost.
    """
    results = broadcasts(run)
    if not results:
        raise RunError("; ".join(run.lost) or "nothing was measured: this machine has too few cores")
    figures = summarize_broadcasts(results, experiment.criteria)
    least = experiment.criteria.get("dunnage", {}).get("least", 0.0)
    wrong = [f"WRONG BYTES: {one.mpi}, {one.where}, {way}"
             for one in results for way, series in one.series.items() if not series["verified"]]
    wrong += [f"WRONG COUNT: {text}" for text in miscounted(results)]
    lost = [f"LOST: {one}" for one in run.lost]
    parts = [_tables(results), "\n".join(_notes(results, run)), figure_table(figures), _slower_table(results, least),
             "\n".join(wrong), "\n".join(lost)]
    text = "\n\n".join(part for part in parts if part)
    print("", text, sep="\n")
    stem = write_json(experiment, {**head, "skipped": run.skipped, "lost": run.lost}, figures, output, {
        "slower": [{"mpi": one.mpi, "where": one.where, "way": way, "ratio": ratio}
                   for ratio, one, way, _ in slower_broadcasts(results, least)],
        "results": [_without_samples(one) for one in results],
    })
    stem.with_suffix(".txt").write_text(f"{experiment.title}\n{head.get('date', '')}\n\n{text}\n")
    plot_broadcasts(results, f"{experiment.title}\n{head.get('cpu', '')}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .txt, .png")
    return not wrong and not lost
