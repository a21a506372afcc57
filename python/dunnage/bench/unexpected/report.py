"""Reports `dunnage bench unexpected`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import median
from typing import Dict, List, Tuple

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import figure_table, verdicts
from ..output import write_json
from ..results import Record
from ..runner import Run
from ..units import size
from .plot import plot_lates
from .results import Late, delay, lates, layout, over_on_time, summarize_lates, when_on_time

NAMES = {"plain": "plain", "dunnage": "Dunnage"}


def _mebibytes(values: Dict[str, int], variant: str) -> str:
    return f"{values[variant] / 2**20:.3g}" if variant in values else ""


def _row(own: List[Late], variant: str) -> Dict[str, object]:
    """Returns the row of one place and variant: a column for each lateness, and the worst of them.
    """
    first = own[0]
    on_time = when_on_time(own).get(first.place)
    measured = [one for one in own if one.times.get(variant)]
    latest = max(measured, key=lambda one: one.lateness)
    ratios = [over_on_time(one, on_time, variant) for one in measured if one.lateness > 0]
    row: Dict[str, object] = {
        "bytes": size(first.bytes), "layout": layout(first.block), "messages": first.messages, "call": first.call,
        "variant": NAMES[variant],
    }
    for one in own:
        row[delay(one.lateness)] = f"{1e6 * one.time(variant):.4g}" if one in measured else "-"
    row["late/on time"] = f"{max(ratios):.3g}" if ratios and on_time is not None else ""
    row["blocked us"] = f"{1e6 * median(latest.blocked[variant]):.4g}"
    for name, values in (("peak MiB", "peak"), ("shared MiB", "shared"), ("device MiB", "device")):
        row[name] = _mebibytes(getattr(max(measured, key=lambda one: getattr(one, values).get(variant, 0)), values),
                               variant)
    row["right"] = "yes" if all(one.verified[variant] for one in measured) else "NO"
    return row


def tables(results: List[Late]) -> str:
    """Returns a table for each MPI, with a row for each size, call and variant."""
    parts = []
    for mpi in dict.fromkeys(one.mpi for one in results):
        places: Dict[Tuple[object, ...], List[Late]] = {}
        for one in sorted((one for one in results if one.mpi == mpi), key=lambda one: one.lateness):
            places.setdefault(one.place, []).append(one)
        rows = [
            _row(own, variant) for _, own in sorted(places.items(), key=lambda pair: pair[0][1:5])
            for variant in NAMES if any(one.times.get(variant) for one in own)
        ]
        used = {name for row in rows for name in row if row[name] != ""}
        rows = [{name: value for name, value in row.items() if name in used} for row in rows]
        parts.append(f"{mpi}: microseconds less the lateness, by lateness; blocked: the sender at the greatest\n"
                     f"{tabulate(rows, headers='keys', disable_numparse=True)}")
    return "\n\n".join(parts)


def way_table(results: List[Late]) -> str:
    """Returns which way the messages of each call went with Dunnage, from its reports."""
    counts: Dict[Tuple[str, int, int, str], Counter] = {}
    for one in results:
        counts.setdefault((one.mpi, one.bytes, one.block, one.call), Counter()).update(one.ways)
    rows = []
    for (mpi, bytes_, block, call), found in counts.items():
        ways = ", ".join(f"{100 * count / sum(found.values()):.3g} % {way}" for way, count in found.most_common())
        rows.append({"MPI": mpi, "bytes": size(bytes_), "layout": layout(block), "call": call, "ways": ways})
    return f"Ways with Dunnage, all numbers of messages together\n{tabulate(rows, headers='keys')}"


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON and PNG. Returns whether all bytes were right with
    Dunnage, and nothing with Dunnage was lost.
    """
    results = lates(run)
    figures = summarize_lates(results, experiment)
    print("", tables(results), way_table(results), figure_table(figures), verdicts(figures), sep="\n\n")
    for lost in run.lost:
        print(f"lost: {lost}")
    for skipped in run.skipped:
        print(f"skipped: {', '.join(f'{name} {value}' for name, value in skipped.items())}")
    stem = write_json(experiment, head, figures, output, {
        "results": [vars(one) for one in results], "records": [{"mpi": mpi, **record} for mpi, record in run.records],
        "lost": run.lost, "skipped": run.skipped,
    })
    plot_lates(results, f"{experiment.title}\n{head.get('cpu', '')}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .png")
    unloaded = [mpi for mpi, header in run.headers.items() if not header["dunnage"]]
    for mpi in unloaded:
        print(f"DUNNAGE WAS NOT LOADED: {mpi}")
    broken = [(one, variant) for one in results for variant, right in one.verified.items() if not right]
    for one, variant in broken:
        print(f"WRONG BYTES: {one.mpi}, {one.name}, {variant}")
    return (not unloaded and not any(variant == "dunnage" for _, variant in broken)
            and not any(", dunnage: " in lost for lost in run.lost))
