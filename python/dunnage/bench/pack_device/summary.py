"""The figures of the pack benchmark on device memory that are compared with thresholds."""

from __future__ import annotations

from statistics import geometric_mean
from typing import Any, Callable, Dict, Iterable, List, Optional

from ..figure import Figure
from ..statistics import consistently_slower
from .results import SYNCHRONISED, DeviceResult

MIB = 1 << 20
DECISIVE = 10  # the number of samples that consistently_slower needs
Criteria = Dict[str, Dict[str, Any]]
Value = Callable[[DeviceResult], Optional[float]]


def spread(result: DeviceResult) -> Optional[float]:
    """Returns by which share the slowest description of the same data is slower than the fastest.
    """
    times = [result.time(name) for name in result.descriptions("dunnage")]
    return max(times) / min(times) - 1 if len(times) > 1 else None


def over_launch(suffix: str = "") -> Value:
    """Returns a function that returns the microseconds beyond the launch of an empty kernel."""
    return lambda r: None if r.launch is None else 1e6 * (r.slowest("dunnage", suffix) - r.launch)


def over_bare_kernel(result: DeviceResult) -> Optional[float]:
    """Returns the microseconds of a call beyond the blog post's kernel.

    On little data that kernel is hardly more than a launch.
    """
    return 1e6 * (result.slowest("dunnage") - result.time("document")) if result.has("document") else None


def over_copy(result: DeviceResult) -> Optional[float]:
    """Returns the time over that of CUDA's own copy."""
    return result.slowest("dunnage") / result.time("memcpy") if result.has("memcpy") else None


def slower_than_copy(result: DeviceResult) -> bool:
    """Returns whether CUDA's own copy is faster, and not by chance.

    The samples were taken in turn.
    """
    if not result.has("memcpy"):
        return False
    copy = result.series["memcpy"]["samples"]
    return consistently_slower(copy, result.series[result.slowest_name("dunnage")]["samples"])


def _is_shape(result: DeviceResult) -> bool:
    return result.kind == "box" and result.payload == MIB


class _Group:
    """The figures of the results of one MPI, operation and mode."""

    def __init__(self, results: List[DeviceResult], criteria: Criteria) -> None:
        self.results, self.criteria, self.figures = results, criteria, []
        self.head = results[0]

    def add(self, name: str, value: float, asked: Optional[float], pattern: Optional[str], at_most: bool) -> None:
        one = self.head
        self.figures.append(
            Figure(one.mpi, name, value, asked, pattern, at_most, mode=one.mode, operation=one.operation)
        )

    def worst(self, name: str, chosen: Iterable[DeviceResult], value: Value, asked: Optional[float],
              at_most: bool) -> None:
        """Adds the worst value: the largest if the threshold is an upper bound, else the smallest.
        """
        found = [(value(r), r.name) for r in chosen]
        known = [(number, which) for number, which in found if number is not None]
        if known:
            number, which = (max if at_most else min)(known)
            self.add(name, number, asked, which, at_most)

    def mean(self, name: str, other: Callable[[DeviceResult], Optional[float]]) -> None:
        """Adds the geometric mean of how many times faster Dunnage is than another series."""
        ratios = [theirs / r.slowest("dunnage") for r in self.results for theirs in [other(r)] if theirs is not None]
        if ratios:
            self.add(name, geometric_mean(ratios), None, None, False)


def _cold(group: _Group) -> None:
    asked = group.criteria.get("limit", {})
    large = [r for r in group.results if r.payload >= asked.get("payload", 8 * MIB)]
    regular = [r for r in large if r.kind in asked.get("kinds", ())]

    def share(r: DeviceResult) -> Optional[float]:
        return r.share_of_limit

    long, short = [r for r in regular if r.block >= 8], [r for r in regular if r.block < 8]
    group.worst("limit, rows of 8 bytes and more", long, share, asked.get("long"), False)
    group.worst("limit, rows of less than 8 bytes", short, share, asked.get("short"), False)
    lists = [r for r in large if r.kind == "list"]
    group.worst("limit, lists of 8-byte blocks", [r for r in lists if r.block == 8], share, asked.get("lists"), False)
    group.worst("limit, other lists", [r for r in lists if r.block != 8], share, None, False)
    halos = [r for r in group.results if r.kind == "halo"]
    group.worst("limit, 26 halo regions", halos, share, asked.get("halo"), False)
    for kind in ("struct", "transpose"):
        group.worst(f"limit, {kind}", [r for r in large if r.kind == kind], share, None, False)


