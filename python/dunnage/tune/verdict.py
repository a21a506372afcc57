"""Says in plain sentences what is known, what is not, and what helps."""

from __future__ import annotations

from typing import Dict, List, Sequence

from ..bench.results import Record
from ..bench.units import size
from .evaluate import Part, Tuned

KNOWN = 0.9  # of a part's times; less is worth another try
UNSURE = 1.5  # prices that differ by more in repeated measurements are marked


def verdict(part: Part) -> str:
    """Says of one part which prices are used, and why."""
    if part.refused and not part.spread:
        return f"{part.name}: {part.refused}; the built-in prices stay"
    now, before = (f"{lost:.1%}" for lost in part.lost)
    found = f"choices take {now} longer than the better way, by the built-in prices {before}"
    if part.alike:
        found = (f"choices by the measured and by the built-in prices cannot be told apart"
                 f" ({now} and {before} longer than the better way)")
    if part.refused:
        why = "" if part.alike else f": {part.refused}"
        return f"{part.name}: {found}; the built-in prices stay{why}"
    why = ", because they predict the times better" if part.alike else ""
    return f"{part.name}: {found}; the measured prices are used{why}"


def _ranges(sizes: Sequence[int]) -> str:
    """Returns sizes as text; sizes that double are a range."""
    runs: List[List[int]] = []
    for one in sorted(sizes):
        if runs and runs[-1][1] * 2 == one:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return ", ".join(size(a) if a == b else f"{size(a)} to {size(b)}" for a, b in runs)


def _places(cases: Sequence[Record]) -> str:
    """Returns sizes and blocks of cases as text."""
    blocks: Dict[int, List[int]] = {}
    for one in cases:
        blocks.setdefault(one["block"], []).append(one["bytes"])
    sizes: Dict[str, List[str]] = {}
    for block, found in sorted(blocks.items()):
        sizes.setdefault(_ranges(set(found)), []).append(str(block))
    return "; ".join(f"{found} in blocks of {', '.join(named)} B" for found, named in sizes.items())


def unknown(tuned: Tuned) -> List[str]:
    """Returns a line for each part of which some times are not known."""
    lines = []
    for part in tuned.parts:
        missing = [one for one in part.cases if not one["known"]]
        if missing:
            lines.append(f"{part.name}: {len(missing)} of {len(part.cases)} times are not known to"
                         f" {tuned.header['margin'] - 1:.0%} and do not count: {_places(missing)}")
    return lines


def what_helps(tuned: Tuned) -> List[str]:
    """Says what the user may do if much is not known."""
    if all(part.known >= KNOWN * len(part.cases) for part in tuned.parts):
        return []
    return ["What helps: more time (`dunnage tune --seconds 300`), or less other work on this machine. What is not"
            " known costs little:\nwithin a host, programs try who packs faster in their own calls, and the report"
            " lists what they found."]
