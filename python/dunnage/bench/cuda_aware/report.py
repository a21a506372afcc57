"""Reports `dunnage bench cuda-aware`: messages in device memory."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, Tuple

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import figure_table, verdicts
from ..output import write_json
from ..results import Record
from ..runner import Run, RunError
from .plot import plot_transfers
from .results import Results, Transfer, summarize_transfers, transfers

Show = Callable[[Transfer], str]


def _microseconds(one: Transfer) -> str:
    return f"{1e6 * one.time():.4g}/{1e6 * one.time('p99'):.4g}"


def _gigabytes(one: Transfer) -> str:
    return f"{one.bandwidth / 1e9:.4g}"


def _table(title: str, series: List[Transfer], rows: Tuple[str, ...], show: Show) -> List[str]:
    """Returns a table with a row for each value of the fields `rows` and a column for each variant
    and memory.
    """
    if not series:
        return []
    names = list(dict.fromkeys(one.name for one in series))
    lines: Dict[Tuple[int, ...], Dict[str, str]] = {}
    for one in series:
        key = tuple(getattr(one, name) for name in rows)
        empty = {**{name: str(value) for name, value in zip(rows, key)}, **dict.fromkeys(names, "-")}
        line = lines.setdefault(key, empty)
        line[one.name] = show(one)
    ordered = [lines[key] for key in sorted(lines)]
    return [f"{title}\n{tabulate(ordered, headers='keys', disable_numparse=True)}"]


def tables(results: Results) -> str:
    """Returns the tables of each MPI: latency and bandwidths, strided messages, and messages with
    new buffers.
    """
    found: List[str] = []
    for mpi in results.mpis:
        usual = {"block": 0, "buffers": "reused"}
        latency = results.select(mpi, pattern="latency", **usual)
        found += _table(f"{mpi}: half a round trip, us, p50/p99", latency, ("bytes",), _microseconds)
        for pattern in ("one way", "both ways"):
            windowed = results.windowed(mpi, pattern=pattern, **usual)
            singly = results.select(mpi, pattern=pattern, window=1, **usual)
            length = max((one.window for one in windowed), default=1)
            found += _table(f"{mpi}: {pattern}, windows of {length}, GB/s", windowed, ("bytes",), _gigabytes)
            found += _table(f"{mpi}: {pattern}, one message at a time, GB/s", singly, ("bytes",), _gigabytes)
        strided = [one for one in results.select(mpi, pattern="latency") if one.block]
        title = f"{mpi}: vectors on both sides, half a round trip, us, p50/p99"
        found += _table(title, strided, ("bytes", "block"), _microseconds)
        strided = [one for one in results.windowed(mpi, pattern="one way") if one.block]
        title = f"{mpi}: vectors on both sides, one way, in windows, GB/s"
        found += _table(title, strided, ("bytes", "block"), _gigabytes)
        fresh = results.select(mpi, buffers="fresh")
        title = f"{mpi}: new buffers each time, half a round trip, us, p50/p99"
        found += _table(title, fresh, ("bytes",), _microseconds)
    return "\n\n".join(found)


def _simulated(run: Run) -> bool:
    return any(header["device"].startswith("Dunnage simulated device") for header in run.headers.values())


def _notes(run: Run) -> List[str]:
    """Returns remarks that a reader of the tables must know."""
    notes = ["the device is simulated: the bytes count, the times mean nothing"] if _simulated(run) else []
    for mpi, header in run.headers.items():
        aware = "" if header["cuda_aware"] else "not "
        peers = "" if header["peer_access"] else "; they do not reach each other's memory"
        notes.append(f"{mpi}: {header['devices']} x {header['device']}, the MPI is {aware}CUDA-aware{peers}")
        if header["devices"] == 1:
            notes.append(f"{mpi}: both ranks use one GPU: copies are within its memory")
        if header["cores"] == 0:
            notes.append(f"{mpi}: the ranks have no core each, so the figures mean little")
    left_out: Dict[str, int] = {}
    for one in run.skipped:
        text = f"not measured: {one['mpi']}, {one['variant']}, {one.get('memory', 'all')}: {one['reason']}"
        left_out[text] = left_out.get(text, 0) + 1
    return notes + [text if count == 1 else f"{text} ({count} series)" for text, count in left_out.items()]


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON, table and PNG.

    Returns whether all bytes were right and nothing was lost.
    """
    results = Results(transfers(run))
    if not results.all:
        raise RunError("; ".join(run.lost) or "nothing was measured")
    figures = summarize_transfers(results, experiment.criteria)
    if _simulated(run):
        for figure in figures:
            figure.threshold = None
    wrong = [f"WRONG BYTES: {one.mpi}, {one.where}" for one in results.all if not one.verified]
    lost = [f"LOST: {one}" for one in run.lost]
    parts = ["\n".join(_notes(run)), tables(results), figure_table(figures), verdicts(figures)]
    text = "\n\n".join(part for part in [*parts, "\n".join(wrong), "\n".join(lost)] if part)
    print("", text, sep="\n")
    stem = write_json(experiment, {**head, "skipped": run.skipped, "lost": run.lost}, figures, output, {
        "variants": experiment.variants, "results": [one.to_json() for one in results.all],
    })
    stem.with_suffix(".txt").write_text(f"{experiment.title}\n{head.get('date', '')}\n\n{text}\n")
    devices = ", ".join(dict.fromkeys(header["device"] for header in run.headers.values()))
    drawn = plot_transfers(results, f"{experiment.title}\n{devices}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .txt" + (", .png" if drawn else ""))
    return not wrong and not lost
