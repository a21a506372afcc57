"""Turns what bench_tune measured with one MPI into the figures of the model file."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy

from ..bench.results import Record
from .inputs import Figures, Inputs, TicketInputs, by_place, ns, of_kind, pack_inputs, side_fits, side_inputs, \
    ticket_inputs
from .known import join, key_of, lower_quartile, repeated
from .prices import Fit, fit, ratio_lost

WORST_ERROR = 0.6  # if prices are wrong by more, they explain too little to be used
# Prices do not explain everything, and times that do not follow prices may or may not matter. Each
# tolerance gives one fit, which counts such times more or less. The fit that leads to the best
# choices is taken.
TOLERANCES = (0.1, 0.3, 1.0)
FEWEST, LEAST_SHARE = 12, 1 / 3  # of the cases of a part, so many must be known
TOLERATED = 0.005  # choices may be worse than those by built-in prices by this much
NEVER = 1 << 40  # bytes
LAUNCHES_DIFFER = 1.2  # the largest ratio of what the MPI itself took in the launches of both kinds
SHIFTED = 1.3  # launches that differ by this much are reported
RESAMPLES = 20  # how often a measurement is repeated with drawn samples
SIDES = ("send", "receive")


@dataclass
class Part:
    """The prices of each way for packing, for one side of messages, or for tickets."""

    name: str
    fits: Tuple[Fit, ...]  # Dunnage's and the MPI's; for tickets only Dunnage's
    built_in: Tuple[Fit, ...]
    # The time lost by choices with these prices and with the built-in prices.
    lost: Tuple[float, float] = (0.0, 0.0)
    refused: str = ""  # why the built-in prices stay
    least: int = 0  # for tickets: the length, in bytes, from which a ticket may be taken
    alike: bool = False  # whether both choices take as long, as far as can be told
    cases: List[Record] = field(default_factory=list)  # all that say something of this part
    # For each way and price: by which factor the prices of repeated measurements differ.
    spread: Tuple[Dict[str, float], ...] = ()

    @property
    def known(self) -> int:
        """How many of the cases are known."""
        return sum(one["known"] for one in self.cases)


@dataclass
class Tuned:
    """Everything that was found out about one MPI."""

    header: Record
    parts: List[Part] = field(default_factory=list)
    disturbed: List[str] = field(default_factory=list)
    records: List[Record] = field(default_factory=list)  # of all launches that staged, joined
    ticket_records: List[Record] = field(default_factory=list)

    def part(self, name: str) -> Part:
        """Returns the part of that name."""
        return next(part for part in self.parts if part.name == name)

    @property
    def name(self) -> str:
        """The MPI's name and version in the form of `dunnage info`."""
        return f"{self.header['library']} {self.header['major']}.{self.header['minor']}"


Loss = Callable[[Any], Tuple[float, float]]  # of choices by the measured prices, and by the built-in ones


def _ratio(one: float, other: float) -> float:
    return float(one / other) if other > 0 else float("inf") if one > 0 else 1.0


def _spread(found: Sequence[Fit]) -> Dict[str, float]:
    """Returns by which factor the prices of repeated fits differ, without the outer tenths."""
    return {name: _ratio(*numpy.percentile([one.prices[name] for one in found], [90, 10]))
            for name in found[0].prices}


def _wrong_by(prices: Sequence[Fit], inputs: Inputs) -> float:
    """Returns by how much the prices miss the times, in the middle."""
    return mean(median(abs(one.time(row) - time) / scale for row, time, scale in zip(rows, extra, scales))
                for one, rows, extra, scales in zip(prices, inputs.rows, inputs.extra, inputs.scales))


def _judge(part: Part, inputs: Inputs, again: Sequence[Inputs], loss: Loss, tolerances: Sequence[float]) -> Part:
    """Compares the measured prices with the built-in ones.

    `again` is what other measurements might have found; so what differs among them by chance
    decides nothing.
    """
    part.lost = loss(inputs)
    refitted = [[fit(rows, extra, scales, tolerance)
                 for rows, extra, scales, tolerance in zip(one.rows, one.extra, one.scales, tolerances)]
                for one in again]
    part.spread = tuple(_spread(way) for way in zip(*refitted))
    differences = [mine - theirs for mine, theirs in map(loss, again)]
    least, most = numpy.percentile(differences, [10, 90])
    part.alike = bool(least <= TOLERATED and most >= 0)
    if max(one.error for one in part.fits) > WORST_ERROR:
        part.refused = f"the prices are wrong by {max(one.error for one in part.fits):.0%}"
    elif least > TOLERATED:
        part.refused = "choices by the built-in prices were better"
    elif part.alike and _wrong_by(part.fits, inputs) >= _wrong_by(part.built_in, inputs):
        part.refused = "they predict the times as well"
    return part


