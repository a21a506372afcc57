"""Reports `dunnage bench halo`."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import figure_table, verdicts
from ..lines import line_plot
from ..output import write_json
from ..results import Record
from ..runner import Run
from ..style import FASTER
from .results import LIMIT, Halo, halos, limit_of, limits, summarize_halos


def _microseconds(one: Halo, variant: str) -> str:
    if not one.times.get(variant):
        return "-"
    times = one.times[variant]
    return f"{1e6 * one.time(variant):.4g} ({1e6 * min(times):.4g} to {1e6 * max(times):.4g})"


def tables(results: List[Halo]) -> str:
    """Returns a table for each MPI, with a row for each size and way."""
    found = limits(results)
    parts = []
    for mpi in dict.fromkeys(one.mpi for one in results):
        rows = []
        for one in (one for one in results if one.mpi == mpi):
            limit = limit_of(one, found)
            rows.append({
                "ranks": one.ranks, "variables": one.variables, "ghost": one.ghost, "cells": one.cells,
                "way": one.way, "plain us": _microseconds(one, "plain"), "Dunnage us": _microseconds(one, "dunnage"),
                "plain/Dunnage": f"{one.ratio:.3g}" if one.compared and one.way != LIMIT else "",
                "Dunnage/limit": f"{one.time('dunnage') / limit:.3g}"
                if one.times.get("dunnage") and limit > 0 and one.way != LIMIT else "",
                "right": "NO" if not all(one.verified.values()) else "yes" if one.verified else "",
            })
        parts.append(f"{mpi}\n{tabulate(rows, headers='keys', disable_numparse=True)}")
    return "\n\n".join(parts)


def phase_table(results: List[Halo]) -> str:
    """Returns where the time of each way goes, with Dunnage, at the largest size of each MPI."""
    lines = []
    for mpi in dict.fromkeys(one.mpi for one in results):
        own = [one for one in results if one.mpi == mpi and "dunnage" in one.phases]
        for one in (one for one in own if one.cells == max(o.cells for o in own)):
            parts = ", ".join(f"{name} {1e6 * seconds:.3g}" for name, seconds in one.phases["dunnage"].items())
            lines.append(f"{mpi}: {one.name}: {parts}")
    return "Phases with Dunnage, mean us of rank 0\n" + "\n".join(lines)


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON and PNG. Returns whether all cells were right with
    Dunnage.
    """
    results = halos(run)
    figures = summarize_halos(results, experiment)
    print("", tables(results), phase_table(results), figure_table(figures), verdicts(figures), sep="\n\n")
    for lost in run.lost:
        print(f"lost: {lost}")
    for skipped in run.skipped:
        print(f"skipped: {skipped}")
    stem = write_json(experiment, head, figures, output, {
        "results": [vars(one) for one in results], "lost": run.lost, "skipped": run.skipped,
    })
    curves: Dict[Tuple[str, str], List[Tuple[float, float]]] = {}
    for one in results:
        if one.compared and one.way != LIMIT:
            name = f"{one.way}, {one.ranks} ranks, {one.ghost} deep, {one.variables} var."
            curves.setdefault((one.mpi, name), []).append((one.cells, one.ratio))
    line_plot(curves, f"{experiment.title}\n{head.get('cpu', '')}", "cells along each side",
              "time of plain MPI / Dunnage", stem.with_suffix(".png"), level=1, better=FASTER)
    print(f"\nWritten: {stem}.json, .png")
    broken = [one for one in results if not one.verified.get("dunnage", True)]
    for one in broken:
        print(f"DUNNAGE LEAVES WRONG CELLS: {one.name} with {one.mpi}")
    return not broken
