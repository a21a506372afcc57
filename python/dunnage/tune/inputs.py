"""Turns records of bench_tune into what prices are fitted to: how often each price is paid, and the
times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

from ..bench.results import Record
from .prices import Fit, Row

Figures = Dict[str, Any]
Place = Tuple[int, int]  # bytes, bytes of a block


@dataclass
class Inputs:
    """What prices are fitted to. Every member has a list for each way: Dunnage's, and then the
    MPI's.
    """

    rows: List[List[Row]]
    times: List[List[float]]  # ns
    extra: List[List[float]]  # the part of the times that the prices explain
    scales: List[List[float]]  # by which errors are divided


def ns(record: Record, series: str) -> float:
    """Returns what a case took: the lower quartile, in nanoseconds."""
    return 1e9 * float(record["series"][series]["low"])


def pack_row(blocks: float, size: float, far: bool) -> Row:
    """Returns how often each price is paid in packing, as in plan::Cost::time."""
    return {"call": 1, "block": blocks, "byte": 0 if far else size, "far_byte": size if far else 0}


def message_rows(blocks: float, size: float, costs: Figures, far_message: int) -> Tuple[Row, Row]:
    """Returns how often each price of the engine and of the library is paid in a message, as in
    plan::predict.
    """
    eager, far = size <= costs["eager_limit"], size >= far_message
    engine, library = pack_row(blocks, size, far), pack_row(blocks, size, far)
    engine["eager_byte"] = engine["byte"] if eager else 0
    library["eager_block"] = library["block"] if eager else 0
    if eager:
        engine["byte"] = library["block"] = 0
    return engine, library


def side_fits(side: Figures) -> Tuple[Fit, Fit]:
    """Returns the prices of one side of a file, by the names in the rows."""
    return (Fit({**side["engine"], "eager_byte": side["engine_eager_byte"]}, 0),
            Fit({**side["library"], "eager_block": side["library_eager_block"]}, 0))


def of_kind(records: Sequence[Record], kind: str, direction: str = "") -> List[Record]:
    """Returns the records of a kind and, if one is given, of a direction."""
    return [one for one in records if one["kind"] == kind and direction in ("", one.get("direction"))]


def pack_inputs(records: Sequence[Record]) -> Inputs:
    """MPI_Pack and MPI_Unpack, which have the same prices."""
    packs = of_kind(records, "pack")
    rows = [pack_row(one["bytes"] / one["block"], one["bytes"], one["far"]) for one in packs]
    times = [[ns(one, series) for one in packs] for series in ("dunnage", "plain")]
    return Inputs([rows, rows], times, times, times)


def fastest(side: str, records: Sequence[Record]) -> Dict[int, float]:
    """Returns the fastest time of each size, whatever was sent and in whatever way."""
    found: Dict[int, float] = {}
    for one in of_kind(records, "message"):
        if one["direction"] in (side, "contiguous"):
            times = (ns(one, series) for series in one["series"])
            found[one["bytes"]] = min(found.get(one["bytes"], float("inf")), *times)
    return found


def _beyond(times: Sequence[float], sizes: Sequence[int], least: Dict[int, float]) -> Tuple[List[float], List[float]]:
    """Returns the times beyond the fastest of each size, and their scales.

    Choices need to know no more than a tenth of the whole time.
    """
    extra = [max(time - least[size], 0.0) for time, size in zip(times, sizes)]
    return extra, [beyond + 0.1 * time for beyond, time in zip(extra, times)]


def side_inputs(side: str, records: Sequence[Record], costs: Figures, far_message: int) -> Inputs:
    """Messages that are strided on one side.

    Prices are for the time in addition to the fastest message of the same size, in whatever way.
    """
    messages = of_kind(records, "message", side)
    both = [message_rows(one["bytes"] / one["block"], one["bytes"], costs, far_message) for one in messages]
    times = [[ns(one, series) for one in messages] for series in ("dunnage", "plain")]
    least, sizes = fastest(side, records), [one["bytes"] for one in messages]
    found = [_beyond(way, sizes, least) for way in times]
    return Inputs([[row[way] for row in both] for way in (0, 1)], times, [extra for extra, _ in found],
                  [scales for _, scales in found])


@dataclass
class TicketInputs(Inputs):
    """Tickets. The one way is the ticket's; the others are in `others` and `best`."""

    sizes: List[int]
    others: List[Tuple[Row, Row]]  # rows of Dunnage's staging and of the MPI
    best: List[float]  # ns, of the faster one of these two


def by_place(records: Sequence[Record]) -> Dict[Place, Record]:
    """Returns messages with a strided sender, by size and block."""
    return {(one["bytes"], one["block"]): one for one in of_kind(records, "message", "send")}


def ticket_inputs(staged: Sequence[Record], tickets: Sequence[Record], costs: Figures,
                  far_message: int) -> TicketInputs:
    """Tickets, each compared with the MPI's time in the same launches."""
    ways, ticket = by_place(staged), by_place(tickets)
    places = [place for place in ticket if place in ways]
    times = [ns(ways[place], "plain") * ns(ticket[place], "dunnage") / ns(ticket[place], "plain") for place in places]
    rows = [pack_row(size / block, size, size >= far_message) for size, block in places]
    extra, scales = _beyond(times, [size for size, _ in places], fastest("send", staged))
    return TicketInputs([rows], [times], [extra], [scales], [size for size, _ in places],
                        [message_rows(size / block, size, costs, far_message) for size, block in places],
                        [min(ns(ways[place], series) for series in ("plain", "dunnage")) for place in places])
