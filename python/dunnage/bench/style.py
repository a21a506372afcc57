"""One look for all plots.

The colours are those of M. Okabe and K. Ito, "Color Universal Design": they differ for every kind
of colour vision. In greyscale some are alike, so each colour has a marker of its own. A thing has
one look in all plots: plain MPI is orange, Dunnage is blue, a limit is black.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterable, List, Sequence, TypeVar

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import LogLocator, NullLocator  # noqa: E402

from .units import size  # noqa: E402

BLACK, ORANGE, SKY, GREEN, BLUE, RED = "#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00"
PURPLE, GREY = "#cc79a7", "#8a8a8a"
COLOURS = [RED, GREEN, SKY, PURPLE, BLACK, GREY]  # without those of plain MPI and of Dunnage
MARKERS = ["o", "s", "^", "D", "v", "x"]
MOST = len(COLOURS)  # series in one plot
# The look of what occurs in several plots, by its name in the results.
KNOWN: Dict[str, Dict[str, str]] = {
    "plain": {"color": ORANGE, "marker": "s"}, "dunnage": {"color": BLUE, "marker": "o"},
    "limit": {"color": BLACK, "marker": ""}, "memcpy": {"color": GREY, "marker": "x"},
    "document": {"color": RED, "marker": "^"},
}
MPIS = ["openmpi", "openmpi5", "mpich", "mpich5", "impi", "mpi_abi"]

FASTER = "time of plain MPI / Dunnage; above 1, Dunnage is faster"
LESS, MORE = "lower is better", "higher is better"

pyplot.rcParams.update({
    "axes.spines.right": False, "axes.spines.top": False, "axes.titlesize": "medium", "grid.alpha": 0.3,
    "legend.fontsize": "small", "legend.frameon": False, "lines.linewidth": 1.3, "lines.markersize": 4,
})

Item = TypeVar("Item")


def look(name: str, names: Sequence[str]) -> Dict[str, Any]:
    """Returns colour and marker of a series. What has no look of its own gets that of its place
    among `names`.
    """
    if name in KNOWN:
        return dict(KNOWN[name])
    place = list(names).index(name)
    return {"color": COLOURS[place % MOST], "marker": MARKERS[place % MOST]}


def mpi_colour(name: str) -> str:
    """Returns the colour of an MPI, which is the same in all plots."""
    return COLOURS[(MPIS.index(name) if name in MPIS else len(name)) % MOST]


def groups(items: Sequence[Item], most: int = MOST) -> List[List[Item]]:
    """Returns the items in groups that are as even as possible, none larger than `most`."""
    count = max(1, -(-len(items) // most))
    each = max(1, -(-len(items) // count))
    return [list(items[start:start + each]) for start in range(0, len(items), each)] or [[]]


def bytes_axis(axis: Axes, values: Iterable[int]) -> None:
    """Makes a logarithmic axis of bytes, with at most nine ticks, as 4 KiB."""
    known = sorted({int(value) for value in values if value > 0})
    axis.set_xscale("log", base=2)
    if not known:
        return
    step = max(1, -(-((known[-1].bit_length() - known[0].bit_length()) + 1) // 9))
    ticks = [1 << power for power in range(known[0].bit_length() - 1, known[-1].bit_length(), step)]
    ticks = [tick for tick in ticks if tick >= known[0]] or known[:1]
    axis.set_xticks(ticks, [size(tick) for tick in ticks], rotation=45, ha="right")
    axis.xaxis.set_minor_locator(NullLocator())


def plain_ticks(axis: Axes, which: str = "y") -> None:
    """Makes a logarithmic axis with ticks at 1, 2 and 5, without exponents."""
    axis.set(**{f"{which}scale": "log"})
    chosen = axis.yaxis if which == "y" else axis.xaxis
    chosen.set_major_locator(LogLocator(subs=(1, 2, 5)))
    chosen.set_major_formatter("{x:g}")
    chosen.set_minor_locator(NullLocator())


def ratio_axis(axis: Axes, level: float = 1) -> None:
    """Makes a logarithmic axis of ratios, with a line where both are alike."""
    plain_ticks(axis)
    axis.axhline(level, color=BLACK, linewidth=1)


def save(figure: Figure, title: str, better: str, path: Path) -> None:
    """Writes a figure. Below its title stands what is better."""
    figure.suptitle(f"{title}\n{better}" if better else title)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
