"""`dunnage bench triggered`: messages that streams, graphs and kernels start."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Dict, List, Tuple

from tabulate import tabulate

from . import style
from .bcast.run import cores
from .experiment import Experiment
from .figure import Figure, figure_table, verdicts
from .home import Home
from .output import write_json
from .results import Record
from .runner import NoDevice, Run, RunError, Say, launch_program, turns
from .style import pyplot

SHORT = "8 B"
BARE = ("bare memory operations", "bare kernels")


@dataclass
class Trip:
    """Half a round trip by one way, or how much of a transfer a kernel hides.

    `values` has the median of each launch: microseconds, or per cent.
    """

    mpi: str
    ranks: int
    trigger: str
    shape: str
    way: str
    values: List[float] = field(default_factory=list)
    verified: bool = True

    @property
    def value(self) -> float:
        """Returns the median of the launches."""
        return median(self.values)


def run_triggered(home: Home, experiment: Experiment, mpis: List[str], core: int, say: Say) -> Run:
    """Runs all launches; the settings of DUNNAGE_TRIGGER take turns.

    If a launch dies or does not end, its results are lost, and the other launches go on.
    """
    del core  # the launcher places the ranks
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: without it no stream starts a message")
    run = Run()
    for name, sweep in experiment.sweeps.items():
        for ranks in sweep["ranks"]:
            if ranks > cores():
                run.skipped.append({"sweep": name, "ranks": ranks, "reason": f"{cores()} cores"})
                continue
            for turn, mpi in turns(mpis, experiment.rounds):
                for trigger in experiment.modes:
                    say(f"{mpi}, {ranks} ranks, {trigger}, round {turn + 1}")
                    _launch(home, experiment, mpi, ranks, trigger, run)
    return run


def _nvshmem(home: Home) -> List[str]:
    """Returns the option for NVSHMEM's messages, if the build found NVSHMEM."""
    library = home.library.parent / "dunnage" / "libbench-nvshmem.so"
    return ["--nvshmem", str(library)] if library.exists() else []


def _launch(home: Home, experiment: Experiment, mpi: str, ranks: int, trigger: str, run: Run) -> None:
    def take(record: Record) -> None:
        record.update(trigger=trigger, ranks=ranks)
        if record["record"] == "header":
            run.headers[mpi] = record
        elif record["record"] == "skipped":
            if record not in run.skipped:
                run.skipped.append(record)
        else:
            run.records.append((mpi, record))

    settings = {**experiment.settings, "DUNNAGE_TRIGGER": trigger}
    try:
        launch_program(home, experiment.program, mpi, experiment.arguments + _nvshmem(home), ranks,
                       settings=settings, each=take, limit=experiment.seconds or None)
    except RunError as error:
        said = [line for line in str(error).splitlines() if line.startswith("bench_triggered: ")]
        if said and not run.records:
            raise NoDevice(said[0]) from error
        run.lost.append(f"{mpi}, {ranks} ranks, {trigger}: {(said or [str(error)[-300:]])[0]}")


def _hidden_by(record: Record) -> str:
    senders = {0: "whole blocks send", 1: "a warp of each block sends"}.get(
        record["senders"], f"{record['senders']} warps of each block send")
    return f"{record['partitions']} partitions, {record['blocks']} blocks, {senders}"


def trips(run: Run) -> Tuple[List[Trip], List[Trip]]:
    """Joins the launches. Returns half round trips, and what kernels hide."""
    found: Dict[Tuple[str, int, str, str, str, str], Trip] = {}
    for mpi, record in run.records:
        kind = record["record"]
        if kind not in ("result", "overlap"):
            continue
        way, value = ((record["way"], record["microseconds"]) if kind == "result"
                      else (_hidden_by(record), 100 * record["hidden"]))
        key = (mpi, record["ranks"], record["trigger"], record["shape"], way)
        trip = found.setdefault((*key, kind), Trip(*key))
        trip.values.append(value)
        trip.verified = trip.verified and record["verified"]
    return ([one for key, one in found.items() if key[-1] == "result"],
            [one for key, one in found.items() if key[-1] == "overlap"])


def summarize_trips(half_trips: List[Trip], hidden: List[Trip], experiment: Experiment) -> List[Figure]:
    """Returns for each MPI, between two ranks, the shortest message by graphs and by kernels, and
    the most that a kernel hides.
    """
    short, most = experiment.criteria.get("short", {}), experiment.criteria.get("hidden", {})
    figures = []

    def between_two(mpi: str, trigger: str, way: str) -> List[Trip]:
        return [one for one in half_trips if (one.mpi, one.ranks, one.trigger, one.shape, one.way)
                == (mpi, 2, trigger, SHORT, way)]

    for mpi in dict.fromkeys(one.mpi for one in half_trips):
        for name, way in (("graph", "graph, kernels"), ("kernel", "kernel")):
            for one in between_two(mpi, "kernels", way):
                figures.append(Figure(mpi, f"{SHORT} by a {name}, us", one.value, short.get(name), at_most=True))
        bare = [one.value for way in BARE for one in between_two(mpi, "kernels", way)]
        streams = [one.value for trigger in ("kernels", "memory-operations")
                   for one in between_two(mpi, trigger, f"stream, {trigger}")]
        if bare and streams:
            figures.append(Figure(mpi, f"{SHORT} by a stream, over bare operations", min(streams) / min(bare),
                                  short.get("stream"), at_most=True))
        best = max((one for one in hidden if (one.mpi, one.ranks) == (mpi, 2)), key=lambda one: one.value, default=None)
        if best:
            figures.append(Figure(mpi, "hidden at most, %", best.value, most.get("most"), f"{best.shape}, {best.way}"))
    return figures


