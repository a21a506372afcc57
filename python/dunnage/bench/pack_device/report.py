"""Reports `dunnage bench pack --memory device`: MPI_Pack and MPI_Unpack on GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Optional

from tabulate import tabulate

from ..experiment import Experiment
from ..figure import figure_table, verdicts
from ..output import write_json
from ..results import Record
from ..runner import Run, RunError
from .plot import device_plot
from .results import DeviceResult, device_results
from .summary import summarize_device


def _microseconds(seconds: Optional[float]) -> str:
    return "-" if seconds is None else f"{1e6 * seconds:.4g}"


def _series(result: DeviceResult, name: str) -> str:
    return _microseconds(result.time(name)) if result.has(name) else "-"


def _row(result: DeviceResult) -> Dict[str, str]:
    dunnage = result.series[result.slowest_name("dunnage")] if result.descriptions("dunnage") else {}
    plain = result.slowest("plain") if result.descriptions("plain") else None
    return {
        "case": result.name,
        "MPI": result.mpi,
        "payload": str(result.payload),
        "plain us": _microseconds(plain),
        "Dunnage us": _microseconds(dunnage.get("median")),
        "trimean": _microseconds(dunnage.get("trimean")),
        "p10": _microseconds(dunnage.get("p10")),
        "p90": _microseconds(dunnage.get("p90")),
        "description": result.slowest_name("dunnage").split(" ", 1)[1] if dunnage else "-",
        "document us": _series(result, "document"),
        "memcpy us": _series(result, "memcpy"),
        "launch us": _microseconds(result.launch),
        "probe us": _microseconds(result.probe),
        "limit us": _microseconds(result.limit),
        "of limit": "-" if result.share_of_limit is None else f"{100 * result.share_of_limit:.0f} %",
        "right": "yes" if not result.wrong else "NO: " + ", ".join(result.wrong),
    }


def device_table(results: List[DeviceResult]) -> str:
    """Returns one table for each mode and operation."""
    groups: Dict[str, List[Dict[str, str]]] = {}
    for result in results:
        groups.setdefault(f"{result.operation}, {result.mode}", []).append(_row(result))
    tables = (f"{title}\n{tabulate(rows, headers='keys', disable_numparse=True)}" for title, rows in groups.items())
    return "\n\n".join(tables)


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON, table and PNG.

    Returns whether everything was measured and all bytes were right.
    """
    results = device_results(run)
    if not results:
        raise RunError("; ".join(run.lost) or "no case was measured; see --pattern")
    figures = summarize_device(results, experiment.criteria)
    wrong = [f"WRONG BYTES: {r.operation} of '{r.name}' with {r.mpi}: {', '.join(r.wrong)}" for r in results if r.wrong]
    skipped = [f"skipped: '{one['pattern']}', start {one['start']}: {one['reason']}" for one in run.skipped]
    missing = [
        f"{mpi}: {what} is not measured: {reason}"
        for mpi, header in run.headers.items() for what, reason in header["not measured"].items()
    ]
    lost = [f"LOST: {one}" for one in run.lost]
    parts = ["\n".join(skipped), "\n".join(missing), device_table(results)]
    parts += [figure_table(figures), verdicts(figures)] if figures else []
    parts += ["\n".join(dict.fromkeys(wrong)), "\n".join(lost)]
    text = "\n\n".join(part for part in parts if part)
    print("", text, sep="\n")
    stem = write_json(experiment, {**head, "skipped": run.skipped, "lost": run.lost}, figures, output, {
        "results": [result.to_json() for result in results],
    })
    lines = [f"{name}: {head[name]}" for name in ("date", "command", "git_commit", "cpu") if name in head]
    for mpi, header in run.headers.items():
        lines.append(f"{mpi}: {header['device']}, {header['library_version'].splitlines()[0]}")
    stem.with_suffix(".txt").write_text("\n".join([experiment.title, *lines, "", text]) + "\n")
    devices = ", ".join(dict.fromkeys(header["device"] for header in run.headers.values()))
    drawn = device_plot(results, f"{experiment.title}\n{devices}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .txt" + (", .png" if drawn else ""))
    return not wrong and not lost
