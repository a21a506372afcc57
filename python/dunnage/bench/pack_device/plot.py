"""Plots time over the length of a row, for boxes of one size.

This is the figure of the blog post "Improving MPI_Pack performance in CUDA-aware MPI".
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)

from .results import SYNCHRONISED, DeviceResult  # noqa: E402

COLOURS = {"document": "tab:red", "memcpy": "tab:brown", "empty": "grey", "limit": "black"}
HIDDEN = ("read probe", "write probe")


def curves(results: List[DeviceResult]) -> Dict[str, List[Tuple[int, float]]]:
    """Returns the points of each series and of the limit: bytes of a row and microseconds."""
    found: Dict[str, List[Tuple[int, float]]] = {}
    for result in sorted(results, key=lambda one: one.block):
        for name in result.series:
            if name not in HIDDEN and not name.endswith(SYNCHRONISED):
                found.setdefault(name, []).append((result.block, 1e6 * result.time(name)))
        if result.limit is not None:
            found.setdefault("limit", []).append((result.block, 1e6 * result.limit))
    return found


def shapes(results: List[DeviceResult]) -> List[DeviceResult]:
    """Returns the boxes at start zero, of the most frequent size."""
    boxes = [r for r in results if r.kind == "box" and r.start == "zero"]
    sizes = [r.payload for r in boxes]
    return [r for r in boxes if r.payload == max(sizes, key=lambda size: (sizes.count(size), size))]


def device_plot(results: List[DeviceResult], title: str, path: Path) -> bool:
    """Draws a plot for each MPI, mode and operation into one file.

    Returns whether there was anything to draw.
    """
    drawn: Dict[Tuple[str, str, str], List[DeviceResult]] = {}
    for result in shapes(results):
        drawn.setdefault((result.mpi, result.mode, result.operation), []).append(result)
    if not drawn:
        return False
    columns = min(2, len(drawn))
    rows = (len(drawn) + columns - 1) // columns
    figure, axes = pyplot.subplots(rows, columns, squeeze=False, figsize=(7 * columns, 5 * rows), layout="constrained")
    for axis, (key, members) in zip(axes.flat, drawn.items()):
        for name, points in curves(members).items():
            style = {"linestyle": "-" if name.startswith("dunnage") else "--", "marker": "." if name != "limit" else ""}
            axis.plot(*zip(*points), label=name, color=COLOURS.get(name), **style)
        heading = f"{key[0]}: {key[2]}, {key[1]}, {members[0].payload} bytes"
        axis.set(xlabel="bytes of a row", ylabel="time, us", title=heading)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.grid(alpha=0.3, which="both")
        axis.legend(fontsize="x-small")
    for axis in axes.flat[len(drawn) :]:
        axis.set_visible(False)
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True
