"""Finds out from which sizes on messages in device memory gain by each of their ways
(src/plan/gpu_way.hpp).

It forces one way after the other and measures.
"""

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
NEVER = 1 << 50  # bytes; the largest size that the file may have
SIZES = [8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20]
# Bytes of the blocks of the strided messages that show whether packing on the device pays.
BLOCK = 512
NOISE = 1.05  # a way that takes longer by less than this factor is as fast
LIMIT = 120.0  # seconds that one launch may take

# The settings and the figures that force each way.
WAYS: Dict[str, Tuple[str, Dict[str, int]]] = {
    "direct": ("direct", {"direct": 0, "shared": NEVER}),
    "rings": ("staged", {"shared": 0}),
    "staged": ("staged", {"shared": NEVER}),
    "passed": ("pass", {"passed": 0}),
    "not passed": ("pass", {"passed": NEVER}),
}


@dataclass
class Gpu:
    """What was found out about one MPI: seconds by way and size, and the sizes from which the ways
    pay.
    """

    header: Record  # the header of the program that knows the machine and the MPI
    device: str
    times: Dict[str, Dict[int, float]]
    sizes: Dict[str, int] = field(default_factory=dict)


def least(better: Dict[int, float], others: Sequence[Dict[int, float]]) -> int:
    """Returns the smallest size from which on one way is as fast as the others or faster.

    Returns 0 if it is the smallest measured size, and NEVER if there is none.
    """
    sizes = sorted(set(better).intersection(*others)) if others else sorted(better)
    found = NEVER
    for size in reversed(sizes):
        if better[size] > NOISE * min(other[size] for other in others):
            break
        found = size
    return 0 if sizes and found == sizes[0] else found


def choose(times: Dict[str, Dict[int, float]]) -> Dict[str, int]:
    """Returns the figures for the model file."""
    sizes = {"shared": least(times["rings"], [times["staged"]]),
             "direct": least(times["direct"], [times["rings"], times["staged"]])}
    if "passed" in times:
        sizes["passed"] = least(times["passed"], [times["not passed"]])
    return sizes


def _measure_way(home: Home, mpi: str, header: Record, way: str,
                 launch: Sequence[str]) -> Tuple[Record, Dict[int, float]]:
    path, figures = WAYS[way]
    strided = "passed" in way
    sizes = ",".join(map(str, SIZES))
    smallest = str(SIZES[0])
    contiguous_sizes, strided_sizes = (smallest, sizes) if strided else (sizes, smallest)
    arguments = ["--memory", "device", "--window", "1", "--seconds", "0.05", "--least-samples", "11",
                 "--most-samples", "300", "--fresh-bytes", smallest, "--bytes", contiguous_sizes,
                 "--strided-bytes", strided_sizes, "--blocks", str(BLOCK)]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.json"
        entry = {**{name: header[name] for name in ("library", "major", "minor")}, "date": "", "gpu": figures}
        model_file.write(model, header["machine"], {"date": ""}, [entry])
        records = launch_program(home, PROGRAM, mpi, arguments, 2, launch=launch, limit=LIMIT,
                                 settings={**COMMON, "DUNNAGE_MODEL": str(model), "DUNNAGE_GPU_PATH": path})
    found = [one for one in records if one["record"] == "result" and one["pattern"] == "latency"
             and one["buffers"] == "reused" and bool(one["block"]) == strided]
    if not all(one["verified"] for one in records if one["record"] == "result"):
        raise WrongBytes(f"Dunnage gave wrong bytes with {mpi}, {way}")
    return records[0], {one["bytes"]: one["seconds"]["p50"] for one in found}


def measure(home: Home, mpi: str, launch: Sequence[str], say: Callable[[str], None]) -> Gpu:
    """Measures every way that this MPI has."""
    short = ["--seconds", "0.1", "--most", "4096"]
    header = launch_program(home, TELLER, mpi, short, 2, settings=COMMON, launch=launch, limit=LIMIT)[0]
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
    """Measures every MPI in turn.

    If an MPI does not run, `say` is called with the reason, and the MPI is left out.
    """
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
    """Returns the entries of the file with what was measured now, and everything else that the file
    has.
    """
    entries = model_file.entries(old)
    for one in found:
        entry = model_file.entry_of(entries, one.header, date)
        entry["gpu"] = {**one.sizes, "device": one.device, "date": date}
        curves = {way: "; ".join(f"{size} {round(1e9 * seconds)}" for size, seconds in sorted(times.items()))
                  for way, times in one.times.items()}
        entry["curves"] = {**entry.get("curves", {}), "gpu": curves}
    return list(entries.values())


def report(one: Gpu) -> str:
    """Returns what a message takes by each way, and what follows from it."""
    rows = [[size, *(f"{1e6 * one.times[way][size]:.1f}" if size in one.times[way] else "-" for way in one.times)]
            for size in sorted({size for times in one.times.values() for size in times})]
    table = tabulate(rows, headers=["bytes, us", *one.times], disable_numparse=True)

    def said(size: int) -> str:
        return "always" if size == 0 else "never" if size == NEVER else f"from {size} bytes on"

    names = {"direct": "read by the receiver's GPU", "shared": "rings in shared memory, if direct is not possible",
             "passed": "packed on the device for this MPI"}
    lines = [f"{names[name]}: {said(size)}" for name, size in one.sizes.items()]
    name = f"{one.header['library']} {one.header['major']}.{one.header['minor']}"
    return "\n".join([f"{name}, {one.device}", table, *lines])
