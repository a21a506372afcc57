"""Plots time over the length of a row, for boxes of one size.

This is the figure of the blog post "Improving MPI_Pack performance in CUDA-aware MPI".
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

from .. import style
from ..style import pyplot
from ..units import size
from .results import SYNCHRONISED, DeviceResult

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
            axis.plot(*zip(*points), label=name, **_look(name, [one for one in curves(members)]))
        heading = f"{key[0]}: {key[2]}, {key[1]}, {size(members[0].payload)}"
        axis.set(xlabel="row", ylabel="time, us", title=heading)
        style.bytes_axis(axis, [one.block for one in members])
        style.plain_ticks(axis)
        axis.grid(True)
        axis.legend()
    for axis in axes.flat[len(drawn) :]:
        axis.set_visible(False)
    style.save(figure, title, style.LESS, path)
    return True


def _look(name: str, names: List[str]) -> Dict[str, str]:
    """Returns the look of a series: a family is plain MPI or Dunnage, whatever the description."""
    family = name.split(" ")[0]
    own = [one for one in names if one.split(" ")[0] == family]
    drawn = style.look(family, list(dict.fromkeys(one.split(" ")[0] for one in names)))
    if len(own) > 1:
        drawn["marker"] = style.MARKERS[own.index(name) % style.MOST]
    return {**drawn, "linestyle": "-" if family == "dunnage" else "--"}
