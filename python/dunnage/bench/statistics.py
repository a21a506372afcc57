"""The statistics that all benchmarks use."""

from __future__ import annotations

from typing import Dict, List, Sequence

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
