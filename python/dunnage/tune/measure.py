"""Runs bench_tune under every MPI within a given time."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple, TypeVar

from ..bench.home import Home
from ..bench.results import Record
from ..bench.runner import RunError, launch_program
from .evaluate import Tuned, evaluate
from .known import join, places
from .progress import Progress

PROGRAM = "bench_tune"
Found = TypeVar("Found")
# Seconds of measuring in one launch; the program makes three rounds even if it is given less.
SHORTEST = 0.2
WORTH = 1.0  # a launch that may be left out is made if it has this many seconds to measure
PATIENCE = 60.0  # seconds that a launch may take in addition to the seconds that it was given
# Times round all MPIs. Launches may differ, so each MPI has several of each kind if there is time.
# Further ones are for MPIs of which more than ENOUGH of the times is not known yet.
PASSES, MOST_PASSES, ENOUGH = 4, 12, 0.02

# In all launches every eligible call goes through Dunnage: by staging memory in some and by ticket
# in the others. No launch reads a model file, because that file may be damaged.
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

    def took(self, measured: float, seconds: float) -> None:
        """Reports how long the last launch took, and how much of that it measured."""
        self.launches -= 1
        self.overhead = 0.5 * (self.overhead + max(seconds - measured, 0.0))

    def plan(self, launches: int, each_pass: int, passes: int) -> None:
        """Plans so many launches and then as many passes as are worth while, at most `passes`."""
        more = (count for count in range(passes, 0, -1) if self.another(launches + count * each_pass))
        self.launches = launches + each_pass * next(more, 0)

    def another(self, launches: int) -> bool:
        """Returns whether so many launches more are worth while."""
        return self.end - time.monotonic() > launches * (self.overhead + WORTH)


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
        start, measured = time.monotonic(), [given]

        def each(record: Record) -> None:
            if record["record"] == "progress":
                known = "known" in record  # a program that says so may end early
                measured[0] = given * record["share"] if known else given
                self.progress.show(f"{record['known']} of {record['cases']} times known" if known else "")

        try:
            return launch_program(self.home, program, mpi, arguments(given), ranks, settings=settings,
                                  launch=self.launch, each=each, limit=given + PATIENCE)
        finally:
            self.budget.took(measured[0], time.monotonic() - start)

    def leave_out(self, launches: int) -> None:
        """Tells that so many of the expected launches are left out."""
        self.budget.launches -= launches

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


@dataclass
class Launches:
    """All launches of one MPI."""

    mpi: str
    header: Record = field(default_factory=dict)
    staged: List[List[Record]] = field(default_factory=list)
    tickets: List[List[Record]] = field(default_factory=list)
    taken: int = 0  # messages that went by ticket
    failed: bool = False  # in a pass after the first

    @property
    def kinds(self) -> int:
        """The number of launches of a pass: there are no tickets between hosts."""
        return 1 if self.header and self.header["peers"] != "same_host" else 2

    def open(self) -> bool:
        """Returns whether too much is not known yet."""
        margin = self.header["margin"]
        known = [one["known"] for launches in (self.staged, self.tickets) for one in join(launches, margin)]
        return known.count(False) > ENOUGH * len(known)

    def _known(self, launches: List[List[Record]]) -> List[str]:
        found = places(join(launches, self.header["margin"])) if launches else ""
        return ["--known", found] if found else []

    def measure(self, lab: Lab) -> None:
        """Makes one pass: a launch of each kind.

        Cases that are known get few rounds, which show whether the launches are alike.
        """
        known = self._known(self.staged)
        self.header, records = lab.run(self.mpi, "packing and messages", STAGED, known)
        self.staged.append(records)
        if self.kinds == 1:
            lab.leave_out(1)
            return
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            settings = {**TICKETS, "DUNNAGE_REPORT": str(report)}
            arguments = ["--tickets", "--least", "16384", *self._known(self.tickets)]
            self.tickets.append(lab.run(self.mpi, "tickets", settings, arguments)[1])
            self.taken += reported(report, "MPI_Send", "by ticket")


def measure_all(home: Home, mpis: List[str], launch: Sequence[str], seconds: float,
                say: Callable[[str], None]) -> List[Tuned]:
    """Measures packing and messages with every MPI.

    The MPIs take turns, so that what disturbs the machine for a while does not hit one of them
    alone. If an MPI does not run, `say` is called with the reason, and the MPI is left out.
    """
    left, wrong = [Launches(mpi) for mpi in mpis], []
    with Progress(seconds) as progress:
        lab = Lab(home, launch, Budget(time.monotonic() + seconds, 0), progress)
        for turn in range(MOST_PASSES):
            waiting = [one for one in left if not one.failed and (turn < PASSES or one.open())]
            for place, one in enumerate(waiting):
                lab.budget.plan(sum(other.kinds for other in waiting[place:]), sum(other.kinds for other in left),
                                PASSES - turn - 1)
                if turn and not lab.budget.another(one.kinds):
                    break
                try:
                    one.measure(lab)
                except WrongBytes as error:
                    wrong.append(error)
                    left = [other for other in left if other is not one]
                except RunError as error:
                    say(f"{one.mpi}: {error}")
                    one.failed = turn > 0  # what was measured before is used
                    if not turn:
                        left = [other for other in left if other is not one]
    if wrong:
        raise wrong[0]
    return [evaluate(one.header, one.staged, one.tickets, one.taken) for one in left]


def each_mpi(home: Home, mpis: List[str], launch: Sequence[str], seconds: float, say: Callable[[str], None],
             launches: int, measure_one: Callable[[Lab, str], Found]) -> List[Found]:
    """Measures every MPI in turn, with `launches` launches each.

    If an MPI does not run, `say` is called with the reason, and the MPI is left out.
    """
    found, wrong = [], []
    with Progress(seconds) as progress:
        lab = Lab(home, launch, Budget(time.monotonic() + seconds, launches * len(mpis)), progress)
        for place, mpi in enumerate(mpis):
            try:
                found.append(measure_one(lab, mpi))
            except WrongBytes as error:
                wrong.append(error)
            except RunError as error:
                say(f"{mpi}: {error}")
            lab.budget.launches = launches * (len(mpis) - place - 1)
    if wrong:
        raise wrong[0]
    return found
