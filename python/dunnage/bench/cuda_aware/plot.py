"""Plots latency and bandwidth over the size of a message, and for vectors over the length of their
blocks.

The first two are the last figure of the document "CUDA-aware MPI".
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, Tuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)
from matplotlib.axes import Axes  # noqa: E402

from .results import DEVICE, Results, Transfer  # noqa: E402
from .run import REFERENCES  # noqa: E402

Value = Callable[[Transfer], float]


def panels(results: Results, mpi: str) -> List[Tuple[str, str, str, List[Transfer], Value]]:
    """Returns title, field along the axis, quantity, series and value of each plot of an MPI."""
    usual = {"block": 0, "buffers": "reused"}
    latency, bandwidth = "half a round trip, us", "GB/s"
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
    names = list(dict.fromkeys(one.name for one in results.all))
    colours = {name: pyplot.get_cmap("tab20")((2 * i) % 20 + (2 * i) // 20) for i, name in enumerate(names)}
    rows = len(columns[0])
    figsize = (6.5 * len(columns) + 3, 4.2 * rows)
    figure, axes = pyplot.subplots(rows, len(columns), squeeze=False, figsize=figsize, layout="constrained")
    for column, (mpi, pictures) in enumerate(zip(results.mpis, columns)):
        for row, (what, along, quantity, series, value) in enumerate(pictures):
            axis: Axes = axes[row][column]
            _curves(axis, series, along, value, colours)
            axis.set_title(f"{mpi}: {what}")
            axis.set(xlabel="bytes of a block" if along == "block" else "bytes of a message", ylabel=quantity)
    handles = [pyplot.Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=handles, loc="outside right upper")
    figure.suptitle(title)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
    return True


def _curves(axis: Axes, series: List[Transfer], along: str, value: Value,
            colours: Dict[str, Tuple[float, ...]]) -> None:
    for name in dict.fromkeys(one.name for one in series):
        own = [one for one in series if one.name == name]
        points = sorted((getattr(one, along), value(one)) for one in own)
        style = "-" if own[0].memory == DEVICE else ":" if own[0].variant == REFERENCES else "--"
        axis.plot(*zip(*points), style, color=colours[name], marker="o", markersize=2.5, linewidth=1.2)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.grid(alpha=0.3, which="both")
