"""From which sizes on messages on device memory gain by each of their ways (src/plan/gpu_way.hpp), measured by forcing one after the other."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

from tabulate import tabulate

from ..bench.home import Home
from ..bench.results import Record
from ..bench.runner import RunError, launch_program
from . import model_file
from .measure import COMMON, WrongBytes
from .measure import PROGRAM as TELLER

PROGRAM = "bench_cuda_aware"
NEVER = 1 << 50  # bytes; the most that the file may say
SIZES = [8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20]
BLOCK = 512  # bytes, of the strided messages that show whether packing on the device pays
NOISE = 1.05  # a way that takes longer by less is as fast
LIMIT = 120.0  # seconds that one launch may take

# The settings and the figures that force a way.
WAYS: Dict[str, Tuple[str, Dict[str, int]]] = {
    "direct": ("direct", {"direct": 0, "shared": NEVER}),
    "rings": ("staged", {"shared": 0}),
    "staged": ("staged", {"shared": NEVER}),
    "passed": ("pass", {"passed": 0}),
    "not passed": ("pass", {"passed": NEVER}),
}


@dataclass
class Gpu:
    """What was found with one MPI: seconds by way and size, and the sizes from which ways pay."""

    header: Record  # of the program that knows the machine and the MPI
    device: str
    times: Dict[str, Dict[int, float]]
    sizes: Dict[str, int] = field(default_factory=dict)


def least(better: Dict[int, float], others: Sequence[Dict[int, float]]) -> int:
    """The smallest size from which on one way is as fast as the others or faster; 0 where that is the smallest measured, NEVER where there is none."""
    sizes = sorted(set(better).intersection(*others)) if others else sorted(better)
    found = NEVER
    for size in reversed(sizes):
        if better[size] > NOISE * min(other[size] for other in others):
            break
        found = size
    return 0 if sizes and found == sizes[0] else found


def choose(times: Dict[str, Dict[int, float]]) -> Dict[str, int]:
    """The figures for the model file."""
    sizes = {"shared": least(times["rings"], [times["staged"]]), "direct": least(times["direct"], [times["rings"], times["staged"]])}
    if "passed" in times:
        sizes["passed"] = least(times["passed"], [times["not passed"]])
    return sizes


def _measure_way(home: Home, mpi: str, header: Record, way: str, launch: Sequence[str]) -> Tuple[Record, Dict[int, float]]:
    path, figures = WAYS[way]
    strided = "passed" in way
    sizes = ",".join(map(str, SIZES))
    arguments = ["--memory", "device", "--window", "1", "--seconds", "0.05", "--least-samples", "11", "--most-samples", "300", "--fresh-bytes", str(SIZES[0]),
                 *(["--bytes", str(SIZES[0]), "--strided-bytes", sizes, "--blocks", str(BLOCK)] if strided
                   else ["--bytes", sizes, "--strided-bytes", str(SIZES[0]), "--blocks", str(BLOCK)])]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.json"
        entry = {**{name: header[name] for name in ("library", "major", "minor")}, "date": "", "gpu": figures}
        model_file.write(model, header["machine"], {"date": ""}, [entry])
        records = launch_program(home, PROGRAM, mpi, arguments, 2, launch=launch, limit=LIMIT,
                                 settings={**COMMON, "DUNNAGE_MODEL": str(model), "DUNNAGE_GPU_PATH": path})
    found = [one for one in records if one["record"] == "result" and one["pattern"] == "latency" and one["buffers"] == "reused" and bool(one["block"]) == strided]
    if not all(one["verified"] for one in records if one["record"] == "result"):
        raise WrongBytes(f"Dunnage gave wrong bytes with {mpi}, {way}")
    return records[0], {one["bytes"]: one["seconds"]["p50"] for one in found}


def measure(home: Home, mpi: str, launch: Sequence[str], say: Callable[[str], None]) -> Gpu:
    """Every way that this MPI has."""
    header = launch_program(home, TELLER, mpi, ["--seconds", "0.1", "--most", "4096"], 2, settings=COMMON, launch=launch, limit=LIMIT)[0]
    found = Gpu(header, "", {})
    for way in WAYS:
        say(f"{mpi}: {way}")
        device, times = _measure_way(home, mpi, header, way, launch)
        found.device = device["device"]
        found.times[way] = times
        if way == "staged" and not device["cuda_aware"]:
            break
    found.sizes = choose(found.times)
    return found


def measure_all(home: Home, mpis: List[str], launch: Sequence[str], say: Callable[[str], None]) -> List[Gpu]:
    """Every MPI in turn. One that does not run is said and left out."""
    found = []
    for mpi in mpis:
        try:
            found.append(measure(home, mpi, launch, say))
        except WrongBytes:
            raise
        except RunError as error:
            say(f"{mpi}: {error}")
    return found


def merge(old: List[Dict[str, Any]], found: List[Gpu], date: str) -> List[Dict[str, Any]]:
    """What was measured now beside all else that the file has."""
    entries = model_file.entries(old)
    for one in found:
        entry = model_file.entry_of(entries, one.header, date)
        entry["gpu"] = {**one.sizes, "device": one.device, "date": date}
        entry["curves"] = {**entry.get("curves", {}), "gpu": {
            way: "; ".join(f"{size} {round(1e9 * seconds)}" for size, seconds in sorted(times.items())) for way, times in one.times.items()}}
    return list(entries.values())


def report(one: Gpu) -> str:
    """What a message takes by each way, and what follows."""
    rows = [[size, *(f"{1e6 * one.times[way][size]:.1f}" if size in one.times[way] else "-" for way in one.times)]
            for size in sorted({size for times in one.times.values() for size in times})]
    table = tabulate(rows, headers=["bytes, us", *one.times], disable_numparse=True)

    def said(size: int) -> str:
        return "always" if size == 0 else "never" if size == NEVER else f"from {size} bytes on"

    names = {"direct": "read by the receiver's GPU", "shared": "rings in shared memory, where that cannot be", "passed": "packed on the device for this MPI"}
    lines = [f"{names[name]}: {said(size)}" for name, size in one.sizes.items()]
    return "\n".join([f"{one.header['library']} {one.header['major']}.{one.header['minor']}, {one.device}", table, *lines])
