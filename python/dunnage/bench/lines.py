"""Plots with one line for each series, and a column for each MPI."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

from . import style
from .style import pyplot


def line_plot(
    curves: Dict[Tuple[str, str], List[Tuple[float, float]]], title: str, x: str, y: str, path: Path, level: float,
    better: str, in_bytes: bool = False,
) -> None:
    """Draws curves with a look for each series, a column for each MPI, and six series at most in a
    panel.

    `curves` has the points of each (MPI, series). `level` is where a line is drawn: a ratio of 1,
    or a threshold.
    """
    mpis = list(dict.fromkeys(mpi for mpi, _ in curves)) or [""]
    names = list(dict.fromkeys(name for _, name in curves))
    rows = style.groups(names)
    along = sorted({at for points in curves.values() for at, _ in points})
    figure, axes = pyplot.subplots(len(rows), len(mpis), squeeze=False, sharex=True, sharey=True, layout="constrained",
                                   figsize=(3.2 * len(mpis) + 3, 3.4 * len(rows) + 1))
    for row, group in enumerate(rows):
        for column, mpi in enumerate(mpis):
            axis = axes[row][column]
            for name in group:
                points = sorted(curves.get((mpi, name), []))
                if points:
                    axis.plot(*zip(*points), **style.look(name, group), label=name)
            style.ratio_axis(axis, level)
            axis.grid(True)
            if in_bytes:
                style.bytes_axis(axis, map(int, along))
            else:
                style.plain_ticks(axis, "x")
                if len(along) <= 8:
                    axis.set_xticks(along, [f"{at:,.0f}" for at in along])
            if row == 0:
                axis.set_title(mpi)
            if row == len(rows) - 1:
                axis.set_xlabel(x)
        axes[row][0].set_ylabel(y)
        handles = [pyplot.Line2D([], [], **style.look(name, group), label=name) for name in group]
        axes[row][-1].legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5))
    style.save(figure, title, better, path)
