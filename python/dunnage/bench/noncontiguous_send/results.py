"""The results of `dunnage bench noncontiguous-send`, and the figures that are compared with
thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, median, pstdev
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..figure import Figure
from ..results import Measured, join
from ..runner import Run
from ..statistics import consistently_slower, without_outliers
from ..units import size

REFERENCE = "contiguous"


@dataclass
class Send(Measured):
    """One scheme at one payload, with one MPI. `pattern` is the scheme.

    Besides what is joined from all launches, each series has `launches`: for each launch, the mean
    as in Eijkhout's report.
    """

    bytes: int

    def time(self, series: str) -> float:
        """Returns the mean without outliers.

        If there are several launches, returns the median of their means.
        """
        return median(launch["mean"] for launch in self.series[series]["launches"])

    def against(self, series: str, other: Send, reference: str) -> float:
        """Returns how many times the time of another series this one takes.

        Times are compared launch by launch, because launches differ in speed.
        """
        pairs = zip(self.series[series]["launches"], other.series[reference]["launches"])
        return median(mine["mean"] / theirs["mean"] for mine, theirs in pairs)

    @property
    def slower(self) -> float:
        """Returns by which share Dunnage takes longer than plain MPI.

        This is a median over samples that were taken in turn. A busy machine hardly changes it,
        while it may change means by any factor.
        """
        pairs = zip(self.series["dunnage"]["samples"], self.series["plain"]["samples"])
        return median(mine / theirs for mine, theirs in pairs) - 1

    def spread(self, series: str) -> float:
        """Returns the standard deviation of the samples that were kept, as a share of the mean."""
        return median(launch["spread"] for launch in self.series[series]["launches"])

    def dropped(self, series: str) -> int:
        """Returns the number of samples that were dropped."""
        return sum(launch["dropped"] for launch in self.series[series]["launches"])

    @property
    def within_noise(self) -> bool:
        """Returns whether the send may be slower than plain MPI by chance.

        Its samples were taken in pairs.
        """
        return not consistently_slower(self.series["plain"]["samples"], self.series["dunnage"]["samples"])


def _launch(samples: List[float]) -> Dict[str, Any]:
    kept = without_outliers(samples)
    return {"mean": mean(kept), "spread": pstdev(kept) / mean(kept), "dropped": len(samples) - len(kept)}


def sends(run: Run) -> List[Send]:
    """Joins the results of all launches."""
    found = [Send(**one) for one in join(run.records, ("pattern", "bytes"))]
    places = {(send.mpi, send.pattern, send.bytes): send for send in found}
    for mpi, record in run.records:
        send = places[mpi, record["pattern"], record["bytes"]]
        for name, series in record["series"].items():
            send.series[name].setdefault("launches", []).append(_launch(series["samples"]))
    return found


def references(results: List[Send]) -> Dict[Tuple[str, int], Send]:
    """Returns the contiguous send of each MPI and payload."""
    return {(send.mpi, send.bytes): send for send in results if send.pattern == REFERENCE}


def slowdown(send: Send, series: str, contiguous: Mapping[Tuple[str, int], Send]) -> Optional[float]:
    """Returns the time over that of plain MPI's contiguous send of the same bytes, or None if that
    was not measured.
    """
    reference = contiguous.get((send.mpi, send.bytes))
    return None if reference is None else send.against(series, reference, "plain")


def slower_sends(results: List[Send], share: float) -> List[Send]:
    """Returns the sends that take longer with Dunnage by more than a share, the worst first."""
    return sorted((send for send in results if send.slower > share), key=lambda send: -send.slower)


def _where(send: Send) -> str:
    return f"{send.pattern}, {size(send.bytes)}"


def summarize_sends(results: List[Send], criteria: Dict[str, Dict[str, Any]]) -> List[Figure]:
    """Returns for each MPI the worst slowdown of each kind of large send, and how many sends are
    slower than with plain MPI.
    """
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
