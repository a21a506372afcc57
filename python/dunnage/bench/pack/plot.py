"""Plots the results of the pack benchmark: ratios above, bandwidths below."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List

from matplotlib.axes import Axes

from .. import style
from ..style import pyplot
from .results import Result
from .summary import subject


def plot(results: List[Result], title: str, path: Path) -> None:
    """Draws a column for each mode and operation. Patterns go down, and each MPI has a colour."""
    columns: Dict[str, List[Result]] = {}
    for result in results:
        columns.setdefault(f"{result.operation}, {result.mode}", []).append(result)
    colours = {result.mpi: style.mpi_colour(result.mpi) for result in results}
    tested = subject(results)

    most = max(len({result.pattern for result in column}) for column in columns.values())
    figure, axes = pyplot.subplots(
        2, len(columns), squeeze=False, figsize=(5 * len(columns) + 2, 2 * (0.28 * most + 1.6)), layout="constrained"
    )
    labelled: Dict[str, int] = {}
    for index, (name, column) in enumerate(columns.items()):
        places = {pattern: place for place, pattern in enumerate(dict.fromkeys(r.pattern for r in column))}
        # Columns with the same patterns share their names.
        names = list(places) if places != labelled else []
        labelled = places
        _ratios(axes[0][index], column, places, colours, tested)
        _bandwidths(axes[1][index], column, places, colours, tested)
        axes[0][index].set_title(name)
        for axis in (axes[0][index], axes[1][index]):
            axis.set_yticks(list(places.values()) if names else [], names)
            style.plain_ticks(axis, "x")
            axis.set_ylim(len(places) - 0.5, -0.5)
            axis.grid(True)
    style.save(figure, title, "farther right is better", path)


def _ratios(
    axis: Axes, column: List[Result], places: Dict[str, int], colours: Dict[str, str], tested: str
) -> None:
    """Draws bars from 1.

    A bar to the right means that plain MPI is slower, and a bar to the left that it is faster.
    """
    mpis = list(colours)
    height = 0.8 / len(mpis)
    for result in column:
        place = places[result.pattern] + (mpis.index(result.mpi) - (len(mpis) - 1) / 2) * height
        axis.barh(place, result.ratio(tested) - 1, left=1, height=height, color=colours[result.mpi])
    axis.axvline(1, color=style.BLACK, linewidth=1)
    axis.set_xlabel(f"time of plain MPI / {tested}; above 1, {tested} is faster")
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colours[mpi], label=mpi) for mpi in mpis]
    axis.legend(handles=handles, loc="lower right")


def _bandwidths(
    axis: Axes, column: List[Result], places: Dict[str, int], colours: Dict[str, str], tested: str
) -> None:
    """Draws how near each series comes to the speed of a copy."""
    marks = {"plain": "x", tested: "o"}
    for result in column:
        place = places[result.pattern]
        for series, mark in marks.items():
            axis.plot(result.traffic / result.time(series) / 1e9, place, mark, color=colours[result.mpi])
        axis.plot(result.traffic / result.limit / 1e9, place, "|", color=style.BLACK, markersize=11)
    axis.set_xlabel("bytes that must cross memory / time, GB/s")
    handles = [
        pyplot.Line2D([], [], marker=mark, color=style.GREY, linestyle="", label=name) for name, mark in marks.items()
    ]
    handles.append(pyplot.Line2D([], [], marker="|", color=style.BLACK, linestyle="", label="limit"))
    axis.legend(handles=handles, loc="lower right")
