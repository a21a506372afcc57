"""Plots the time of a step, computation below and exchange above, beside the document's figures."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import List, Tuple

from matplotlib.axes import Axes

from .. import style
from ..style import pyplot
from .document import MACHINES
from .results import Case

Bar = Tuple[str, float, float]  # its name, the computation, the exchange


def bars(results: List[Case], mpi: str) -> List[Bar]:
    """Returns the bars of an MPI, in milliseconds of a step."""
    own = sorted((one for one in results if one.mpi == mpi), key=lambda one: (one.ranks, one.ghost, one.option))
    return [
        (f"{one.ranks} ranks, {one.ghost} deep, {one.option} {'Dunnage' if variant == 'dunnage' else variant}",
         1e3 * median(one.compute[variant]), 1e3 * one.time(variant))
        for one in own for variant in one.exchange
    ]


def document_bars() -> List[Bar]:
    """Returns the bars of the document, in minutes."""
    return [
        (f"{machine.name}, {option}", machine.compute(option), machine.communication[option])
        for machine in MACHINES for option in range(3)
    ]


def plot_cases(results: List[Case], title: str, path: Path) -> None:
    """Draws a column for each MPI and one for the document."""
    mpis = list(dict.fromkeys(one.mpi for one in results))
    panels = [(mpi, "ms a step", bars(results, mpi)) for mpi in mpis]
    panels.append(("the document: options 0, 1, 2", "minutes", document_bars()))
    most = max(len(panel) for _, _, panel in panels)
    figure, axes = pyplot.subplots(1, len(panels), squeeze=False, figsize=(6 * len(panels), 0.3 * most + 2.5),
                                   layout="constrained")
    for axis, (name, unit, panel) in zip(axes[0], panels):
        _stack(axis, panel)
        axis.set(title=name, xlabel=unit)
    axes[0][0].legend(loc="best")
    style.save(figure, title, style.LESS, path)


def _stack(axis: Axes, panel: List[Bar]) -> None:
    names = [name for name, _, _ in panel]
    compute = [below for _, below, _ in panel]
    places = range(len(panel))
    axis.barh(places, compute, color=style.GREY, label="computation")
    axis.barh(places, [above for _, _, above in panel], left=compute, color=style.GREEN, hatch="//",
              label="exchange")
    axis.set_yticks(list(places), names, fontsize="small")
    axis.invert_yaxis()
    axis.grid(True, axis="x")
