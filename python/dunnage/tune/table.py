"""The tables that `dunnage tune` prints for one MPI."""

from __future__ import annotations

from typing import Dict, List

from tabulate import tabulate

from ..bench.units import size
from .evaluate import Part, Tuned
from .inputs import message_rows, pack_row
from .verdict import UNSURE, unknown, verdict, what_helps

BLOCKS = (8, 64, 512, 4096)
SIZES = [1 << power for power in range(8, 23)]
COLUMNS = {"call": "call", "block": "block", "eager_block": "eager block", "byte": "byte", "eager_byte": "eager byte",
           "far_byte": "far byte"}


def _prices(tuned: Tuned) -> str:
    rows = []
    for part in tuned.parts:
        if not part.spread:  # nothing was fitted
            continue
        for who, found, before, spread in zip(("Dunnage", "the MPI"), part.fits, part.built_in, part.spread):
            row = {"ns": part.name, "by": who}
            for name, title in COLUMNS.items():
                row[title] = ""
                if name in spread:
                    sure = "" if spread[name] <= UNSURE else "?"
                    row[title] = f"{found.prices[name]:.3g}{sure} ({before.prices[name]:.3g})"
                elif name in before.prices:
                    row[title] = f"({before.prices[name]:.3g})"
            rows.append({**row, "wrong by": f"{found.error:.0%}"})
    return tabulate(rows, headers="keys", disable_numparse=True)


def _ranges(sizes: List[int], chosen: List[bool]) -> str:
    """Returns the chosen sizes as ranges."""
    parts: List[List[int]] = []
    for place, one in enumerate(chosen):
        if one and place and chosen[place - 1]:
            parts[-1][1] = place
        elif one:
            parts.append([place, place])
    last = len(sizes) - 1

    def shown(a: int, b: int) -> str:
        if b == last:
            return f"from {size(sizes[a])}"
        return size(sizes[a]) if a == b else f"{size(sizes[a])} to {size(sizes[b])}"

    return ", ".join(shown(a, b) for a, b in parts) or "never"


def _chosen(tuned: Tuned, part: Part, block: int) -> str:
    header = tuned.header
    fits = part.built_in if part.refused else part.fits
    costs, far_message = header["built_in"]["messages"][header["peers"]], header["built_in"]["far_message"]
    sizes = [one for one in SIZES if one >= 2 * block]
    chosen = []
    for one in sizes:
        if part.name == "pack":
            # Strided with gaps as long as the blocks, as it was measured. pack::Program says what
            # is far.
            far = one + min(2 * one, one + 64 * one // block) > header["machine"]["second_level_cache"]
            rows = (pack_row(one / block, one, far),) * 2
            chosen.append(header["margin"] * fits[0].time(rows[0]) < fits[1].time(rows[1]))
            continue
        rows = message_rows(one / block, one, costs, far_message)
        if part.name == "ticket":
            send = tuned.part("send")
            least = header["built_in"]["least_ticket"] if part.refused else part.least
            others = [way.time(row) for way, row in zip(send.built_in if send.refused else send.fits, rows)]
            mine = fits[0].time(pack_row(one / block, one, one >= far_message))
            chosen.append(one >= least and header["margin"] * mine <= min(others))
        else:
            chosen.append(header["margin"] * fits[0].time(rows[0]) < fits[1].time(rows[1]))
    return _ranges(sizes, chosen)


def _choices(tuned: Tuned) -> str:
    rows = []
    for part in tuned.parts:
        chosen = {f"blocks of {b} B": _chosen(tuned, part, b) for b in BLOCKS}
        row: Dict[str, str] = {"Dunnage takes over": part.name, **chosen}
        row["slower than the better way"] = f"{part.lost[0]:.1%} ({part.lost[1]:.1%})" if part.spread else ""
        rows.append(row)
    return tabulate(rows, headers="keys", disable_numparse=True)


def report(tuned: Tuned) -> str:
    """Returns the tables of one MPI and remarks on them. Built-in figures are in parentheses."""
    header = tuned.header
    hosts = header["hosts"]
    where = "on one host" if header["peers"] == "same_host" else f"between {hosts[0]} and {hosts[1]}"
    lines = [f"{tuned.name}, {where} (built-in figures in parentheses)"]
    if any(part.spread for part in tuned.parts):
        lines += [_prices(tuned), ""]
    lines += [_choices(tuned), *(verdict(part) for part in tuned.parts)]
    lines += [f"? {line}" for line in unknown(tuned)]
    lines += [f"! {line}" for line in tuned.disturbed]
    return "\n".join(lines + what_helps(tuned))


