"""Runs bench_tune under every MPI within a given time."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

from ..bench.home import Home
from ..bench.results import Record
from ..bench.runner import RunError, launch_program
from .evaluate import Tuned, evaluate
from .progress import Progress

PROGRAM = "bench_tune"
SHORTEST = 0.2  # seconds of measuring in one launch; the program goes round three times whatever it is given
PATIENCE = 60.0  # seconds that a launch may take beyond what it was given

# All that is eligible goes through Dunnage in both, by staging memory in the one and by ticket in the other. No launch asks a
# model file: there may be a damaged one.
COMMON = {"DUNNAGE": "on", "DUNNAGE_FORCE": "always", "DUNNAGE_MODEL": "none", "DUNNAGE_STREAMS": "off"}
STAGED = {**COMMON, "DUNNAGE_TICKETS": "off", "DUNNAGE_REPORT": "0"}
TICKETS = {**COMMON, "DUNNAGE_TICKETS": "always"}


@dataclass
class Budget:
    """Shares what is left of the time among the launches to come. What a launch takes beyond measuring is learnt on the way."""

    end: float
    launches: int
    overhead: float = 1.5

    def next(self) -> float:
        """Seconds of measuring for the next launch."""
        left = self.end - time.monotonic() - self.launches * self.overhead
        return max(left / max(self.launches, 1), SHORTEST)

    def took(self, given: float, seconds: float) -> None:
        """Of the launch before."""
        self.launches -= 1
        self.overhead = 0.5 * (self.overhead + max(seconds - given, 0.0))


@dataclass
class Lab:
    """What all launches have in common."""

    home: Home
    launch: Sequence[str]
    budget: Budget
    progress: Progress

    def run(self, mpi: str, what: str, settings: Dict[str, str], arguments: Sequence[str]) -> Tuple[Record, List[Record]]:
        """One launch: the header, and the results."""
        given = self.budget.next()
        self.progress.begin(f"{mpi}: {what}")
        start = time.monotonic()

        def each(record: Record) -> None:
            if record["record"] == "progress":
                self.progress.share(record["share"])

        try:
            records = launch_program(self.home, PROGRAM, mpi, ["--seconds", f"{given:.2f}", *arguments], 2, settings=settings,
                                     launch=self.launch, each=each, limit=given + PATIENCE)
        finally:
            self.budget.took(given, time.monotonic() - start)
            self.progress.end()
        header, end = records[0], records[-1]
        if header["record"] != "header" or end["record"] != "end":
            raise RunError(f"{PROGRAM} of {mpi} did not finish")
        if not end["right"]:
            raise WrongBytes(f"Dunnage gave wrong bytes with {mpi}, {what}")
        if not header["dunnage"]:
            raise RunError(f"{self.home.library} was not loaded into the ranks of {mpi}")
        return header, [record for record in records if record["record"] == "result"]


class WrongBytes(RunError):
    """What must never be."""


def _tickets_taken(report: Path) -> int:
    try:
        return int(json.loads(report.read_text())["calls"]["MPI_Send"]["by ticket"])
    except (OSError, ValueError, KeyError):
        return 0


def measure(lab: Lab, mpi: str) -> Tuned:
    """Both launches of one MPI; only the first where the ranks are on two hosts, between which there are no tickets."""
    header, records = lab.run(mpi, "packing and messages", STAGED, [])
    if header["peers"] != "same_host":
        lab.budget.launches -= 1
        lab.progress.end()
        return evaluate(header, records, [], 0)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        tickets = lab.run(mpi, "tickets", {**TICKETS, "DUNNAGE_REPORT": str(report)}, ["--tickets", "--least", "16384"])[1]
        return evaluate(header, records, tickets, _tickets_taken(report))


def measure_all(home: Home, mpis: List[str], launch: Sequence[str], seconds: float, say: Callable[[str], None]) -> List[Tuned]:
    """Every MPI in turn. One that does not run is said and left out."""
    found, wrong = [], []
    with Progress(2 * len(mpis)) as progress:
        lab = Lab(home, launch, Budget(time.monotonic() + seconds, 2 * len(mpis)), progress)
        for place, mpi in enumerate(mpis):
            try:
                found.append(measure(lab, mpi))
            except WrongBytes as error:
                wrong.append(error)
            except RunError as error:
                say(f"{mpi}: {error}")
            lab.budget.launches = progress.steps - 2 * (place + 1)
            progress.done = 2 * (place + 1)
    if wrong:
        raise wrong[0]
    return found
