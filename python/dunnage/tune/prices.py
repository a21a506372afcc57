"""Finds prices that explain measured times: t = call + blocks * block + bytes * byte. No price is
negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Sequence

import numpy

Row = Dict[str, float]  # how often each price is paid


@dataclass
class Fit:
    """Prices in nanoseconds and how well they predict.

    Only prices that anything was measured of are there.
    """

    prices: Dict[str, float]
    error: float  # median of |predicted - measured| / scale

    def time(self, row: Row) -> float:
        """Returns the predicted time in nanoseconds."""
        return sum(self.prices.get(name, 0.0) * often for name, often in row.items())


def fit(rows: Sequence[Row], times: Sequence[float], scales: Sequence[float], tolerance: float) -> Fit:
    """Fits relative errors: each time is divided by its scale.

    An error above the tolerance counts linearly and not squared (Huber).
    """
    from scipy.optimize import nnls  # here, because the import takes a second

    names = [name for name in rows[0] if any(row[name] for row in rows)]
    matrix = numpy.array([[row[name] for name in names] for row in rows], dtype=float)
    measured, scale = numpy.asarray(times, dtype=float), numpy.asarray(scales, dtype=float)
    largest = matrix.max(axis=0)  # scale the columns alike, or the calls vanish beside the bytes
    columns = matrix / largest / scale[:, None]
    weights = numpy.ones(len(rows))
    for _ in range(8):
        root = numpy.sqrt(weights)
        found, _ = nnls(columns * root[:, None], measured / scale * root)
        errors = abs(columns @ found - measured / scale)
        weights = numpy.minimum(1, tolerance / numpy.maximum(errors, 1e-12))
    return Fit(dict(zip(names, (found / largest).tolist())), float(numpy.median(errors)))


def ratio_lost(fits: Sequence[Fit], engine: Sequence[Row], library: Sequence[Row], times: List[Sequence[float]],
               margin: float) -> float:
    """Returns by what share choices by these prices take longer than the better choice, on average
    over all times.

    `fits` and `times` have two members, for the engine and for the library.
    """
    lost = []
    for ours, theirs, measured in zip(engine, library, zip(*times)):
        gain = margin * fits[0].time(ours) < fits[1].time(theirs)
        lost.append(measured[0 if gain else 1] / min(measured) - 1)
    return float(numpy.mean(lost))
