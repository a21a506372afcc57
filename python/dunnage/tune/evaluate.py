"""Turns what bench_tune measured with one MPI into the figures of the model file."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any, Dict, List, Tuple

import numpy

from ..bench.results import Record
from .prices import Fit, Row, fit, ratio_lost

Figures = Dict[str, Any]

WORST_ERROR = 0.6  # if prices are wrong by more, they explain too little to be used
# Prices do not explain everything, and times that do not follow prices may or may not matter. Each
# tolerance gives one fit, which counts such times more or less. The fit that leads to the best
# choices is taken.
TOLERANCES = (0.1, 0.3, 1.0)
FEWEST = 12  # the fewest measurements of each way
# Choices may be worse than those by built-in prices by this much, because of noise.
TOLERATED = 0.005
NEVER = 1 << 40  # bytes
SPREAD = 1.3  # upper over lower quartile of one series
# Shares of series with such a spread: from SOME on it is reported, above MOST nothing is used.
SOME, MOST = 0.2, 0.5
LAUNCHES_DIFFER = 1.2  # the largest ratio of what the MPI itself took in two launches
SIDES = ("send", "receive")


@dataclass
class Part:
    """The prices of each way for packing, for one side of messages, or for tickets."""

    name: str
    fits: Tuple[Fit, ...]  # Dunnage's and the MPI's; for tickets only Dunnage's
    built_in: Tuple[Fit, ...]
    # The time lost by choices with these prices and with the built-in prices.
    lost: Tuple[float, float]
    refused: str = ""  # why the built-in prices stay
    least: int = 0  # for tickets: the length, in bytes, from which a ticket may be taken


@dataclass
class Tuned:
    """Everything that was found out about one MPI."""

    header: Record
    parts: List[Part] = field(default_factory=list)
    disturbed: List[str] = field(default_factory=list)
    records: List[Record] = field(default_factory=list)  # records of kind result
    ticket_records: List[Record] = field(default_factory=list)

    def part(self, name: str) -> Part:
        """Returns the part of that name."""
        return next(part for part in self.parts if part.name == name)

    @property
    def name(self) -> str:
        """The MPI's name and version in the form of `dunnage info`."""
        return f"{self.header['library']} {self.header['major']}.{self.header['minor']}"


def _ns(record: Record, series: str) -> float:
    return 1e9 * record["series"][series]["median"]


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


def _part(name: str, rows: Tuple[List[Row], List[Row]], extra: List[List[float]], times: List[List[float]],
          scales: List[List[float]], built_in: Tuple[Fit, Fit], margin: float) -> Part:
    if len(times[0]) < FEWEST:
        return Part(name, built_in, built_in, (0, 0), f"only {len(times[0])} measurements")
    candidates = []
    for tolerance in TOLERANCES:
        found = [fit(rows[way], extra[way], scales[way], tolerance) for way in (0, 1)]
        # If no record has anything of a price, the built-in price stays.
        candidates.append(tuple(Fit({**built_in[way].prices, **found[way].prices}, found[way].error) for way in (0, 1)))
    fits = min(candidates, key=lambda one: ratio_lost(one, *rows, times, margin))
    lost = (ratio_lost(fits, *rows, times, margin), ratio_lost(built_in, *rows, times, margin))
    refused = ""
    if max(one.error for one in fits) > WORST_ERROR:
        refused = f"too noisy: the prices are wrong by {max(one.error for one in fits):.0%}"
    elif lost[0] > lost[1] + TOLERATED:
        refused = "choices by the built-in figures were better"
    return Part(name, fits, built_in, lost, refused)


def pack_part(records: List[Record], built_in: Figures, margin: float) -> Part:
    """Evaluates MPI_Pack and MPI_Unpack, which have the same prices."""
    packs = [record for record in records if record["kind"] == "pack"]
    rows = [pack_row(one["bytes"] / one["block"], one["bytes"], one["far"]) for one in packs]
    times = [[_ns(one, series) for one in packs] for series in ("dunnage", "plain")]
    default = (Fit(built_in["engine_pack"], 0), Fit(built_in["library_pack"], 0))
    return _part("pack", (rows, rows), times, times, times, default, margin)


