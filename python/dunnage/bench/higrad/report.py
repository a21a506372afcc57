"""Reports `dunnage bench higrad`."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Dict, List

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import figure_table, verdicts
from ..output import write_json
from ..results import Record
from ..runner import Run
from .document import document_table
from .plot import plot_cases
from .results import OPTIONS, Case, cases, summarize_cases


def _milliseconds(times: Dict[str, List[float]], variant: str) -> str:
    return f"{1e3 * median(times[variant]):.4g}" if times.get(variant) else "-"


def _share(one: Case, variant: str) -> str:
    if not one.exchange.get(variant):
        return "-"
    exchange = one.time(variant)
    return f"{100 * exchange / (exchange + median(one.compute[variant])):.1f}"


def tables(results: List[Case]) -> str:
    """Returns a table for each MPI, with a row for each size and option."""
    parts = []
    for mpi in dict.fromkeys(one.mpi for one in results):
        own = [one for one in results if one.mpi == mpi]
        any_way = any(one.ways for one in own)
        rows = [
            {
                "ranks": one.ranks, "deep": one.ghost, "option": OPTIONS[one.option],
                "compute ms, plain": _milliseconds(one.compute, "plain"),
                "Dunnage": _milliseconds(one.compute, "dunnage"),
                "exchange ms, plain": _milliseconds(one.exchange, "plain"),
                "Dunnage ": _milliseconds(one.exchange, "dunnage"),
                "plain/Dunnage": f"{one.ratio:.3g}" if one.compared else "",
                "exchange %, plain": _share(one, "plain"), "Dunnage  ": _share(one, "dunnage"),
                **({"way": ", ".join(dict.fromkeys(one.ways))} if any_way else {}),
                "right": "yes" if all(one.right.values()) else "NO",
            }
            for one in own
        ]
        mesh = "x".join(map(str, own[0].mesh))
        parts.append(f"{mpi}: {mesh} cells, {own[0].variables} variables, {own[0].memory} memory, median of a step\n"
                     f"{tabulate(rows, headers='keys', disable_numparse=True)}")
    return "\n\n".join(parts)


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON and PNG. Returns whether all checksums were right and
    nothing with Dunnage was lost.
    """
    results = cases(run)
    figures = summarize_cases(results, experiment)
    document = f"The document\n{document_table()}"
    print("", tables(results), document, figure_table(figures), verdicts(figures), sep="\n\n")
    for lost in run.lost:
        print(f"lost: {lost}")
    for skipped in run.skipped:
        print(f"skipped: {', '.join(f'{name} {value}' for name, value in skipped.items())}")
    stem = write_json(experiment, head, figures, output, {
        "results": [vars(one) for one in results], "lost": run.lost, "skipped": run.skipped,
    })
    plot_cases(results, f"{experiment.title}\n{head.get('cpu', '')}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .png")
    unloaded = [mpi for mpi, header in run.headers.items() if not header["dunnage"]]
    for mpi in unloaded:
        print(f"DUNNAGE WAS NOT LOADED: {mpi}")
    broken = [(one, variant) for one in results for variant, right in one.right.items() if not right]
    for one, variant in broken:
        print(f"WRONG CHECKSUM: {one.mpi}, {one.name}, {variant}")
    return not broken and not unloaded and not any(", dunnage: " in lost for lost in run.lost)