def _both(group: _Group) -> None:
    asked = group.criteria
    results = group.results
    boxes = [r for r in results if r.kind == "box"]
    group.worst("descriptions of one box differ by", boxes, spread, asked.get("descriptions", {}).get("spread"), True)
    shapes = asked.get("shapes", {})
    rows = [r for r in results if _is_shape(r) and r.block > 1]
    group.worst("1 MiB shapes, over launch, us", rows, over_launch(), shapes.get("over_launch_us"), True)
    group.worst("1 MiB shapes, over launch, waited for once more, us", rows, over_launch(SYNCHRONISED), None, True)
    bytes_only = [r for r in results if _is_shape(r) and r.block == 1]
    group.worst("1 MiB of 1-byte rows, us", bytes_only, lambda r: 1e6 * r.slowest("dunnage"), shapes.get("bytes_us"),
                True)
    small = [r for r in results if r.kind == "box" and r.payload <= 65536]
    call = asked.get("call", {})
    group.worst("call over a bare kernel, up to 64 KiB, us", small, over_bare_kernel, call.get("over_kernel_us"), True)
    slower = [r for r in results if slower_than_copy(r)]
    with_copy = [r for r in results if r.has("memcpy")]
    if with_copy:
        # The test needs ten samples. If a case that could be slower has fewer, there is no
        # threshold.
        decided = all(len(r.series[r.slowest_name("dunnage")]["samples"]) >= DECISIVE or over_copy(r) <= 1
                      for r in with_copy)
        bound = asked.get("copy", {}).get("slower") if decided else None
        which = ", ".join(r.name for r in slower[:3]) + (", ..." if len(slower) > 3 else "")
        group.add("cases slower than CUDA's copy", len(slower), bound, which, True)
    group.worst("time over CUDA's copy", with_copy, over_copy, None, True)
    group.mean("geometric mean, document/Dunnage", lambda r: r.time("document") if r.has("document") else None)
    group.mean("geometric mean, plain/Dunnage", lambda r: r.slowest("plain") if r.descriptions("plain") else None)


def _unpack_against_pack(results: List[DeviceResult], criteria: Criteria) -> List[Figure]:
    """Compares unpacking with packing: times, which have a threshold, and shares of the limit.

    The shares say whether memory or code is the reason.
    """
    asked = criteria.get("unpack", {})
    packs = {(r.mpi, r.name): r for r in results if r.operation == "pack" and r.mode == "cold"}
    unpacks = [r for r in results if r.operation == "unpack" and r.mode == "cold" and (r.mpi, r.name) in packs]
    figures: List[Figure] = []
    for mpi in dict.fromkeys(r.mpi for r in unpacks):
        large = [r for r in unpacks if r.mpi == mpi and r.payload >= asked.get("payload", 8 * MIB)]
        if not large:
            continue
        group = _Group(large, criteria)

        def times(r: DeviceResult) -> float:
            return r.slowest("dunnage") / packs[r.mpi, r.name].slowest("dunnage")

        def shares(r: DeviceResult) -> Optional[float]:
            other = packs[r.mpi, r.name].share_of_limit
            return None if r.share_of_limit is None or other is None else other / r.share_of_limit

        group.worst("unpack over pack, time", large, times, asked.get("over_pack"), True)
        group.worst("unpack over pack, each over its limit", large, shares, None, True)
        figures += group.figures
    return figures


def summarize_device(results: List[DeviceResult], criteria: Criteria) -> List[Figure]:
    """Returns all figures: for each MPI, mode and operation, the worst case of each kind."""
    tested = [r for r in results if r.descriptions("dunnage")]
    groups: Dict[tuple, List[DeviceResult]] = {}
    for result in tested:
        groups.setdefault((result.mpi, result.mode, result.operation), []).append(result)
    figures: List[Figure] = []
    for (_, mode, _), members in groups.items():
        group = _Group(members, criteria)
        if mode == "cold":
            _cold(group)
        _both(group)
        figures += group.figures
    return figures + _unpack_against_pack(tested, criteria)