def _fastest(side: str, records: List[Record]) -> Dict[int, float]:
    """Returns the fastest time of each size, whatever was sent and in whatever way."""
    fastest: Dict[int, float] = {}
    for one in records:
        if one["kind"] == "message" and one["direction"] in (side, "contiguous"):
            times = (_ns(one, series) for series in one["series"])
            fastest[one["bytes"]] = min(fastest.get(one["bytes"], float("inf")), *times)
    return fastest


def side_part(side: str, records: List[Record], built_in: Figures, peers: str, margin: float) -> Part:
    """Evaluates messages that are strided on one side.

    Prices are for the time in addition to the fastest message of the same size, in whatever way.
    """
    costs = built_in["messages"][peers]
    messages = [record for record in records if record["kind"] == "message" and record["direction"] == side]
    rows = [message_rows(one["bytes"] / one["block"], one["bytes"], costs, built_in["far_message"]) for one in messages]
    times = [[_ns(one, series) for one in messages] for series in ("dunnage", "plain")]
    fastest = _fastest(side, records)
    extra = [[time - fastest[one["bytes"]] for one, time in zip(messages, way)] for way in times]
    # Choices need to know no more than a tenth of the whole time.
    scales = [[beyond + 0.1 * time for beyond, time in zip(*both)] for both in zip(extra, times)]
    both = ([row[0] for row in rows], [row[1] for row in rows])
    return _part(side, both, extra, times, scales, side_fits(costs[side]), margin)


def ticket_part(staged: List[Record], tickets: List[Record], built_in: Figures, send: Part, margin: float) -> Part:
    """Finds out what a ticket costs, measured like the other ways, and from which size it may be
    taken.

    Each launch is compared with the MPI's times of the same launch.
    """
    def strided(records: List[Record]) -> Dict[Tuple[int, int], Record]:
        return {(one["bytes"], one["block"]): one for one in records
                if one["kind"] == "message" and one["direction"] == "send"}

    other, fastest = strided(staged), _fastest("send", staged)
    places = [place for place in strided(tickets) if place in other]
    costs, far_message = built_in["messages"]["same_host"]["send"], built_in["far_message"]
    zero = Fit(built_in["ticket"], 0)
    if len(places) < FEWEST:
        return Part("ticket", (zero,), (zero,), (0, 0), f"only {len(places)} measurements", built_in["least_ticket"])
    rows = [pack_row(size / block, size, size >= far_message) for size, block in places]
    both = [message_rows(size / block, size, built_in["messages"]["same_host"], far_message) for size, block in places]
    times = [_ns(other[place], "plain") * _ns(one, "dunnage") / _ns(one, "plain")
             for place, one in strided(tickets).items() if place in other]
    best = [min(_ns(other[place], series) for series in ("plain", "dunnage")) for place in places]
    beyond = [max(time - fastest[place[0]], 0.0) for time, place in zip(times, places)]
    scales = [extra + 0.1 * time for extra, time in zip(beyond, times)]
    found = [fit(rows, beyond, scales, tolerance) for tolerance in TOLERANCES]
    prices = [zero, *(Fit({**zero.prices, **one.prices}, one.error) for one in found)]

    def lost(least: int, ticket: Fit, fits: Tuple[Fit, ...]) -> float:
        """Returns what choices by plan::choose_ticket lose, as ratio_lost() does for other choices.
        """
        shares = []
        for (size, _), row, others, mine, theirs in zip(places, rows, both, times, best):
            taken = size >= least and margin * ticket.time(row) <= min(way.time(of) for way, of in zip(fits, others))
            shares.append((mine if taken else theirs) / min(mine, theirs) - 1)
        return mean(shares)

    fits = side_fits(costs) if send.refused else send.fits
    sizes = [NEVER, *sorted({size for size, _ in places}, reverse=True)]
    least, price = min(((size, price) for size in sizes for price in prices), key=lambda one: lost(*one, fits))
    lost_now, lost_before = lost(least, price, fits), lost(built_in["least_ticket"], zero, side_fits(costs))
    refused = "choices by the built-in figures were better" if lost_now > lost_before + TOLERATED else ""
    return Part("ticket", (price,), (zero,), (lost_now, lost_before), refused, least)


