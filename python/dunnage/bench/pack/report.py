"""Reports `dunnage bench pack --memory host`: prints the results and writes them to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import List

from ..experiment import Experiment
from ..output import say_right, write_json
from ..results import Record, wrong
from ..runner import Run, RunError
from .plot import plot
from .results import Result, merge
from .summary import counted, slower_patterns, summarize_results
from .table import results_table, slower_table, summary_table, write_csv


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON, CSV and PNG.

    Returns whether Dunnage's bytes were right everywhere.
    """
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


def load_results(path: Path) -> List[Result]:
    """Returns the results of a JSON file that report() wrote."""
    document = json.loads(path.read_text())
    return [Result(**{k: v for k, v in one.items() if k != "limit"}) for one in document["results"]]
