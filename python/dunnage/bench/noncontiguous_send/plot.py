"""Plots time, effective bandwidth and slowdown over the payload: the three figures of Eijkhout's
report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, List, Optional

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import LogLocator, NullLocator  # noqa: E402

from ..units import size  # noqa: E402
from .results import Send, references, slowdown  # noqa: E402

STYLES = {"plain": "--", "dunnage": "-"}


def plot_sends(results: List[Send], title: str, path: Path) -> None:
    """Draws a column for each MPI and a colour for each scheme.

    Plain MPI is dashed, and Dunnage is solid.
    """
    contiguous = references(results)
    quantities: Dict[str, Callable[[Send, str], Optional[float]]] = {
        "time, s": lambda send, series: send.time(series),
        "effective bandwidth, GB/s": lambda send, series: send.bytes / send.time(series) / 1e9,
        "time / contiguous send of plain MPI": lambda send, series: slowdown(send, series, contiguous),
    }
    mpis = list(dict.fromkeys(send.mpi for send in results))
    schemes = list(dict.fromkeys(send.pattern for send in results))
    colours = {name: pyplot.get_cmap("tab20")((2 * i) % 20 + (2 * i) // 20) for i, name in enumerate(schemes)}

    figure, axes = pyplot.subplots(
        3, len(mpis), squeeze=False, sharex=True, sharey="row", figsize=(4.5 * len(mpis) + 2.5, 12),
        layout="constrained"
    )
    for column, mpi in enumerate(mpis):
        own = [send for send in results if send.mpi == mpi]
        for row, (name, quantity) in enumerate(quantities.items()):
            axis: Axes = axes[row][column]
            _curves(axis, own, schemes, colours, quantity)
            axis.set(xscale="log", yscale="log")
            axis.grid(alpha=0.3, which="both")
            if column == 0:
                axis.set_ylabel(name)
        axes[0][column].set_title(mpi)
        axes[2][column].axhline(1, color="black", linewidth=1)
        axes[2][column].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes[2][column].yaxis.set_major_formatter("{x:g}")
        axes[2][column].yaxis.set_minor_locator(NullLocator())
        ticks = sorted({send.bytes for send in results})[:: 4 if len({send.bytes for send in results}) > 8 else 1]
        axes[2][column].set_xticks(ticks, [size(tick) for tick in ticks], rotation=45)
        axes[2][column].xaxis.set_minor_locator(NullLocator())
        axes[2][column].set_xlabel("payload")
    handles = [pyplot.Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    handles += [pyplot.Line2D([], [], color="grey", linestyle=style, label=name.replace("dunnage", "Dunnage"))
                for name, style in STYLES.items()]
    figure.legend(handles=handles, loc="outside right upper")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _curves(
    axis: Axes, own: List[Send], schemes: List[str], colours: Dict[str, object],
    quantity: Callable[[Send, str], Optional[float]],
) -> None:
    for scheme in schemes:
        points = sorted((send for send in own if send.pattern == scheme), key=lambda send: send.bytes)
        for series, style in STYLES.items():
            values = [(send.bytes, quantity(send, series)) for send in points if send.has(series)]
            known = [(x, y) for x, y in values if y is not None]
            if known:
                axis.plot(*zip(*known), style, color=colours[scheme], marker="o", markersize=2, linewidth=1)
