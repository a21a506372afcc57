"""Plots the time of a step, computation below and exchange above, beside the document's figures."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import List, Tuple

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend has to be chosen first)
from matplotlib.axes import Axes  # noqa: E402

from .document import MACHINES  # noqa: E402
from .results import Case  # noqa: E402

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
    axes[0][0].legend(loc="best", fontsize="small")
    figure.suptitle(title)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _stack(axis: Axes, panel: List[Bar]) -> None:
    names = [name for name, _, _ in panel]
    compute = [below for _, below, _ in panel]
    places = range(len(panel))
    axis.barh(places, compute, color="tab:blue", label="computation")
    axis.barh(places, [above for _, _, above in panel], left=compute, color="tab:orange", label="exchange")
    axis.set_yticks(list(places), names, fontsize="small")
    axis.invert_yaxis()
    axis.grid(alpha=0.3, axis="x")
