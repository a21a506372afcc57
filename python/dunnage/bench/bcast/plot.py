"""Plots bandwidth over the size of the message, and how many times faster one broadcast is than
another.

These are the figures of H. Zhou et al. (bcast/report.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import List

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)

from .results import LOOP, PAIRS, SYNCHRONISED, Broadcast  # noqa: E402

STYLES = {SYNCHRONISED: "-", LOOP: ":"}


def plot_broadcasts(results: List[Broadcast], title: str, path: Path) -> None:
    """Draws a column for each MPI and two plots for each number of ranks.

    They show the broadcasts from rank 0 with warm buffers.
    """
    shown = [one for one in results if one.buffers == "warm" and one.roots == "0"] or results
    mpis = list(dict.fromkeys(one.mpi for one in shown))
    counts = sorted({one.ranks for one in shown})
    ways = list(dict.fromkeys(way for one in shown for way in one.series))
    figsize = (6 * len(mpis) + 2, 7 * len(counts))
    figure, axes = pyplot.subplots(2 * len(counts), len(mpis), squeeze=False, figsize=figsize, layout="constrained")
    for column, mpi in enumerate(mpis):
        for row, ranks in enumerate(counts):
            own = sorted((one for one in shown if one.mpi == mpi and one.ranks == ranks), key=lambda one: one.bytes)
            bandwidth, speedup = axes[2 * row][column], axes[2 * row + 1][column]
            for method, style in STYLES.items():
                for colour, way in enumerate(ways):
                    times = [(one.bytes, one.time(way, method)) for one in own]
                    points = [(length, length / time / 1e6) for length, time in times if time]
                    if points:
                        bandwidth.plot(*zip(*points), style, marker="o", markersize=3, color=f"C{colour}",
                                       label=f"{way}, {method}")
                for colour, (faster, slower) in enumerate(PAIRS):
                    ratios = [(one.bytes, one.ratio(faster, slower, method)) for one in own]
                    points = [(length, ratio) for length, ratio in ratios if ratio]
                    if points:
                        speedup.plot(*zip(*points), style, marker="o", markersize=3, color=f"C{colour}",
                                     label=f"{slower} over {faster}, {method}")
            bandwidth.set(title=f"{mpi}, {ranks} ranks", ylabel="MB/s", xscale="log", yscale="log")
            speedup.set(xlabel="bytes", ylabel="times faster", xscale="log", yscale="log")
            speedup.axhline(1, color="black", linewidth=1)
            for axis in (bandwidth, speedup):
                axis.grid(alpha=0.3, which="both")
                axis.legend(fontsize="x-small")
    figure.suptitle(title)
    figure.savefig(path, dpi=80)
    pyplot.close(figure)
