"""Runs under every MPI what broadcasts are chosen by.

These are the MPI's own messages (bench_tune --network), and broadcasts with and without Dunnage
(bench_bcast).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Callable, List, Optional, Sequence

from ..bench.bcast.run import cores
from ..bench.home import Home
from ..bench.results import Record
from ..bench.runner import RunError
from .bcast import Broadcasts, evaluate
from .measure import COMMON, STAGED, Lab, WrongBytes, each_mpi, reported
from .options import MOST_RANKS

PROGRAM = "bench_bcast"
SIZES = [1 << power for power in range(10, 25)]
SETTINGS = {**COMMON, "DUNNAGE_BCAST": "window"}
ROUNDS = 5


def rank_counts(asked: Optional[int], here: int) -> List[int]:
    """Returns the numbers of ranks to measure with: two, half of the most, and the most.

    One of `here` cores is left to everything else.
    """
    most = asked or max(2, min(here - 1, MOST_RANKS))
    return sorted({2, max(2, most // 2), most})


def _timed(mpi: str, records: Sequence[Record]) -> List[Record]:
    """Returns the times of single broadcasts in the form of tune's other records.

    Raises WrongBytes if a broadcast gave wrong bytes.
    """
    found = []
    for one in records:
        if one["record"] != "result":
            continue
        for name, series in one["series"].items():
            if not series["verified"]:
                whose = "Dunnage" if name == "dunnage" else "the MPI itself"
                raise WrongBytes(f"{whose} gave wrong bytes with {mpi}, a broadcast of {one['bytes']} bytes")
        if all("synchronised" in series for series in one["series"].values()):
            series = {name: series["synchronised"] for name, series in one["series"].items()}
            found.append({"kind": "bcast", "ranks": one["ranks"], "bytes": one["bytes"], "series": series})
    return found


def _broadcasts(lab: Lab, mpi: str, ranks: int) -> List[Record]:
    """Returns the records of one launch with `ranks` ranks.

    If the user gave a launcher, that launcher decides how many ranks it starts.
    """
    def arguments(seconds: float) -> List[str]:
        return ["--ways", "plain|dunnage", "--bytes", ",".join(map(str, SIZES)),
                "--seconds", f"{seconds / len(SIZES):.4f}", "--rounds", str(ROUNDS)]

    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        settings = {**SETTINGS, "DUNNAGE_REPORT": str(report)}
        records = lab.start(PROGRAM, mpi, f"broadcasts of {ranks} ranks", ranks, settings, arguments)
        found = _timed(mpi, records)
        if reported(report, "MPI_Bcast", "accelerated") == 0:
            raise RunError(f"no broadcast of {mpi} was Dunnage's")
        return found


def measure(lab: Lab, mpi: str, counts: Sequence[int]) -> Broadcasts:
    """Measures one MPI in all its launches.

    If the two ranks are on two hosts, only the first launch is made.
    """
    header, messages = lab.run(mpi, "messages", STAGED, ["--network"])
    if header["peers"] != "same_host":
        lab.leave_out(len(counts))
        return evaluate(header, messages, [], cores())
    timed: List[Record] = []
    for ranks in counts:
        timed += _broadcasts(lab, mpi, ranks)
    return evaluate(header, messages, timed, cores())


def measure_all(home: Home, mpis: List[str], launch: Sequence[str], seconds: float, ranks: Optional[int],
                say: Callable[[str], None]) -> List[Broadcasts]:
    """Measures every MPI in turn. If an MPI does not run, `say` is called with the reason, and the
    MPI is left out.
    """
    counts = [2] if launch else rank_counts(ranks, cores())
    return each_mpi(home, mpis, launch, seconds, say, 1 + len(counts), lambda lab, mpi: measure(lab, mpi, counts))
