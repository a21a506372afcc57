"""What `dunnage bench noncontiguous-send` measured, and the figures that it is held to."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, median, pstdev
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .figure import Figure
from .results import Measured, join
from .runner import Run
from .statistics import consistently_slower, without_outliers

REFERENCE = "contiguous"


@dataclass
class Send(Measured):
    """One scheme at one payload, with one MPI. `pattern` is the scheme.

    Each series has, besides what is joined from all launches, `launches`: the document's mean of each.
    """

    bytes: int

    def time(self, series: str) -> float:
        """The mean without outliers; of several launches, the median of theirs."""
        return median(launch["mean"] for launch in self.series[series]["launches"])

    def against(self, series: str, other: Send, reference: str) -> float:
        """How many times the time of another series: launch by launch, since these differ in speed."""
        pairs = zip(self.series[series]["launches"], other.series[reference]["launches"])
        return median(mine["mean"] / theirs["mean"] for mine, theirs in pairs)

    @property
    def slower(self) -> float:
        """By what share Dunnage takes longer than plain MPI: the median of the samples taken in turn, which a busy machine
        hardly moves, while it moves means by any factor."""
        pairs = zip(self.series["dunnage"]["samples"], self.series["plain"]["samples"])
        return median(mine / theirs for mine, theirs in pairs) - 1

    def spread(self, series: str) -> float:
        """The standard deviation of what was not dropped, as a share of the mean."""
        return median(launch["spread"] for launch in self.series[series]["launches"])

    def dropped(self, series: str) -> int:
        """How many samples were."""
        return sum(launch["dropped"] for launch in self.series[series]["launches"])

    @property
    def within_noise(self) -> bool:
        """Whether chance may have made it slower than plain MPI. Its samples were taken in pairs."""
        return not consistently_slower(self.series["plain"]["samples"], self.series["dunnage"]["samples"])


def _launch(samples: List[float]) -> Dict[str, Any]:
    kept = without_outliers(samples)
    return {"mean": mean(kept), "spread": pstdev(kept) / mean(kept), "dropped": len(samples) - len(kept)}


def sends(run: Run) -> List[Send]:
    """The results of all launches."""
    found = [Send(**one) for one in join(run.records, ("pattern", "bytes"))]
    places = {(send.mpi, send.pattern, send.bytes): send for send in found}
    for mpi, record in run.records:
        send = places[mpi, record["pattern"], record["bytes"]]
        for name, series in record["series"].items():
            send.series[name].setdefault("launches", []).append(_launch(series["samples"]))
    return found


def references(results: List[Send]) -> Dict[Tuple[str, int], Send]:
    """The contiguous send of each MPI and payload."""
    return {(send.mpi, send.bytes): send for send in results if send.pattern == REFERENCE}


def slowdown(send: Send, series: str, contiguous: Mapping[Tuple[str, int], Send]) -> Optional[float]:
    """Against plain MPI's contiguous send of the same bytes; None where that was not measured."""
    reference = contiguous.get((send.mpi, send.bytes))
    return None if reference is None else send.against(series, reference, "plain")


def slower_sends(results: List[Send], share: float) -> List[Send]:
    """Those that take longer with Dunnage by more than a share, worst first."""
    return sorted((send for send in results if send.slower > share), key=lambda send: -send.slower)


def size(number: int) -> str:
    """Bytes, as people write them: 512 KiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number} B"


def _where(send: Send) -> str:
    return f"{send.pattern}, {size(send.bytes)}"


def summarize_sends(results: List[Send], criteria: Dict[str, Dict[str, Any]]) -> List[Figure]:
    """For each MPI: the worst slowdown of each kind of large send, and how many are slower than plain MPI."""
    contiguous = references(results)
    figures: List[Figure] = []
    for mpi in dict.fromkeys(send.mpi for send in results):
        own = [send for send in results if send.mpi == mpi]
        for kind, asked in criteria.items():
            counted = [send for send in own if send.pattern in asked.get("schemes", ())
                       and send.bytes >= asked["from_bytes"]]
            for series, bound in (("dunnage", asked.get("slowdown")), ("plain", None)):
                ratios = [(slowdown(send, series, contiguous), _where(send)) for send in counted]
                known = [(ratio, where) for ratio, where in ratios if ratio is not None]
                if known:
                    worst, where = max(known)
                    name = f"{kind}: worst slowdown from {size(asked['from_bytes'])}, {series}"
                    figures.append(Figure(mpi, name, worst, bound, where, at_most=True))
        share = criteria.get("slower", {}).get("share", 0.0)
        slower = slower_sends(own, share)
        name = f"slower than plain by more than {share:.0%}"
        figures.append(Figure(mpi, name, len(slower)))
        sure = [send for send in slower if not send.within_noise]
        where_worst = _where(sure[0]) if sure else None
        figures.append(Figure(mpi, f"{name}, beyond noise", len(sure), 0, where_worst, at_most=True))
    return figures
