"""How much the times of broadcasts spread, and what is said of it."""

from __future__ import annotations

from statistics import mean
from typing import List

import numpy

from ..bench.results import Record

SPREAD = 1.3  # upper over lower quartile of one series
# Shares of series with such a spread: from SOME on it is reported, above MOST nothing is used.
SOME, MOST = 0.2, 0.5


def unsteady(records: List[Record], kind: str) -> float:
    """Returns the share of the series whose upper quartile is far from the lower one.

    On a quiet machine it is 1 to 5 %.
    """
    found = []
    for one in records:
        if one["kind"] == kind:
            for series in one["series"].values():
                low, high = numpy.percentile(series["samples"], [25, 75])
                found.append(float(high > SPREAD * low))
    return mean(found) if found else 0.0


def spread_text(share: float, times: str) -> str:
    """Returns a remark on times of which a share spread too much."""
    return f"{share:.0%} of {times} spread by more than {SPREAD - 1:.0%}; something disturbed them"
