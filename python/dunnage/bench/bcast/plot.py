"""Plots bandwidth over the size of the message, and how many times faster one broadcast is than
another.

These are the figures of H. Zhou et al. (bcast/report.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List

from .. import style
from ..style import pyplot
from .results import LOOP, PAIRS, SYNCHRONISED, Broadcast

STYLES = {SYNCHRONISED: "-", LOOP: ":"}
LOOKS = {
    "native": {"color": style.RED, "marker": "^"}, "tuned": {"color": style.GREEN, "marker": "D"},
    "plain-ibcast": {"color": style.PURPLE, "marker": "v"}, "dunnage-ibcast": {"color": style.SKY, "marker": "x"},
    "copy": style.KNOWN["limit"], **{way: style.KNOWN[way] for way in ("plain", "dunnage")},
}


def plot_broadcasts(results: List[Broadcast], title: str, path: Path) -> None:
    """Draws a column for each MPI and two plots for each number of ranks.

    They show the broadcasts from rank 0 with warm buffers.
    """
    shown = [one for one in results if one.buffers == "warm" and one.roots == "0"] or results
    mpis = list(dict.fromkeys(one.mpi for one in shown))
    counts = sorted({one.ranks for one in shown})
    ways = list(dict.fromkeys(way for one in shown for way in one.series))
    figsize = (4.2 * len(mpis) + 2.5, 7 * len(counts))
    figure, axes = pyplot.subplots(2 * len(counts), len(mpis), squeeze=False, figsize=figsize, layout="constrained")
    for column, mpi in enumerate(mpis):
        for row, ranks in enumerate(counts):
            own = sorted((one for one in shown if one.mpi == mpi and one.ranks == ranks), key=lambda one: one.bytes)
            bandwidth, speedup = axes[2 * row][column], axes[2 * row + 1][column]
            for method, dash in STYLES.items():
                for way in ways:
                    times = [(one.bytes, one.time(way, method)) for one in own]
                    points = [(length, length / time / 1e6) for length, time in times if time]
                    if points:
                        bandwidth.plot(*zip(*points), dash, **_look(way, ways), label=f"{way}, {method}")
                for faster, slower in PAIRS:
                    ratios = [(one.bytes, one.ratio(faster, slower, method)) for one in own]
                    points = [(length, ratio) for length, ratio in ratios if ratio]
                    if points:
                        speedup.plot(*zip(*points), dash, **_look(faster, ways),
                                     label=f"{slower} over {faster}, {method}")
            bandwidth.set(title=f"{mpi}, {ranks} ranks", ylabel="MB/s")
            style.plain_ticks(bandwidth)
            speedup.set(xlabel="message", ylabel="times faster")
            style.ratio_axis(speedup)
            for axis in (bandwidth, speedup):
                style.bytes_axis(axis, [one.bytes for one in own])
                axis.grid(True)
        for row in range(2 * len(counts)):
            axes[row][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    style.save(figure, title, style.MORE, path)


def _look(way: str, ways: List[str]) -> Dict[str, str]:
    return LOOKS.get(way) or style.look(way, ways)
