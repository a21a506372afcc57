"""The statistics that all benchmarks use."""

from __future__ import annotations

import math
from typing import Dict, List, Sequence, Tuple

import numpy


def summarize(samples: Sequence[float]) -> Dict[str, float]:
    """Returns the median, the trimean, and the 10th and 90th percentiles.

    These are robust: a shared machine has long tails.
    """
    p10, q1, median, q3, p90 = numpy.percentile(numpy.asarray(samples, dtype=float), [10, 25, 50, 75, 90])
    return {
        "median": float(median),
        "trimean": float((q1 + 2 * median + q3) / 4),
        "p10": float(p10),
        "p90": float(p90),
    }


def geometric_mean(ratios: Sequence[float]) -> float:
    """Returns the mean for ratios.

    The mean of the reciprocals is the reciprocal of the mean. Raises ValueError if there are no
    ratios.
    """
    if not ratios:
        raise ValueError("no ratios to take the mean of")
    return float(numpy.exp(numpy.mean(numpy.log(numpy.asarray(ratios, dtype=float)))))


def median_interval(values: Sequence[float], confidence: float = 0.9) -> Tuple[float, float]:
    """Returns an interval that has the median of the distribution with this confidence.

    Its ends are two of the values, whatever the distribution is: H. A. David, H. N. Nagaraja,
    "Order Statistics", section 7.1. With fewer than five values the confidence is lower: the ends
    are then the least and the greatest value.
    """
    ordered = sorted(values)
    count = len(ordered)
    drop = 0  # values left out at either end
    while 2 * (drop + 1) < count:
        outside = 2 * sum(math.comb(count, k) for k in range(drop + 2)) / 2**count
        if outside > 1 - confidence:
            break
        drop += 1
    return ordered[drop], ordered[count - 1 - drop]


def consistently_slower(plain: Sequence[float], tested: Sequence[float]) -> bool:
    """Returns whether too many of the paired samples are slower for it to be chance: a sign test,
    at three deviations.

    The spread of each series does not tell. A disturbance that slows both series widens both and
    changes no pair.
    """
    slower = sum(mine > theirs for theirs, mine in zip(plain, tested))
    return bool(slower > len(plain) / 2 + 1.5 * len(plain) ** 0.5)


def without_outliers(samples: Sequence[float]) -> List[float]:
    """Returns the samples that are at most one standard deviation from the mean of all."""
    values = numpy.asarray(samples, dtype=float)
    return [float(value) for value in values[abs(values - values.mean()) <= values.std() * (1 + 1e-9)]]
