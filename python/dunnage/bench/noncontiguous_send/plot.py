"""Plots time, effective bandwidth and slowdown over the payload: the three figures of Eijkhout's
report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, Optional

from matplotlib.axes import Axes

from .. import style
from ..style import pyplot
from .results import Send, references, slowdown

STYLES = {"plain": "--", "dunnage": "-"}


def plot_sends(results: List[Send], title: str, path: Path) -> None:
    """Draws a column for each MPI, and rows for each quantity with at most six schemes.

    Plain MPI is dashed, and Dunnage is solid.
    """
    contiguous = references(results)
    quantities: Dict[str, Callable[[Send, str], Optional[float]]] = {
        f"time, s\n{style.LESS}": lambda send, series: send.time(series),
        f"effective bandwidth, GB/s\n{style.MORE}": lambda send, series: send.bytes / send.time(series) / 1e9,
        f"time / contiguous send of plain MPI\n{style.LESS}": lambda send, series: slowdown(send, series, contiguous),
    }
    mpis = list(dict.fromkeys(send.mpi for send in results))
    rows = [(name, quantity, schemes) for schemes in style.groups(list(dict.fromkeys(send.pattern for send in results)))
            for name, quantity in quantities.items()]
    figure, axes = pyplot.subplots(len(rows), len(mpis), squeeze=False, sharex=True, sharey="row",
                                   figsize=(3.6 * len(mpis) + 3, 3.2 * len(rows) + 1), layout="constrained")
    for row, (name, quantity, schemes) in enumerate(rows):
        for column, mpi in enumerate(mpis):
            axis: Axes = axes[row][column]
            _curves(axis, [send for send in results if send.mpi == mpi], schemes, quantity)
            style.bytes_axis(axis, [send.bytes for send in results])
            axis.grid(True)
            if name.startswith("time /"):
                style.ratio_axis(axis)
            else:
                axis.set_yscale("log")
            if row == 0:
                axis.set_title(mpi)
            if row == len(rows) - 1:
                axis.set_xlabel("payload")
        axes[row][0].set_ylabel(name)
        handles = [pyplot.Line2D([], [], **style.look(scheme, schemes), label=scheme) for scheme in schemes]
        handles += [pyplot.Line2D([], [], color=style.GREY, linestyle=dash, label=series.replace("dunnage", "Dunnage"))
                    for series, dash in STYLES.items()]
        axes[row][-1].legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5))
    style.save(figure, title, "", path)


def _curves(axis: Axes, own: List[Send], schemes: List[str],
            quantity: Callable[[Send, str], Optional[float]]) -> None:
    for scheme in schemes:
        points = sorted((send for send in own if send.pattern == scheme), key=lambda send: send.bytes)
        for series, dash in STYLES.items():
            values = [(send.bytes, quantity(send, series)) for send in points if send.has(series)]
            known = [(x, y) for x, y in values if y is not None]
            if known:
                axis.plot(*zip(*known), dash, **style.look(scheme, schemes))
