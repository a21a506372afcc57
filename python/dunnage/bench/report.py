"""Prints the results of the pack benchmark and writes them to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

from .experiment import Experiment
from .figure import Figure
from .plot import plot
from .results import Measured, Record, Result, merge
from .runner import Run, RunError
from .summary import counted, slower_patterns, summarize_results, wrong
from .table import results_table, slower_table, summary_table, write_csv


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, writes JSON, CSV and PNG; returns whether Dunnage's bytes were right everywhere."""
    for record in run.skipped:
        which = f"{record['mode']} '{record['pattern']}'"
        print(f"skipped: {which}, buffer {record['buffer']} bytes > {record['max_bytes']}")
    print()
    results = merge(run.records)
    if not results:
        raise RunError("no pattern was measured; see --pattern and --max-bytes")
    figures = summarize_results(results, experiment.criteria)
    slower = slower_patterns(results)
    enough = {result.key for result in counted(results, experiment.criteria)}
    left_out = list(dict.fromkeys(f"{r.pattern} ({r.mode})" for r in results if r.key not in enough))
    print(results_table(results), summary_table(figures, results, left_out), slower_table(slower), sep="\n\n")
    for result in wrong(results, "plain"):
        print(f"Plain {result.mpi} gives wrong bytes: {result.operation} of '{result.pattern}'")

    stem = write_json(experiment, {**head, "skipped": run.skipped}, figures, output, {
        "not counted": left_out,
        "slower": [
            {"mpi": s.result.mpi, "mode": s.result.mode, "operation": s.result.operation,
             "pattern": s.result.pattern, "ratio": s.ratio, "within_noise": s.within_noise}
            for s in slower
        ],
        "results": [{**vars(result), "limit": result.limit} for result in results],
    })
    write_csv(stem.with_suffix(".csv"), results)
    plot(results, f"{experiment.title}\n{head.get('cpu', '')}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .csv, .png")
    return say_right(results)


def write_json(
    experiment: Experiment, head: Record, figures: List[Figure], output: Path, parts: Dict[str, Any]
) -> Path:
    """Writes the results file of any experiment; returns its path without the suffix."""
    output.mkdir(parents=True, exist_ok=True)
    document = {"experiment": experiment.name, **head, "summary": [figure.to_json() for figure in figures], **parts}
    stem = output / experiment.name
    stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    return stem


def say_right(results: List[Measured]) -> bool:
    """Names the results in which Dunnage gave wrong bytes; returns whether there are none."""
    broken = wrong(results, "dunnage")
    for result in broken:
        print(f"DUNNAGE GIVES WRONG BYTES: {getattr(result, 'operation', '')} '{result.pattern}' with {result.mpi}")
    return not broken


def load_results(path: Path) -> List[Result]:
    """The results in a JSON file that `report` wrote."""
    document = json.loads(path.read_text())
    return [Result(**{k: v for k, v in one.items() if k != "limit"}) for one in document["results"]]
