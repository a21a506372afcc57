"""Plots the time of late messages over the lateness."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

from matplotlib.axes import Axes

from .. import style
from ..style import pyplot
from ..units import size
from .results import Late, layout

STYLES = {"plain": "--", "dunnage": "-"}
LEAST = 10  # microseconds; from 0 to here the axis of the lateness is linear


def plot_lates(results: List[Late], title: str, path: Path) -> None:
    """Draws a row for each MPI and call and a column for each size and layout.

    A panel has a line for each variant and number of messages. The panels of a column share the
    axis of the time.
    """
    rows = list(dict.fromkeys((one.mpi, one.call) for one in results)) or [("", "")]
    columns = sorted({(one.bytes, one.block) for one in results}) or [(0, 0)]
    numbers = sorted({one.messages for one in results})
    figure, axes = pyplot.subplots(len(rows), len(columns), squeeze=False, sharey="col",
                                   layout="constrained", figsize=(3.6 * len(columns) + 2, 2.8 * len(rows) + 1))
    for row, (mpi, call) in enumerate(rows):
        for column, (bytes_, block) in enumerate(columns):
            axis: Axes = axes[row][column]
            own = [one for one in results
                   if (one.mpi, one.call, one.bytes, one.block) == (mpi, call, bytes_, block)]
            _panel(axis, own, numbers)
            axis.set_title(f"{mpi}, {call}: {size(bytes_)}, {layout(block)}", fontsize="small")
            axis.set(xlabel="lateness, us", ylabel="time less lateness, us")
    handles = [pyplot.Line2D([], [], **_look(number, numbers), linestyle=dash, label=f"{variant}, {number} messages")
               for variant, dash in STYLES.items() for number in numbers]
    figure.legend(handles=handles, loc="outside right upper")
    style.save(figure, title, style.LESS, path)


def _look(number: int, numbers: List[int]) -> Dict[str, Any]:
    return style.look(str(number), list(map(str, numbers)))


def _panel(axis: Axes, results: List[Late], numbers: List[int]) -> None:
    for variant, dash in STYLES.items():
        for number in numbers:
            points = sorted((1e6 * one.lateness, 1e6 * one.time(variant)) for one in results
                            if one.messages == number and one.times.get(variant))
            if points:
                axis.plot(*zip(*points), dash, **_look(number, numbers))
    axis.set_xscale("symlog", linthresh=LEAST)
    style.plain_ticks(axis)
    axis.grid(True)
