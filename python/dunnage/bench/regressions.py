"""`dunnage bench regressions`: looks for calls that are slower with Dunnage than without.

Launches of one program differ more than the samples of one launch. So the ratio of a launch is one
value, and the interval of several launches decides. A point whose interval lies below the threshold
is launched again: among a thousand points some are slow by chance. Only the launches of that second
time decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Dict, Iterable, List, Sequence, Tuple

from tabulate import tabulate

from .experiment import Experiment
from .figure import Figure, figure_table
from .home import Home
from .output import write_json
from .results import Record
from .runner import Run, RunError, Say, collect, launch_program, turns
from .statistics import geometric_mean, median_interval, summarize

FIRST, AGAIN = "first", "again"
CACHES = ("warm", "cold")


@dataclass
class Point:
    """One call with one layout, one size and one state of the caches, with one MPI."""

    mpi: str
    name: str
    call: str
    bytes: int
    ratios: Dict[str, List[float]] = field(default_factory=lambda: {FIRST: [], AGAIN: []})  # of each launch
    plain: List[float] = field(default_factory=list)  # seconds, of all launches
    dunnage: List[float] = field(default_factory=list)
    verified: bool = True

    @property
    def deciding(self) -> List[float]:
        """Returns the ratios that decide: those of the second time, if there was one."""
        return self.ratios[AGAIN] or self.ratios[FIRST]

    @property
    def ratio(self) -> float:
        """Returns the median of plain over Dunnage."""
        return median(self.deciding)

    @property
    def added(self) -> float:
        """Returns the seconds that Dunnage adds to a call."""
        return median(self.dunnage) - median(self.plain)

    @property
    def interval(self) -> Tuple[float, float]:
        """Returns the interval that has the median of all possible launches."""
        return median_interval(self.deciding)


def points(run: Run) -> List[Point]:
    """Joins the launches of each point."""
    found: Dict[Tuple[str, str], Point] = {}
    for mpi, record in run.records:
        new = Point(mpi, record["pattern"], record["call"], record["bytes"])
        point = found.setdefault((mpi, record["pattern"]), new)
        plain, dunnage = (record["series"][name]["samples"] for name in ("plain", "dunnage"))
        # Samples are pairs, and what disturbs the machine disturbs both.
        point.ratios[record["time"]].append(median(p / d for p, d in zip(plain, dunnage)))
        point.plain += plain
        point.dunnage += dunnage
        point.verified = point.verified and record["series"]["dunnage"]["verified"]
    return list(found.values())


def slower(measured: Iterable[Point], asked: Dict[str, float]) -> List[Point]:
    """Returns the points whose interval lies below the threshold, the worst first.

    No preloaded library can take part in a call for nothing. So calls that take so few nanoseconds
    more are left out: they are the shortest ones.
    """
    return sorted((point for point in measured if point.interval[1] < asked["least"] and
                   1e9 * point.added > asked["call_ns"]), key=lambda point: point.ratio)


def run_regressions(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs the sweep, and then the points that seem to be slower once more."""
    del core  # the launcher places the ranks
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: there is nothing to compare plain MPI with")
    run = Run()
    for turn, mpi in turns(mpis, experiment.rounds):
        # Launches of their own: what Dunnage learns with warm caches is not right for cold ones.
        for cache in CACHES:
            say(f"{mpi}, {cache} caches, launch {turn + 1} of {experiment.rounds}")
            _launch(home, experiment, mpi, ["--caches", cache], FIRST, run)
    suspects = slower(points(run), experiment.criteria["slower"])
    for turn, mpi in turns(mpis, experiment.rounds):
        for cache in CACHES:
            names = [point.name for point in suspects if point.mpi == mpi and point.name.endswith(cache)]
            if names:
                say(f"{mpi}, {len(names)} points again, {cache} caches, launch {turn + 1} of {experiment.rounds}")
                _launch(home, experiment, mpi, ["--caches", cache, "--points", *names], AGAIN, run)
    return run


def _launch(home: Home, experiment: Experiment, mpi: str, arguments: Sequence[str], time: str, run: Run) -> None:
    records = launch_program(home, experiment.program, mpi, [*experiment.arguments, *arguments], experiment.ranks,
                             settings=experiment.settings)
    collect(run, mpi, [{**record, "time": time} for record in records])


def _figures(measured: List[Point], asked: Dict[str, float]) -> List[Figure]:
    figures = []
    for mpi in dict.fromkeys(point.mpi for point in measured):
        own = [point for point in measured if point.mpi == mpi]
        figures.append(Figure(mpi, "points", len(own)))
        figures.append(Figure(mpi, f"points surely below {asked['least']:g}", len(slower(own, asked)), 0, at_most=True))
        for call in dict.fromkeys(point.call for point in own):
            ratios = [point.ratio for point in own if point.call == call]
            figures.append(Figure(mpi, f"{call}: geometric mean, plain/Dunnage", geometric_mean(ratios)))
    return figures


def row(point: Point) -> Dict[str, str]:
    """Returns a point as the row of a table."""
    low, high = point.interval
    return {
        "call": point.name,
        "MPI": point.mpi,
        "plain us": f"{1e6 * median(point.plain):.4g}",
        "Dunnage us": f"{1e6 * median(point.dunnage):.4g}",
        "plain/dunnage": f"{point.ratio:.3f}",
        "interval": f"{low:.3f} to {high:.3f}",
        "launches": str(len(point.deciding)),
    }


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints what is slower, and writes JSON. Returns whether all bytes were right and no point is
    surely slower.
    """
    measured = points(run)
    asked = experiment.criteria["slower"]
    least = asked["least"]
    figures = _figures(measured, asked)
    found = slower(measured, asked)
    surely = {id(point) for point in found}
    perhaps = sorted((p for p in measured if p.ratio < least and id(p) not in surely), key=lambda p: p.ratio)
    print("", figure_table(figures), sep="\n")
    for title, rows in ((f"Slower: the interval lies below {least:g}", found),
                        (f"In doubt: the median is below {least:g}, the interval is not", perhaps)):
        print(f"\n{title}: {len(rows) or 'none'}")
        if rows:
            print(tabulate([row(point) for point in rows], headers="keys", disable_numparse=True))
    wrong = [point for point in measured if not point.verified]
    for point in wrong:
        print(f"DUNNAGE GIVES WRONG BYTES: '{point.name}' with {point.mpi}")
    stem = write_json(experiment, head, figures, output, {"points": [
        {"mpi": p.mpi, "point": p.name, "call": p.call, "bytes": p.bytes, "verified": p.verified, "ratios": p.ratios,
         "ratio": p.ratio, "interval": p.interval, "plain": summarize(p.plain), "dunnage": summarize(p.dunnage)}
        for p in measured
    ]})
    print(f"\nWritten: {stem}.json")
    return not wrong and not found
