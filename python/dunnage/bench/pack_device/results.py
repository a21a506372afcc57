"""The results of the pack benchmark on device memory, and the limit that they are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from ..results import Measured, Record, join
from ..runner import Run

# The time of a blocking call and one more wait for the device, which the call does not need.
SYNCHRONISED = ", synchronised"


@dataclass
class DeviceResult(Measured):
    """One operation on one case at one start, cold or warm."""

    start: str
    kind: str
    block: int
    payload: int
    operation: str
    mode: str
    traffic: int
    bandwidth: float  # bytes that a copy reads and writes per second
    skipped: Dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Names the case, with its start if that is not zero."""
        return self.pattern if self.start == "zero" else f"{self.pattern}, start {self.start}"

    def descriptions(self, who: str) -> List[str]:
        """Returns the series of `dunnage` or `plain`, one for each description of the data."""
        return [name for name in self.series if name.startswith(who + " ") and not name.endswith(SYNCHRONISED)]

    def slowest(self, who: str, suffix: str = "") -> float:
        """Returns the time of the slowest description."""
        return max(self.time(name + suffix) for name in self.descriptions(who))

    def slowest_name(self, who: str) -> str:
        """Returns the name of the slowest description."""
        return max(self.descriptions(who), key=self.time)

    @property
    def launch(self) -> Optional[float]:
        """Returns the time to launch an empty kernel and wait for it."""
        return self.time("empty") if self.has("empty") else None

    @property
    def probe(self) -> Optional[float]:
        """Returns the time of a kernel that touches each needed sector once, without its launch."""
        name = "read probe" if self.operation == "pack" else "write probe"
        return self.time(name) - self.time("empty") if self.has(name) and self.has("empty") else None

    @property
    def limit(self) -> Optional[float]:
        """Returns the least possible time.

        This is a launch and a wait, and the larger of the probe and of the traffic at a copy's
        bandwidth. Returns None if the data is cached, because a copy's bandwidth then says nothing,
        or if the kernels could not run.
        """
        if self.launch is None or self.probe is None or self.mode != "cold":
            return None
        return self.launch + max(self.traffic / self.bandwidth, self.probe)

    @property
    def share_of_limit(self) -> Optional[float]:
        """Returns the limit over the time of the slowest description: 1 if it takes no longer than
        the limit.
        """
        if self.limit is None or not self.descriptions("dunnage"):
            return None
        return self.limit / self.slowest("dunnage")

    @property
    def wrong(self) -> List[str]:
        """Returns the series that gave wrong bytes."""
        return [name for name, series in self.series.items() if not series.get("verified", True)]

    def to_json(self) -> Record:
        """Returns the result for the results file."""
        derived = {name: getattr(self, name) for name in ("launch", "probe", "limit", "share_of_limit", "wrong")}
        return {**vars(self), **derived}


def device_results(run: Run) -> List[DeviceResult]:
    """Joins the results of all rounds."""
    fields = ("kind", "block", "payload", "traffic")
    joined = join(run.records, ("mode", "operation", "pattern", "start"), fields)
    skipped = {_key(mpi, one): one["skipped"] for mpi, one in run.records}
    return [
        DeviceResult(**one, bandwidth=run.headers[one["mpi"]]["copy_bandwidth"], skipped=skipped[_key(one["mpi"], one)])
        for one in joined
    ]


def _key(mpi: str, one: Record) -> tuple:
    return (mpi, one["mode"], one["operation"], one["pattern"], one["start"])
