"""The results of `dunnage bench cuda-aware`, and the figures that are compared with thresholds."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..figure import Figure
from ..runner import Run
from .run import REFERENCES

DEVICE = "device"
COPY_ENGINE = "copy engine"
TESTED = "dunnage"  # the variant that users have


@dataclass
class Transfer:
    """One series: messages of one kind and size, with one variant of one MPI.

    Times are in seconds on rank 0.
    """

    mpi: str
    variant: str
    memory: str
    # Latency: half of a round trip; one way and both ways: a window of messages and the answer.
    pattern: str
    bytes: int
    block: int  # bytes of a block of a vector; 0 if the message is contiguous
    window: int
    buffers: str
    verified: bool = True
    # Quantiles of the samples of each launch.
    launches: List[Dict[str, float]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Names what is compared: the variant and the memory. The references belong to no MPI."""
        return self.memory if self.variant == REFERENCES else f"{self.memory}, {self.variant}"

    @property
    def where(self) -> str:
        """Names the series for people who look for it."""
        strided = f", blocks of {self.block} B" if self.block else ""
        return f"{self.name}: {self.pattern}, {self.bytes} bytes{strided}, window {self.window}, {self.buffers} buffers"

    def time(self, quantile: str = "p50") -> float:
        """Returns a quantile in seconds.

        If there are several launches, returns the median of theirs.
        """
        return median(launch[quantile] for launch in self.launches)

    @property
    def bandwidth(self) -> float:
        """Returns the bytes per second, of both directions together."""
        return (2 if self.pattern == "both ways" else 1) * self.window * self.bytes / self.time()

    def to_json(self) -> Dict[str, Any]:
        """Returns the series for the results file."""
        return {**vars(self), "p50": self.time(), "p99": self.time("p99"), "bandwidth": self.bandwidth}


def transfers(run: Run) -> List[Transfer]:
    """Joins the results of all rounds. A series is right only if it was right in every round."""
    found: Dict[Tuple[Any, ...], Transfer] = {}
    fields = ("variant", "memory", "pattern", "bytes", "block", "window", "buffers")
    for mpi, record in run.records:
        values = {name: record[name] for name in fields}
        one = found.setdefault((mpi, *values.values()), Transfer(mpi, **values))
        one.verified = one.verified and record.get("verified", True)
        one.launches.append(record["seconds"])
    return list(found.values())


class Results:
    """All series, with functions to look them up."""

    def __init__(self, series: Iterable[Transfer]) -> None:
        self.all = list(series)
        self.mpis = list(dict.fromkeys(one.mpi for one in self.all if one.variant != REFERENCES))

    def select(self, mpi: Optional[str] = None, **values: Any) -> List[Transfer]:
        """Returns the series of the MPI and the references that have all the given values."""
        return [one for one in self.all if (mpi is None or one.mpi == mpi or one.variant == REFERENCES)
                and all(getattr(one, name) == value for name, value in values.items())]

    def windowed(self, mpi: Optional[str] = None, **values: Any) -> List[Transfer]:
        """Returns for each size the series with the longest window.

        The largest messages have short windows.
        """
        longest: Dict[Tuple[Any, ...], Transfer] = {}
        for one in self.select(mpi, **values):
            key = (one.mpi, one.variant, one.memory, one.pattern, one.bytes, one.block, one.buffers)
            if key not in longest or one.window > longest[key].window:
                longest[key] = one
        return list(longest.values())

    def bandwidth(self, mpi: Optional[str], **values: Any) -> Optional[float]:
        """Returns the bandwidth in windows, or None if it was not measured."""
        found = self.windowed(mpi, block=values.pop("block", 0), buffers="reused", **values)
        return found[0].bandwidth if found else None


def _worst(figures: List[Figure], mpi: str, name: str, shares: List[Tuple[float, str]], asked: Optional[float]) -> None:
    if shares:
        worst, where = min(shares)
        figures.append(Figure(mpi, name, worst, asked, where))


def _over(results: Results, mine: List[Transfer], **other: Any) -> List[Tuple[float, str]]:
    """Divides bandwidths by those of another series with the same bytes and direction."""
    found = []
    for one in mine:
        bandwidth = results.bandwidth(one.mpi, bytes=one.bytes, pattern=one.pattern, **other)
        if bandwidth:
            found.append((one.bandwidth / bandwidth, f"{one.bytes} bytes"))
    return found


def _of_mpi(results: Results, mpi: str, criteria: Dict[str, Dict[str, Any]]) -> List[Figure]:
    figures: List[Figure] = []
    own = {"memory": DEVICE, "variant": TESTED, "buffers": "reused"}
    asked = criteria.get("contiguous", {})
    least = asked.get("from_bytes", 0)
    for pattern in ("one way", "both ways"):
        mine = [one for one in results.windowed(mpi, pattern=pattern, block=0, **own) if one.bytes >= least]
        shares = _over(results, mine, memory=COPY_ENGINE)
        bound = asked.get(pattern.replace(" ", "_"))
        _worst(figures, mpi, f"{pattern} over the copy engine, from {least} bytes", shares, bound)

    asked = criteria.get("window", {})
    for one in results.windowed(mpi, pattern="one way", block=0, bytes=asked.get("bytes"), **own):
        name = f"one way, {one.bytes} bytes in a window, GB/s"
        figures.append(Figure(mpi, name, one.bandwidth / 1e9, asked.get("gigabytes")))
    for kind in ("latency", "strided latency"):
        asked = criteria.get(kind, {})
        for one in results.select(mpi, pattern="latency", bytes=asked.get("bytes"), block=asked.get("block", 0), **own):
            blocks = f", blocks of {one.block}" if one.block else ""
            name = f"half a round trip, {one.bytes} bytes{blocks}, us"
            figures.append(Figure(mpi, name, 1e6 * one.time(), asked.get("us"), at_most=True))

    asked = criteria.get("strided", {})
    least = asked.get("from_bytes", 0)
    for block, share in asked.get("blocks", {}).items():
        mine = [one for one in results.windowed(mpi, pattern="one way", block=int(block), **own) if one.bytes >= least]
        shares = _over(results, mine, memory=DEVICE, variant=TESTED)
        _worst(figures, mpi, f"one way, blocks of {block} over contiguous, from {least} bytes", shares, share)

    asked = criteria.get("staged", {})
    staged = {**own, "variant": "staged"}
    for one in results.windowed(mpi, **staged, pattern="one way", block=0, bytes=asked.get("bytes")):
        pinned = [results.bandwidth(mpi, memory=memory, pattern="one way", bytes=one.bytes)
                  for memory in ("device to pinned", "pinned to device")]
        if all(pinned):
            figures.append(Figure(mpi, f"staged path over copies from and to pinned memory, {one.bytes} bytes",
                                  one.bandwidth / min(filter(None, pinned)), asked.get("share")))
    return figures


def summarize_transfers(results: Results, criteria: Dict[str, Dict[str, Any]]) -> List[Figure]:
    """Returns for each MPI the figures that the experiment's file asks for, as far as they were
    measured.
    """
    return [figure for mpi in results.mpis for figure in _of_mpi(results, mpi, criteria)]
