"""Runs bench_tune under every MPI within a given time."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple, TypeVar

from ..bench.home import Home
from ..bench.results import Record
from ..bench.runner import RunError, launch_program
from .evaluate import Tuned, evaluate
from .progress import Progress

PROGRAM = "bench_tune"
Found = TypeVar("Found")
# Seconds of measuring in one launch; the program makes three rounds even if it is given less.
SHORTEST = 0.2
PATIENCE = 60.0  # seconds that a launch may take in addition to the seconds that it was given

# In both launches every eligible call goes through Dunnage: by staging memory in the one and by
# ticket in the other. No launch reads a model file, because that file may be damaged.
COMMON = {"DUNNAGE": "on", "DUNNAGE_FORCE": "always", "DUNNAGE_MODEL": "none"}
STAGED = {**COMMON, "DUNNAGE_TICKETS": "off", "DUNNAGE_REPORT": "0"}
TICKETS = {**COMMON, "DUNNAGE_TICKETS": "always"}


@dataclass
class Budget:
    """Shares the time that is left among the remaining launches.

    It learns from past launches what a launch takes besides measuring.
    """

    end: float
    launches: int
    overhead: float = 1.5

    def next(self) -> float:
        """Returns the seconds of measuring for the next launch."""
        left = self.end - time.monotonic() - self.launches * self.overhead
        return max(left / max(self.launches, 1), SHORTEST)

    def took(self, given: float, seconds: float) -> None:
        """Reports how long the last launch took, and how long it was given."""
        self.launches -= 1
        self.overhead = 0.5 * (self.overhead + max(seconds - given, 0.0))


@dataclass
class Lab:
    """What all launches have in common."""

    home: Home
    launch: Sequence[str]
    budget: Budget
    progress: Progress

    def start(self, program: str, mpi: str, what: str, ranks: int, settings: Dict[str, str],
              arguments: Callable[[float], List[str]]) -> List[Record]:
        """Makes one launch and returns the records that it wrote. `arguments` gets the seconds that
        it is given.
        """
        given = self.budget.next()
        self.progress.begin(f"{mpi}: {what}")
        start = time.monotonic()

        def each(record: Record) -> None:
            if record["record"] == "progress":
                self.progress.share(record["share"])

        try:
            return launch_program(self.home, program, mpi, arguments(given), ranks, settings=settings,
                                  launch=self.launch, each=each, limit=given + PATIENCE)
        finally:
            self.budget.took(given, time.monotonic() - start)
            self.progress.end()

    def leave_out(self, launches: int) -> None:
        """Tells that so many of the expected launches are left out."""
        for _ in range(launches):
            self.budget.launches -= 1
            self.progress.end()

    def run(self, mpi: str, what: str, settings: Dict[str, str],
            arguments: Sequence[str]) -> Tuple[Record, List[Record]]:
        """Makes one launch of bench_tune and returns the header and the results.

        Raises WrongBytes if Dunnage gave wrong bytes.
        """
        def timed(seconds: float) -> List[str]:
            return ["--seconds", f"{seconds:.2f}", *arguments]

        records = self.start(PROGRAM, mpi, what, 2, settings, timed)
        header, end = records[0], records[-1]
        if header["record"] != "header" or end["record"] != "end":
            raise RunError(f"{PROGRAM} of {mpi} did not finish")
        if not end["right"]:
            raise WrongBytes(f"Dunnage gave wrong bytes with {mpi}, {what}")
        if not header["dunnage"]:
            raise RunError(f"{self.home.library} was not loaded into the ranks of {mpi}")
        return header, [record for record in records if record["record"] == "result"]


class WrongBytes(RunError):
    """Dunnage or an MPI gave wrong bytes."""


def reported(report: Path, call: str, what: str) -> int:
    """Returns how many calls of that kind the report has."""
    try:
        return int(json.loads(report.read_text())["calls"][call][what])
    except (OSError, ValueError, KeyError):
        return 0


def measure(lab: Lab, mpi: str) -> Tuned:
    """Makes both launches of one MPI.

    If the ranks are on two hosts, only the first is made, because there are no tickets between
    hosts.
    """
    header, records = lab.run(mpi, "packing and messages", STAGED, [])
    if header["peers"] != "same_host":
        lab.leave_out(1)
        return evaluate(header, records, [], 0)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        settings = {**TICKETS, "DUNNAGE_REPORT": str(report)}
        tickets = lab.run(mpi, "tickets", settings, ["--tickets", "--least", "16384"])[1]
        return evaluate(header, records, tickets, reported(report, "MPI_Send", "by ticket"))


def measure_all(home: Home, mpis: List[str], launch: Sequence[str], seconds: float,
                say: Callable[[str], None]) -> List[Tuned]:
    """Measures packing and messages with every MPI."""
    return each_mpi(home, mpis, launch, seconds, say, 2, measure)


def each_mpi(home: Home, mpis: List[str], launch: Sequence[str], seconds: float, say: Callable[[str], None],
             launches: int, measure_one: Callable[[Lab, str], Found]) -> List[Found]:
    """Measures every MPI in turn, with `launches` launches each.

    If an MPI does not run, `say` is called with the reason, and the MPI is left out.
    """
    found, wrong = [], []
    with Progress(launches * len(mpis)) as progress:
        lab = Lab(home, launch, Budget(time.monotonic() + seconds, launches * len(mpis)), progress)
        for place, mpi in enumerate(mpis):
            try:
                found.append(measure_one(lab, mpi))
            except WrongBytes as error:
                wrong.append(error)
            except RunError as error:
                say(f"{mpi}: {error}")
            lab.budget.launches = progress.steps - launches * (place + 1)
            progress.done = launches * (place + 1)
    if wrong:
        raise wrong[0]
    return found