def _table(title: str, found: List[Trip], unit: str) -> str:
    rows = [{
        "MPI": one.mpi, "ranks": one.ranks, "DUNNAGE_TRIGGER": one.trigger, "data": one.shape, "way": one.way,
        unit: f"{one.value:.2f}", "least": f"{min(one.values):.2f}", "most": f"{max(one.values):.2f}",
        "right": "yes" if one.verified else "NO",
    } for one in found]
    return f"{title}\n{tabulate(rows, headers='keys', disable_numparse=True)}"


def plot_trips(found: List[Trip], title: str, path: Path) -> None:
    """Draws a panel for each size, with a bar for each way, trigger and MPI, of the most ranks."""
    most = max((one.ranks for one in found), default=0)
    found = [one for one in found if one.ranks == most]
    shapes = list(dict.fromkeys(one.shape for one in found)) or [""]
    figure, axes = pyplot.subplots(1, len(shapes), squeeze=False, layout="constrained",
                                   figsize=(4.2 * len(shapes), 5.0))
    for axis, shape in zip(axes[0], shapes):
        own = [one for one in found if one.shape == shape]
        names = [f"{one.mpi}: {one.way} ({one.trigger})" for one in own]
        axis.barh(names, [one.value for one in own], color=[style.mpi_colour(one.mpi) for one in own])
        axis.invert_yaxis()
        axis.set(title=shape, xlabel="half a round trip, us")
        axis.tick_params(axis="y", labelsize="xx-small")
        axis.grid(True, axis="x")
    style.save(figure, title, style.LESS, path)


def plot_timelines(records: List[Tuple[str, Record]], title: str, path: Path) -> bool:
    """Draws when some blocks of a kernel compute and send: a panel for each kernel, of the last
    launch with two ranks. Returns whether there was one.
    """
    latest: Dict[Tuple[str, Any], Tuple[str, Record]] = {}
    for mpi, record in records:
        if record["record"] == "timeline" and record["ranks"] == max(one["ranks"] for _, one in records):
            latest[record["shape"], _hidden_by(record)] = (mpi, record)
    if not latest:
        return False
    panels = list(latest.items())
    figure, axes = pyplot.subplots(len(panels), 1, squeeze=False, layout="constrained",
                                   figsize=(9.0, 2.2 * len(panels)))
    for axis, ((shape, way), (mpi, record)) in zip(axes[:, 0], panels):
        blocks = sorted({line[0] for line in record["times"]})
        for block, begin, computed, sends, sent in record["times"]:
            row = blocks.index(block)
            axis.barh(row + 0.2, computed - begin, left=begin, height=0.4, color=style.GREY, edgecolor="white", lw=0.2)
            axis.barh(row - 0.2, sent - sends, left=sends, height=0.4, color=style.BLUE, edgecolor="white", lw=0.2)
        axis.set_yticks([])
        axis.set_title(f"{mpi}, {shape}: {way}", fontsize="small")
        axis.set(xlabel="us", ylabel="blocks")
    figure.legend(handles=[pyplot.Rectangle((0, 0), 1, 1, color=style.GREY, label="computes"),
                           pyplot.Rectangle((0, 0), 1, 1, color=style.BLUE, label="sends")],
                  loc="outside right upper")
    style.save(figure, title, "shorter is better", path)
    return True


def report(experiment: Experiment, run: Run, head: Record, output: Path) -> bool:
    """Prints the tables, and writes JSON and PNG. Returns whether all bytes were right, and nothing
    was lost.
    """
    half_trips, hidden = trips(run)
    figures = summarize_trips(half_trips, hidden, experiment)
    print("", _table("Half a round trip, microseconds", half_trips, "us"), sep="\n\n")
    if hidden:
        print("", _table("How much of a transfer is hidden behind computation of equal length, per cent", hidden, "%"))
    print("", figure_table(figures), verdicts(figures), sep="\n\n")
    for lost in run.lost:
        print(f"lost: {lost}")
    for skipped in run.skipped:
        print(f"skipped: {', '.join(f'{name} {value}' for name, value in skipped.items() if name != 'record')}")
    stem = write_json(experiment, head, figures, output, {
        "results": [vars(one) for one in half_trips], "hidden": [vars(one) for one in hidden],
        "records": [{"mpi": mpi, **record} for mpi, record in run.records], "lost": run.lost, "skipped": run.skipped,
    })
    title = f"{experiment.title}\n{head.get('cpu', '')}"
    plot_trips(half_trips, title, stem.with_suffix(".png"))
    timeline = stem.with_name(stem.name + "_timeline.png")
    drawn = plot_timelines(run.records, title, timeline)
    print(f"\nWritten: {stem}.json, .png{f', {timeline}' if drawn else ''}")
    for mpi in (mpi for mpi, header in run.headers.items() if not header["dunnage"]):
        print(f"DUNNAGE WAS NOT LOADED: {mpi}")
        return False
    broken = [one for one in half_trips + hidden if not one.verified]
    for one in broken:
        print(f"WRONG BYTES: {one.mpi}, {one.shape}, {one.way}")
    return not broken and not run.lost
