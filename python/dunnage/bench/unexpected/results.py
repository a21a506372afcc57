"""What a run of the benchmark of late receivers says: a series for each MPI, call, size, number of
messages, lateness and variant.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Dict, List, Optional, Tuple

from ..experiment import Experiment
from ..figure import Figure
from ..results import Record
from ..runner import Run
from ..statistics import geometric_mean
from ..units import size

Key = Tuple[str, int, int, int, int, str, float]
FLOOR = 10e-6  # seconds; shorter times do not tell a collapse from noise


@dataclass
class Late:
    """One call at one size and lateness. Times are in seconds, without the lateness: the median of
    each launch.
    """

    mpi: str
    ranks: int
    bytes: int
    block: int
    messages: int
    call: str
    lateness: float
    times: Dict[str, List[float]] = field(default_factory=dict)  # of each variant
    blocked: Dict[str, List[float]] = field(default_factory=dict)  # the sender, in its calls
    peak: Dict[str, int] = field(default_factory=dict)  # bytes of the larger process
    shared: Dict[str, int] = field(default_factory=dict)  # bytes of all ranks together
    device: Dict[str, int] = field(default_factory=dict)  # bytes beside the messages' own
    ways: Dict[str, int] = field(default_factory=dict)  # Dunnage's, of all degrees of lateness
    verified: Dict[str, bool] = field(default_factory=dict)

    @property
    def size(self) -> str:
        """Names the layout and the number of the messages."""
        return f"{self.messages} x {size(self.bytes)}, {layout(self.block)}"

    @property
    def name(self) -> str:
        """Names the call with its size and lateness."""
        return f"{self.call}, {self.size}, {delay(self.lateness)} late"

    @property
    def place(self) -> Tuple[str, int, int, int, int, str]:
        """Returns everything but the lateness."""
        return (self.mpi, self.ranks, self.bytes, self.block, self.messages, self.call)

    def time(self, variant: str) -> float:
        """Returns the median of the launches."""
        return median(self.times[variant])

    @property
    def compared(self) -> bool:
        """Returns whether both variants were measured."""
        return bool(self.times.get("plain")) and bool(self.times.get("dunnage"))

    @property
    def ratio(self) -> float:
        """Returns plain over Dunnage: the median of the ratios of the launches that took turns."""
        return median(plain / own for plain, own in zip(self.times["plain"], self.times["dunnage"]))


def layout(block: int) -> str:
    """Names a layout."""
    return f"blocks of {size(block)}" if block else "contiguous"


def delay(seconds: float) -> str:
    """Formats a lateness, for example as 10 us or 1 ms."""
    return f"{1e3 * seconds:g} ms" if seconds >= 1e-3 else f"{round(1e6 * seconds, 3):g} us"


def lates(run: Run) -> List[Late]:
    """Joins the launches."""
    found: Dict[Key, Late] = {}
    for mpi, record in run.records:
        key = (mpi, record["ranks"], record["bytes"], record["block"], record["messages"], record["call"],
               record["lateness"])
        _add(found.setdefault(key, Late(*key)), record)
    return list(found.values())


def _add(one: Late, record: Record) -> None:
    variant = record["variant"]
    one.times.setdefault(variant, []).append(record["seconds"]["median"])
    one.blocked.setdefault(variant, []).append(record["in_calls"]["median"] + record["in_wait"]["median"])
    for most, value in (
        (one.peak, max(record["peak_bytes"].values())),
        (one.shared, record["shared_bytes"]),
        (one.device, record["device_bytes"]),
    ):
        if value is not None:
            most[variant] = max(most.get(variant, value), value)
    one.verified[variant] = one.verified.get(variant, True) and record["verified"]
    one.ways = dict(Counter(one.ways) + Counter(record.get("ways", {})))


def when_on_time(results: List[Late]) -> Dict[Tuple[str, int, int, int, int, str], Late]:
    """Returns the result without lateness for each place that has one."""
    return {one.place: one for one in results if one.lateness == 0}


def over_on_time(one: Late, on_time: Optional[Late], variant: str) -> float:
    """Returns the time over that of the receiver that was on time: the median of the launches.

    Returns not a number if there is none.
    """
    if on_time is None or not one.times.get(variant) or not on_time.times.get(variant):
        return float("nan")
    return median(late / early for late, early in zip(one.times[variant], on_time.times[variant]))


def collapse(one: Late, on_time: Late, variant: str) -> float:
    """Returns over_on_time() of the medians. Times below FLOOR count as FLOOR."""
    return max(one.time(variant), FLOOR) / max(on_time.time(variant), FLOOR)


def summarize_lates(results: List[Late], experiment: Experiment) -> List[Figure]:
    """Returns for each MPI how late messages compare with plain MPI, and how much slower than
    messages on time they are in the worst case.
    """
    figures: List[Figure] = []
    asked = experiment.criteria.get("plain", {})
    most = experiment.criteria.get("late", {}).get("most")
    on_time = when_on_time(results)
    for mpi in dict.fromkeys(one.mpi for one in results):
        own = [one for one in results if one.mpi == mpi and one.lateness > 0]
        compared = [one for one in own if one.compared]
        if compared:
            worst = min(compared, key=lambda one: one.ratio)
            figures.append(Figure(mpi, "late, geometric mean, plain/Dunnage",
                                  geometric_mean([one.ratio for one in compared]), asked.get("mean")))
            figures.append(Figure(mpi, "late, slowest, plain/Dunnage", worst.ratio, asked.get("least"),
                                  pattern=worst.name))
        for variant, name in (("plain", "plain"), ("dunnage", "Dunnage")):
            pairs = [(collapse(one, on_time[one.place], variant), one.name) for one in own
                     if one.place in on_time and one.times.get(variant) and on_time[one.place].times.get(variant)]
            if pairs:
                value, pattern = max(pairs)
                figures.append(Figure(mpi, f"late over on time, worst, {name}", value,
                                      most if variant == "dunnage" else None, pattern=pattern, at_most=True))
    return figures