def _too_few(known: int, all_cases: int) -> str:
    """Returns why too little is known, or an empty text."""
    if known >= max(FEWEST, LEAST_SHARE * all_cases):
        return ""
    return f"only {known} of {all_cases} times are known" if all_cases else "nothing was measured"


def _part(name: str, cases: List[Record], records: Sequence[Record], inputs_of: Callable[[Sequence[Record]], Inputs],
          built_in: Tuple[Fit, Fit], margin: float) -> Part:
    """Evaluates packing or one side of messages.

    `cases` are the records of this part, and `records` all records. Only those that are known
    count.
    """
    part = Part(name, built_in, built_in, cases=cases)
    part.refused = _too_few(part.known, len(cases))
    if part.refused:
        return part
    known = [one for one in records if one["known"]]
    inputs = inputs_of(known)
    candidates = []
    for tolerance in TOLERANCES:
        found = [fit(inputs.rows[way], inputs.extra[way], inputs.scales[way], tolerance) for way in (0, 1)]
        # If no record has anything of a price, the built-in price stays.
        fits = tuple(Fit({**built_in[way].prices, **found[way].prices}, found[way].error) for way in (0, 1))
        candidates.append((ratio_lost(fits, *inputs.rows, inputs.times, margin), tolerance, fits))
    _, tolerance, part.fits = min(candidates, key=lambda one: one[0])

    def loss(inputs: Inputs) -> Tuple[float, float]:
        mine, theirs = (ratio_lost(prices, *inputs.rows, inputs.times, margin) for prices in (part.fits, built_in))
        return mine, theirs

    return _judge(part, inputs, [inputs_of(*again) for again in _repeated(known)], loss, (tolerance, tolerance))


def _repeated(*measured: Sequence[Record]) -> List[Tuple[List[Record], ...]]:
    """Returns the lists of records as repeated measurements might have found them."""
    generator = numpy.random.default_rng(1)
    return list(zip(*(repeated(records, RESAMPLES, generator) for records in measured)))


def pack_part(records: List[Record], built_in: Figures, margin: float) -> Part:
    """Evaluates MPI_Pack and MPI_Unpack, which have the same prices."""
    default = (Fit(built_in["engine_pack"], 0), Fit(built_in["library_pack"], 0))
    return _part("pack", of_kind(records, "pack"), records, pack_inputs, default, margin)


def side_part(side: str, records: List[Record], built_in: Figures, peers: str, margin: float) -> Part:
    """Evaluates messages that are strided on one side."""
    costs, far_message = built_in["messages"][peers], built_in["far_message"]
    return _part(side, of_kind(records, "message", side), records,
                 lambda known: side_inputs(side, known, costs, far_message), side_fits(costs[side]), margin)


