"""Prints an experiment's results and writes them to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

from .experiment import Experiment
from .plot import plot
from .results import Result
from .summary import slower_patterns, summarize_results, wrong
from .table import results_table, slower_table, summary_table, write_csv


def report(experiment: Experiment, results: List[Result], head: Dict[str, Any], output: Path) -> bool:
    """Prints the tables, writes JSON, CSV and PNG; returns whether Dunnage's bytes were right everywhere."""
    figures = summarize_results(results, experiment.criteria)
    slower = slower_patterns(results)
    print(results_table(results), summary_table(figures, results), slower_table(slower), sep="\n\n")
    for result in wrong(results, "plain"):
        print(f"Plain {result.mpi} gives wrong bytes: {result.operation} of '{result.pattern}'")
    broken = wrong(results, "dunnage")
    for result in broken:
        print(f"DUNNAGE GIVES WRONG BYTES: {result.operation} of '{result.pattern}' with {result.mpi}")

    output.mkdir(parents=True, exist_ok=True)
    document = {
        "experiment": experiment.name,
        **head,
        "summary": [figure.to_json() for figure in figures],
        "slower": [
            {"mpi": s.result.mpi, "mode": s.result.mode, "operation": s.result.operation,
             "pattern": s.result.pattern, "ratio": s.ratio, "within_noise": s.within_noise}
            for s in slower
        ],
        "results": [{**vars(result), "limit": result.limit} for result in results],
    }
    stem = output / experiment.name
    stem.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    write_csv(stem.with_suffix(".csv"), results)
    plot(results, f"{experiment.title}\n{head.get('cpu', '')}", stem.with_suffix(".png"))
    print(f"\nWritten: {stem}.json, .csv, .png")
    return not broken


def load_results(path: Path) -> List[Result]:
    """The results in a JSON file that `report` wrote."""
    document = json.loads(path.read_text())
    return [Result(**{k: v for k, v in one.items() if k != "limit"}) for one in document["results"]]
