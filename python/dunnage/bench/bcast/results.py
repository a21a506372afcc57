"""The results of `dunnage bench bcast`, and the figures that are compared with thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from ..figure import Figure
from ..runner import Run
from ..statistics import geometric_mean, summarize
from ..units import size

SYNCHRONISED, LOOP = "synchronised", "loop"
# Pairs that are compared. The ratio of their times says how many times faster the first way is.
PAIRS = (("tuned", "native"), ("dunnage", "plain"), ("dunnage-ibcast", "plain-ibcast"))


@dataclass
class Broadcast:
    """One broadcast in all ways, with one MPI. Times are in seconds."""

    mpi: str
    ranks: int
    bytes: int
    buffers: str
    roots: str
    series: Dict[str, Dict[str, Any]]

    def time(self, way: str, method: str = SYNCHRONISED) -> Optional[float]:
        """Returns the median of all launches, or None if the way was not measured."""
        found = self.series.get(way, {}).get(method)
        return float(found["median"]) if found else None

    def ratio(self, faster: str, slower: str, method: str = SYNCHRONISED) -> Optional[float]:
        """Returns how many times faster one way is than another, or None if one was not measured.
        """
        mine, theirs = self.time(faster, method), self.time(slower, method)
        return theirs / mine if mine and theirs else None

    def spread(self, way: str, method: str = SYNCHRONISED) -> Optional[float]:
        """Returns the spread from the 10th to the 90th percentile, as a share of the median."""
        found = self.series.get(way, {}).get(method)
        return (found["p90"] - found["p10"]) / found["median"] if found else None

    @property
    def where(self) -> str:
        """Names the broadcast for people who look for it."""
        return f"{self.ranks} ranks, {size(self.bytes)}, {self.buffers}, root {self.roots}"


def broadcasts(run: Run) -> List[Broadcast]:
    """Joins the results of all launches. A way is right only if it was right in every launch."""
    found: Dict[Tuple[Any, ...], Broadcast] = {}
    for mpi, record in run.records:
        key = (mpi, record["ranks"], record["bytes"], record["buffers"], record["roots"])
        one = found.setdefault(key, Broadcast(*key, series={}))
        for way, measured in record["series"].items():
            series = one.series.setdefault(way, {"verified": True, "late": 0})
            series["verified"] &= measured["verified"]
            series["late"] += measured["late"]
            for method in (SYNCHRONISED, LOOP):
                series.setdefault(method, {"samples": []})["samples"] += measured.get(method, {}).get("samples", [])
            for counted in ("messages", "bytes_received"):
                if counted in measured:
                    series[counted] = measured[counted]
    for one in found.values():
        for series in one.series.values():
            for method in (SYNCHRONISED, LOOP):
                if series[method]["samples"]:
                    series[method].update(summarize(series[method]["samples"]))
                else:
                    del series[method]
    return list(found.values())


def saved(ranks: int) -> int:
    """Returns how many messages the opened ring saves.

    This is the sum, over all ranks, of the chunks that the scatter has brought besides the rank's
    own.
    """
    return sum(bin(rank).count("1") for rank in range(ranks))


def miscounted(results: List[Broadcast]) -> List[str]:
    """Names broadcasts whose numbers of messages or bytes are not those of the formulas."""
    wrong = []
    for one in results:
        native, tuned = one.series.get("native", {}), one.series.get("tuned", {})
        if "messages" not in native or "messages" not in tuned:
            continue
        if native["messages"] - tuned["messages"] != saved(one.ranks) and one.bytes >= one.ranks:
            counts = f"{native['messages']} messages of native, {tuned['messages']} of tuned"
            wrong.append(f"{one.mpi}, {one.where}: {counts}")
        if tuned["bytes_received"] != (one.ranks - 1) * one.bytes:
            wrong.append(f"{one.mpi}, {one.where}: {tuned['bytes_received']} bytes received with tuned")
    return wrong


def _known(results: List[Broadcast], faster: str, slower: str, method: str) -> List[Tuple[float, Broadcast]]:
    ratios = [(one.ratio(faster, slower, method), one) for one in results]
    return [(ratio, one) for ratio, one in ratios if ratio is not None]


def slower_broadcasts(results: List[Broadcast], least: float,
                      method: str = SYNCHRONISED) -> List[Tuple[float, Broadcast, str, str]]:
    """Returns the broadcasts that take longer with Dunnage than with plain MPI, the worst first.

    Each has how many times faster Dunnage is, the broadcast, Dunnage's way and the plain way.
    """
    known = [(ratio, one, faster, slower) for faster, slower in PAIRS[1:]
             for ratio, one in _known(results, faster, slower, method)]
    return sorted((found for found in known if found[0] < least), key=lambda found: found[0])


def summarize_broadcasts(results: List[Broadcast], criteria: Dict[str, Dict[str, Any]]) -> List[Figure]:
    """Compares the ways for each MPI, by both methods.

    Only figures of the synchronised method have thresholds.
    """
    figures: List[Figure] = []
    for mpi in dict.fromkeys(one.mpi for one in results):
        own = [one for one in results if one.mpi == mpi]
        for faster, slower in PAIRS:
            asked = criteria.get(faster, {})
            for method in (SYNCHRONISED, LOOP):
                known = _known(own, faster, slower, method)
                if not known:
                    continue
                held = method == SYNCHRONISED
                worst, where = min(known, key=lambda pair: pair[0])
                name = f"{slower} over {faster}, {method}"
                figures.append(Figure(mpi, f"{name}: worst", worst, asked.get("least") if held else None, where.where))
                mean = geometric_mean([ratio for ratio, _ in known])
                bound = asked.get("mean", {}).get(mpi) if held else None
                figures.append(Figure(mpi, f"{name}: geometric mean", mean, bound))
                best, where = max(known, key=lambda pair: pair[0])
                figures.append(Figure(mpi, f"{name}: best", best, None, where.where))
    return figures
