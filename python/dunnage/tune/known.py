"""Joins what several launches measured, and says which times are known. A time is the lower
quartile of its samples, because what disturbs a machine only makes times longer.

bench/tune/known.hpp judges the samples of one launch by this rule.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Sequence, Tuple

import numpy

from ..bench.results import Record

Key = Tuple[Any, ...]

QUARTILE, OUTSIDE = 0.25, 0.05  # the share of wrong intervals on either side
ENOUGH = 9  # with fewer samples, nothing is known
KEYS = ("kind", "direction", "bytes", "block", "far", "messages")


def key_of(record: Record) -> Key:
    """Returns what tells a case from the others."""
    return tuple(record.get(key) for key in KEYS)


def interval(samples: Sequence[float]) -> Tuple[float, float]:
    """Returns an interval that has the lower quartile of the distribution with a confidence of
    90 %. Its ends are two of the samples.

    With fewer than 11 samples, the lower end is the least sample, and the confidence is lower.
    """
    ordered, count = sorted(samples), len(samples)
    low, high = 0, count - 1
    probability, below = (1 - QUARTILE) ** count, 0.0  # of exactly k samples; of fewer than k
    for k in range(count):
        if below + probability <= OUTSIDE:
            low = k
        if 1 - below <= OUTSIDE:
            high = max(k, 1) - 1
            break
        below += probability
        probability *= (count - k) / (k + 1) * QUARTILE / (1 - QUARTILE)
    return ordered[low], ordered[max(low, high)]


def lower_quartile(samples: Sequence[float]) -> float:
    """Returns the lower quartile of the samples."""
    return float(numpy.percentile(numpy.asarray(samples, dtype=float), 100 * QUARTILE))


def known(series: Dict[str, Record], margin: float) -> bool:
    """Returns whether the lower quartiles of all series of one case are known to the factor
    `margin`.

    If the intervals of two series are that far apart, twice the uncertainty will do: who is faster
    is then known.
    """
    if min(len(one["samples"]) for one in series.values()) < ENOUGH:
        return False
    found = [interval(one["samples"]) for one in series.values()]
    widest = max(high / low if low > 0 else math.inf for low, high in found)
    if widest <= margin:
        return True
    if len(found) != 2 or widest > margin * margin:
        return False
    (low, high), (other_low, other_high) = found
    return margin * high < other_low or margin * other_high < low


def judged(record: Record, margin: float) -> Record:
    """Adds the lower quartiles of a record's series, in seconds, and whether they are known."""
    for one in record["series"].values():
        one["low"] = lower_quartile(one["samples"])
    record["known"] = known(record["series"], margin)
    return record


def join(launches: Sequence[Sequence[Record]], margin: float) -> List[Record]:
    """Joins the results of several launches of one kind. The cases keep their order."""
    joined: Dict[Key, Record] = {}
    for launch in launches:
        for record in launch:
            names = {key: value for key, value in record.items() if key != "series"}
            one = joined.setdefault(key_of(record), {**names, "series": {}})
            for name, measured in record["series"].items():
                one["series"].setdefault(name, {"samples": []})["samples"] += measured["samples"]
    return [judged(one, margin) for one in joined.values()]


def places(records: Sequence[Record]) -> str:
    """Returns which of the records are known, by their places, in the form of `bench_tune --known`:
    for example 0-3,7.
    """
    runs: List[List[int]] = []
    for place, one in enumerate(records):
        if not one["known"]:
            continue
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in runs)


def repeated(records: Sequence[Record], often: int, generator: numpy.random.Generator) -> List[List[Record]]:
    """Returns the records as so many other measurements might have found them: the samples are
    drawn from those that were measured (a bootstrap).
    """
    found: List[List[Record]] = [[{**one, "series": {}} for one in records] for _ in range(often)]
    for place, one in enumerate(records):
        for name, series in one["series"].items():
            samples = numpy.asarray(series["samples"], dtype=float)
            drawn = generator.choice(samples, (often, len(samples)))
            for again, low in zip(found, numpy.percentile(drawn, 100 * QUARTILE, axis=1)):
                again[place]["series"][name] = {"low": float(low)}
    return found