def ticket_part(staged: List[Record], tickets: List[Record], built_in: Figures, send: Part, margin: float) -> Part:
    """Finds out what a ticket costs, measured like the other ways, and from which size it may be
    taken.
    """
    costs, far_message = built_in["messages"]["same_host"], built_in["far_message"]
    zero = Fit(built_in["ticket"], 0)
    other = by_place(staged)
    cases = [{**one, "known": one["known"] and other[place]["known"]}
             for place, one in by_place(tickets).items() if place in other]
    part = Part("ticket", (zero,), (zero,), least=built_in["least_ticket"], cases=cases)
    part.refused = _too_few(part.known, len(cases))
    if part.refused:
        return part
    known = [[one for one in records if one["known"]] for records in (staged, tickets)]
    inputs = ticket_inputs(*known, costs, far_message)
    found = [(tolerance, fit(inputs.rows[0], inputs.extra[0], inputs.scales[0], tolerance)) for tolerance in TOLERANCES]
    prices = [(TOLERANCES[0], zero), *((tolerance, Fit({**zero.prices, **one.prices}, one.error))
                                       for tolerance, one in found)]

    def lost(least: int, ticket: Fit, fits: Tuple[Fit, ...], inputs: TicketInputs) -> float:
        """Returns what choices by plan::choose_ticket lose, as ratio_lost() does for other choices.
        """
        shares = []
        for size, row, others, mine, theirs in zip(inputs.sizes, inputs.rows[0], inputs.others, inputs.times[0],
                                                   inputs.best):
            taken = size >= least and margin * ticket.time(row) <= min(way.time(of) for way, of in zip(fits, others))
            shares.append((mine if taken else theirs) / min(mine, theirs) - 1)
        return mean(shares)

    fits = side_fits(costs["send"]) if send.refused else send.fits
    sizes = [NEVER, *sorted(set(inputs.sizes), reverse=True)]
    part.least, (tolerance, price) = min(((size, one) for size in sizes for one in prices),
                                         key=lambda one: lost(one[0], one[1][1], fits, inputs))
    part.fits = (price,)

    def loss(inputs: TicketInputs) -> Tuple[float, float]:
        return (lost(part.least, price, fits, inputs),
                lost(built_in["least_ticket"], zero, side_fits(costs["send"]), inputs))

    again = [ticket_inputs(*one, costs, far_message) for one in _repeated(*known)]
    return _judge(part, inputs, again, loss, (tolerance,))


def launch_ratio(staged: List[Record], tickets: List[Record]) -> float:
    """Returns how much longer the MPI itself took in the launches with tickets than in the others,
    as a ratio.
    """
    first, second = by_place(staged), by_place(tickets)
    ratios = [ns(one, "plain") / ns(first[place], "plain") for place, one in second.items() if place in first]
    return median(ratios) if ratios else 1.0


def _times(ratio: float) -> str:
    return f"{max(ratio, 1 / ratio):.1f} times as long in one launch as in another"


def shifts(launches: Sequence[Sequence[Record]]) -> List[str]:
    """Returns what a reader must know of launches that were not alike."""
    found = []
    for kind, what in (("copy", "copies"), ("message", "the MPI's own messages")):
        lows = [{key_of(one): lower_quartile(one["series"]["plain"]["samples"]) for one in of_kind(launch, kind)}
                for launch in launches]
        least = {key: min(launch[key] for launch in lows if key in launch) for key in set().union(*lows)}
        ratios = [median(low / least[key] for key, low in launch.items()) for launch in lows if launch]
        slow = [ratio for ratio in ratios if ratio > SHIFTED]
        if slow:
            found.append(f"{len(slow)} of {len(ratios)} launches were slow: {what} took up to {max(slow):.1f} times as"
                         " long as in the others")
    return found


def evaluate(header: Record, staged: Sequence[Sequence[Record]], tickets: Sequence[Sequence[Record]],
             taken: int) -> Tuned:
    """Evaluates the launches of one MPI: those that staged, and those with tickets.

    `taken` is the number of messages of the latter that went by ticket.
    """
    built_in, margin, peers = header["built_in"], header["margin"], header["peers"]
    tuned = Tuned(header, records=join(staged, margin), ticket_records=join(tickets, margin))
    records = tuned.records
    tuned.parts = [pack_part(records, built_in, margin),
                   *(side_part(side, records, built_in, peers, margin) for side in SIDES)]
    if peers == "same_host":
        ticket = ticket_part(records, tuned.ticket_records, built_in, tuned.part("send"), margin)
        ratio = launch_ratio(records, tuned.ticket_records)
        if not taken:
            ticket.refused = "no message went by ticket"
        elif max(ratio, 1 / ratio) > LAUNCHES_DIFFER:
            ticket.refused = ticket.refused or f"the MPI itself took {_times(ratio)}"
        tuned.parts.append(ticket)
    if -1 in map(int, header["cores"]):
        tuned.disturbed.append(f"the ranks have no core each: {', '.join(header['cores'])}")
    if header["machines"][0] != header["machines"][1]:
        tuned.disturbed.append(f"the hosts differ: {' and '.join(header['machines'])}; filed for the first")
    tuned.disturbed += shifts([*staged, *tickets])
    return tuned
