"""Reports `dunnage bench noncontiguous-send`: several schemes to send every other double, without
and with Dunnage.

The schemes and the method are those of V. Eijkhout, "Performance of MPI sends of non-contiguous
data".
"""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median
from typing import Any, Dict, List

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import figure_table
from ..output import say_right, write_json
from ..results import Record, wrong
from ..runner import Run, RunError
from ..units import size
from .plot import plot_sends
from .results import Send, references, sends, slowdown, slower_sends, summarize_sends

DISTURBED = 0.15  # the spread is 2 to 4 % on a quiet machine and 30 % on a busy one


def _slowdown_tables(results: List[Send]) -> str:
    """Returns a table for each MPI. Payloads go down, schemes go across."""
    contiguous = references(results)
    schemes = list(dict.fromkeys(send.pattern for send in results))
    tables = []
    for mpi in dict.fromkeys(send.mpi for send in results):
        rows: Dict[int, Dict[str, str]] = {}
        for send in results:
            if send.mpi == mpi:
                row = rows.setdefault(send.bytes, {"bytes": size(send.bytes), **dict.fromkeys(schemes, "-")})
                ratios = (slowdown(send, series, contiguous) for series in ("plain", "dunnage"))
                row[send.pattern] = "/".join("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        title = f"{mpi}: time over that of plain MPI's contiguous send, plain/Dunnage"
        tables.append(f"{title}\n{tabulate(list(rows.values()), headers='keys', disable_numparse=True)}")
    return "\n\n".join(tables)


def _slower_table(slower: List[Send], share: float) -> str:
    if not slower:
        return f"No send is slower than plain MPI by more than {share:.0%}."
    rows = [
        {
            "scheme": send.pattern, "bytes": size(send.bytes), "MPI": send.mpi, "slower by": f"{send.slower:.1%}",
            "spread plain": f"{send.spread('plain'):.1%}", "spread Dunnage": f"{send.spread('dunnage'):.1%}",
            "note": "within noise" if send.within_noise else "",
        }
        for send in slower
    ]
    return f"Slower than plain MPI by more than {share:.0%}\n" + tabulate(rows, headers="keys", disable_numparse=True)


def _write_csv(path: Path, results: List[Send]) -> None:
    """Writes one line for each series. Times are in seconds."""
    contiguous = references(results)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["mpi", "scheme", "bytes", "series", "mean", "median", "spread", "samples", "dropped",
                         "bytes per second", "slowdown", "verified"])
        for send in results:
            for name, series in send.series.items():
                time = send.time(name)
                writer.writerow([send.mpi, send.pattern, send.bytes, name, time, series["median"], send.spread(name),
                                 len(series["samples"]), send.dropped(name), send.bytes / time,
                                 slowdown(send, name, contiguous), series["verified"]])


def _notes(results: List[Send], run: Run, head: Record) -> List[str]:
    """Returns remarks that a reader of the tables must know."""
    notes = []
    for mpi, header in head["mpis"].items():
        if header["cores"][0] == header["cores"][1] or -1 in header["cores"]:
            notes.append(f"{mpi}: the ranks have no core each: {header['cores']}")
        if len(set(header["hosts"])) > 1:
            notes.append(f"{mpi}: between {header['hosts'][0]} and {header['hosts'][1]}")
    samples = sum(len(series["samples"]) for send in results for series in send.series.values())
    dropped = sum(send.dropped(name) for send in results for name in send.series)
    notes.append(f"{dropped} of {samples} samples were more than one standard deviation from their mean, and dropped")
    spread = median(send.spread(name) for send in results for name in send.series)
    disturbed = ": other work disturbed the ranks, so the figures mean little" if spread > DISTURBED else ""
    notes.append(f"the spread of the rest is {spread:.1%} of the mean, in the median over all series{disturbed}")
    left_out = dict.fromkeys(f"{record['pattern']} (too much {record['reason']})" for record in run.skipped)
    if left_out:
        notes.append(f"left out at some payloads (-): {', '.join(left_out)}")
    notes += [f"plain {send.mpi} gives wrong bytes: {send.pattern}, {size(send.bytes)}"
              for send in wrong(results, "plain")]
    return notes


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON, CSV and PNG.

    Returns whether Dunnage's bytes were right everywhere.
    """
    results = sends(run)
    if not results:
        raise RunError("nothing was measured")
    figures = summarize_sends(results, experiment.criteria)
    share = experiment.criteria.get("slower", {}).get("share", 0.0)
    slower = slower_sends(results, share)
    notes = "\n".join(_notes(results, run, head))
    print("", _slowdown_tables(results), notes, figure_table(figures), _slower_table(slower, share), sep="\n\n")
    parts: Dict[str, Any] = {
        "slower": [
            {"mpi": send.mpi, "scheme": send.pattern, "bytes": send.bytes, "by": send.slower,
             "spread": {name: send.spread(name) for name in send.series}, "within_noise": send.within_noise}
            for send in slower
        ],
        "results": [vars(send) for send in results],
    }
    stem = write_json(experiment, {**head, "skipped": run.skipped}, figures, output, parts)
    _write_csv(stem.with_suffix(".csv"), results)
    plot_sends(results, f"{experiment.title}\n{head.get('cpu', '')}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .csv, .png")
    return say_right(results)
