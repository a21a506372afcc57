"""Plots with one line for each series and MPI."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)
from matplotlib.ticker import LogLocator, NullLocator  # noqa: E402

STYLES = ["-", "--", ":", "-."]


def line_plot(
    curves: Dict[Tuple[str, str], List[Tuple[float, float]]], title: str, x: str, y: str, path: Path, level: float
) -> None:
    """Draws curves with a colour for each series and a style for each MPI.

    `curves` has the points of each (MPI, series).
    """
    mpis = list(dict.fromkeys(mpi for mpi, _ in curves))
    names = list(dict.fromkeys(name for _, name in curves))
    figure, axis = pyplot.subplots(figsize=(9, 6), layout="constrained")
    for (mpi, name), points in curves.items():
        axis.plot(
            *zip(*sorted(points)), STYLES[mpis.index(mpi) % len(STYLES)], marker="o", markersize=3,
            color=f"C{names.index(name)}", label=f"{mpi}: {name}",
        )
    axis.axhline(level, color="black", linewidth=1)
    axis.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize="small")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