def unsteady(records: List[Record], kind: str) -> float:
    """Returns the share of the series whose upper quartile is far from the lower one.

    On a quiet machine it is 1 to 5 %.
    """
    found = []
    for one in records:
        if one["kind"] == kind:
            for series in one["series"].values():
                low, high = numpy.percentile(series["samples"], [25, 75])
                found.append(float(high > SPREAD * low))
    return mean(found) if found else 0.0


def spread_text(share: float, times: str) -> str:
    """Returns a remark on times of which a share spread too much."""
    return f"{share:.0%} of {times} spread by more than {SPREAD - 1:.0%}; something disturbed them"


def launch_ratio(staged: List[Record], tickets: List[Record]) -> float:
    """Returns how much longer the MPI itself took in the second launch than in the first, as a
    ratio.
    """
    first = {(one["bytes"], one["block"]): _ns(one, "plain") for one in staged if one.get("direction") == "send"}
    ratios = [_ns(one, "plain") / first[one["bytes"], one["block"]] for one in tickets
              if one["kind"] == "message" and (one["bytes"], one["block"]) in first]
    return median(ratios) if ratios else 1.0


def _times(ratio: float) -> str:
    return f"{max(ratio, 1 / ratio):.1f} times as long in one launch as in the other"


def disturbances(launches: List[Tuple[str, List[Record]]]) -> List[str]:
    """Returns what a reader must know about a machine that was not quiet."""
    found = []
    for name, records in launches:
        for kind in ("pack", "message"):
            share = unsteady(records, kind)
            if share > SOME:
                found.append(f"{name}: {spread_text(share, f'the {kind} times')}")
    copies: Dict[int, List[float]] = {}
    for _, records in launches:
        for one in records:
            if one["kind"] == "copy":
                copies.setdefault(one["bytes"], []).append(_ns(one, "plain"))
    found += [f"the same copy of {size >> 10} KiB took {_times(times[0] / times[-1])}"
              for size, times in copies.items() if max(times) > SPREAD * min(times)]
    return found


def refuse_the_disturbed(tuned: Tuned) -> None:
    """Refuses parts whose times changed during the measurement.

    Such times cannot be compared with each other.
    """
    for part in tuned.parts:
        share = unsteady(tuned.records, "pack" if part.name == "pack" else "message")
        if part.name == "ticket":
            share = max(share, unsteady(tuned.ticket_records, "message"))
            ratio = launch_ratio(tuned.records, tuned.ticket_records)
            if max(ratio, 1 / ratio) > LAUNCHES_DIFFER:
                part.refused = part.refused or f"the MPI itself took {_times(ratio)}"
        if share > MOST:
            part.refused = part.refused or f"too noisy: {share:.0%} of the times spread by more than {SPREAD - 1:.0%}"


def evaluate(header: Record, records: List[Record], tickets: List[Record], taken: int) -> Tuned:
    """Evaluates the records of one MPI.

    `taken` is the number of messages of the second launch that went by ticket.
    """
    built_in, margin, peers = header["built_in"], header["margin"], header["peers"]
    tuned = Tuned(header, records=records, ticket_records=tickets)
    tuned.parts = [pack_part(records, built_in, margin),
                   *(side_part(side, records, built_in, peers, margin) for side in SIDES)]
    if peers == "same_host":
        ticket = ticket_part(records, tickets, built_in, tuned.parts[1], margin)
        if not taken:
            ticket.refused = "no message went by ticket"
        tuned.parts.append(ticket)
    if -1 in map(int, header["cores"]):
        tuned.disturbed.append(f"the ranks have no core each: {', '.join(header['cores'])}")
    if header["machines"][0] != header["machines"][1]:
        tuned.disturbed.append(f"the hosts differ: {' and '.join(header['machines'])}; filed for the first")
    refuse_the_disturbed(tuned)
    tuned.disturbed += disturbances([("messages and packing", records), ("tickets", tickets)])
    return tuned
