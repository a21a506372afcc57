"""Plots latency and bandwidth over the size of a message, and for vectors over the length of their
blocks.

The first two are the last figure of the document "CUDA-aware MPI".
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, Tuple

from matplotlib.axes import Axes

from .. import style
from ..style import pyplot
from .results import DEVICE, Results, Transfer
from .run import REFERENCES

Value = Callable[[Transfer], float]


def panels(results: Results, mpi: str) -> List[Tuple[str, str, str, List[Transfer], Value]]:
    """Returns title, field along the axis, quantity, series and value of each plot of an MPI."""
    usual = {"block": 0, "buffers": "reused"}
    latency, bandwidth = f"half a round trip, us; {style.LESS}", f"GB/s; {style.MORE}"
    vectors = [one for one in results.windowed(mpi, pattern="one way") if one.block]
    largest = max((one.bytes for one in vectors), default=0)

    def microseconds(one: Transfer) -> float:
        return 1e6 * one.time()

    def gigabytes(one: Transfer) -> float:
        return one.bandwidth / 1e9

    return [
        ("contiguous", "bytes", latency, results.select(mpi, pattern="latency", **usual), microseconds),
        ("one way, in windows", "bytes", bandwidth, results.windowed(mpi, pattern="one way", **usual), gigabytes),
        ("both ways, in windows", "bytes", bandwidth, results.windowed(mpi, pattern="both ways", **usual), gigabytes),
        (f"vectors of {largest} bytes, one way", "block", bandwidth,
         [one for one in vectors if one.bytes == largest], gigabytes),
        ("new buffers each time", "bytes", latency, results.select(mpi, buffers="fresh"), microseconds),
    ]


def plot_transfers(results: Results, title: str, path: Path) -> bool:
    """Draws a column for each MPI and a colour for each variant and memory.

    Returns whether there was anything to draw.
    """
    if not results.mpis:
        return False
    columns = [panels(results, mpi) for mpi in results.mpis]
    variants = list(dict.fromkeys(one.variant for one in results.all if one.variant != REFERENCES))
    looks = {one.name: _look(one, variants) for one in results.all}
    rows = len(columns[0])
    figsize = (6.5 * len(columns) + 3, 4.2 * rows)
    figure, axes = pyplot.subplots(rows, len(columns), squeeze=False, figsize=figsize, layout="constrained")
    for column, (mpi, pictures) in enumerate(zip(results.mpis, columns)):
        for row, (what, along, quantity, series, value) in enumerate(pictures):
            axis: Axes = axes[row][column]
            _curves(axis, series, along, value, looks)
            axis.set_title(f"{mpi}: {what}")
            axis.set(xlabel="block" if along == "block" else "message", ylabel=quantity)
    handles = [pyplot.Line2D([], [], **drawn, label=name) for name, drawn in looks.items()]
    figure.legend(handles=handles, loc="outside right upper")
    style.save(figure, title, "", path)
    return True


def _look(one: Transfer, variants: List[str]) -> Dict[str, str]:
    """Returns the look of a series: colour and marker by its variant, dashes by its memory."""
    if one.variant == REFERENCES:
        return {"color": style.GREY, "linestyle": ":" if one.memory != "copy engine" else "-.", "marker": ""}
    return {**style.look(one.variant, variants), "linestyle": "-" if one.memory == DEVICE else "--"}


def _curves(axis: Axes, series: List[Transfer], along: str, value: Value,
            looks: Dict[str, Dict[str, str]]) -> None:
    for name in dict.fromkeys(one.name for one in series):
        own = [one for one in series if one.name == name]
        points = sorted((getattr(one, along), value(one)) for one in own)
        axis.plot(*zip(*points), **looks[name])
    style.bytes_axis(axis, [getattr(one, along) for one in series])
    style.plain_ticks(axis)
    axis.grid(True)
