"""Turns measured broadcasts and messages into the figures by which broadcasts are chosen.

The figures are those of src/plan/bcast_figures.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence

from tabulate import tabulate

from ..bench.results import Record
from ..bench.units import size
from . import model_file
from .evaluate import FEWEST, NEVER, TOLERANCES, WORST_ERROR
from .prices import Fit, Row, fit
from .spread import MOST, SOME, SPREAD, spread_text, unsteady

# A broadcast must be this many times faster to be Dunnage's; the same figure as in
# collective/trial.hpp.
GAIN = 1.05
DEAREST = 1e6  # nanoseconds; the largest price that the file may have
PARTS = ("call", "latency", "overhead", "byte", "reader")
NEARER = 0.05  # built-in prices may predict better by this much, because of noise


@dataclass
class Prices:
    """The prices of the window, or of the messages of one class of peers."""

    name: str
    fit: Fit
    built_in: Fit
    refused: str = ""  # why the built-in prices stay


@dataclass
class Broadcasts:
    """Everything that was found out about one MPI."""

    header: Record  # the header of bench_tune
    network: Prices
    messages: List[Record]
    window: List[Prices] = field(default_factory=list)  # one, or none if the ranks are on two hosts
    least: int = NEVER
    timed: List[Record] = field(default_factory=list)  # the records of broadcasts
    disturbed: List[str] = field(default_factory=list)


def network_row(record: Record) -> Row:
    """Returns how often each price is paid in one exchange.

    An exchange is messages in a row, as collective::cost has them for a chain, and an empty answer.
    """
    messages = record["messages"]
    return {"latency": 2, "overhead": messages + 3, "byte": messages * record["bytes"]}


def window_rows(records: Sequence[Record]) -> List[Row]:
    """Returns how often each price is paid in a broadcast by the window, as in
    plan::WindowCosts::time.

    If all records have the same number of ranks, the price of a reader cannot be found out, and is
    part of the price of a byte.
    """
    several = len({one["ranks"] for one in records}) > 1
    return [{"call": 1, "byte": one["bytes"], "reader": one["bytes"] * (one["ranks"] - 1) if several else 0}
            for one in records]


def _prices(name: str, rows: List[Row], times: List[float], built_in: Dict[str, float], share: float) -> Prices:
    """Fits prices to times. `share` is the share of the series that were disturbed."""
    before = Fit(built_in, 0)
    if len(rows) < FEWEST:
        return Prices(name, before, before, f"only {len(rows)} measurements")
    found = min((fit(rows, times, times, tolerance) for tolerance in TOLERANCES), key=lambda one: one.error)
    found.prices = {**dict.fromkeys(built_in, 0.0), **found.prices}
    wrong = sorted(abs(before.time(row) - time) / time for row, time in zip(rows, times))[len(rows) // 2]
    refused = ""
    if share > MOST:
        refused = f"too noisy: {share:.0%} of the times spread by more than {SPREAD - 1:.0%}"
    elif found.error > WORST_ERROR:
        refused = f"too noisy: the prices are wrong by {found.error:.0%}"
    elif (max(found.prices.values()) > DEAREST or found.prices.get("overhead", 1) <= 0
          or sum(price for part, price in found.prices.items() if part in ("byte", "reader")) <= 0):
        refused = "no machine has such prices"
    elif found.error > wrong + NEARER:
        refused = "the built-in figures are nearer"
    return Prices(name, found, before, refused)


def ratios(timed: Sequence[Record]) -> Dict[int, float]:
    """Returns, for each length in bytes, how many times faster Dunnage was with the number of ranks
    at which it gained most.
    """
    found: Dict[int, float] = {}
    for one in timed:
        ratio = one["series"]["plain"]["median"] / one["series"]["dunnage"]["median"]
        found[one["bytes"]] = max(ratio, found.get(one["bytes"], ratio))
    return dict(sorted(found.items()))


def least_window(timed: Sequence[Record]) -> int:
    """Returns the length, in bytes, from which broadcasts on one host may be Dunnage's.

    This is the first of two lengths in a row at which Dunnage is faster with some number of ranks,
    or the last length. Each communicator compares for itself. So if two ranks gain nothing, because
    their MPI copies at once, that is no reason to give up what many ranks gain.
    """
    found = ratios(timed)
    gains = [length for length, ratio in found.items() if ratio >= GAIN]
    lengths = list(found)
    for length in gains:
        after = lengths.index(length) + 1
        if after == len(lengths) or lengths[after] in gains:
            return length
    return NEVER


def evaluate(header: Record, messages: List[Record], timed: List[Record], cores: int) -> Broadcasts:
    """Evaluates the records of one MPI.

    `timed` has broadcasts on one host; it is ignored if the two ranks were on two hosts.
    """
    built_in, peers = header["built_in"]["bcast"], header["peers"]
    share = unsteady(messages, "network")
    times = [1e9 * one["series"]["plain"]["median"] for one in messages]
    network = _prices(peers, [network_row(one) for one in messages], times, built_in[peers], share)
    found = Broadcasts(header, network, messages)
    if share > SOME:
        found.disturbed.append(spread_text(share, "the times of messages"))
    if peers != "same_host":
        return found
    found.timed = timed
    share = unsteady(timed, "bcast")
    times = [1e9 * one["series"]["dunnage"]["median"] for one in timed]
    found.window = [_prices("window", window_rows(timed), times, built_in["window"], share)]
    found.least = least_window(timed)
    if share > SOME:
        found.disturbed.append(spread_text(share, "the times of broadcasts"))
    most = max((one["ranks"] for one in timed), default=0)
    if most > cores:
        found.window[0].refused = f"{most} ranks on {cores} cores wait for cores more than for each other"
    return found


def figures(found: Broadcasts, old: Dict[str, Any], date: str) -> Dict[str, Any]:
    """Returns the figures for the model file, together with those that it has of the other class of
    peers.

    A figure that could not be measured now is left out, so the built-in one applies.
    """
    peers = found.network.name
    kept = ("other_host",) if peers == "same_host" else ("same_host", "window", "least_window")
    new = {key: old[key] for key in kept if key in old}
    for one in [found.network, *found.window]:
        if not one.refused:
            new[one.name] = model_file.rounded(one.fit.prices)
    if found.window and not found.window[0].refused:
        new["least_window"] = found.least
    return {**new, "date": date}


def _curves(found: Broadcasts) -> Dict[str, str]:
    """Returns what was measured as text, for people, in the form of the other curves."""
    def nanoseconds(one: Record, name: str) -> int:
        return round(1e9 * one["series"][name]["median"])

    curves = {found.network.name: "; ".join(
        f"{one['bytes']} {one['messages']} {nanoseconds(one, 'plain')}" for one in found.messages)}
    for ranks in sorted({one["ranks"] for one in found.timed}):
        curves[f"{ranks} ranks"] = "; ".join(
            " ".join([str(one["bytes"]), *(str(nanoseconds(one, name)) for name in ("plain", "dunnage"))])
            for one in found.timed if one["ranks"] == ranks)
    return curves


def merge(old: List[Dict[str, Any]], measured: List[Broadcasts], date: str) -> List[Dict[str, Any]]:
    """Returns the entries of the file with what was measured now, and everything else that the file
    has.
    """
    entries = model_file.entries(old)
    for one in measured:
        entry = model_file.entry_of(entries, one.header, date)
        entry["bcast"] = figures(one, entry.get("bcast", {}), date)
        curves = entry.get("curves", {})
        entry["curves"] = {**curves, "bcast": {**curves.get("bcast", {}), **_curves(one)}}
    return list(entries.values())


def _times(found: Broadcasts) -> str:
    counts = sorted({one["ranks"] for one in found.timed})
    at = {(one["ranks"], one["bytes"]): one["series"] for one in found.timed}
    def shown(length: int, ranks: int, name: str) -> str:
        return f"{1e6 * at[ranks, length][name]['median']:.1f}" if (ranks, length) in at else "-"

    rows = [[size(length), *(shown(length, ranks, name) for ranks in counts for name in ("plain", "dunnage"))]
            for length in sorted({one["bytes"] for one in found.timed})]
    headers = ["us", *(f"{who}, {ranks} ranks" for ranks in counts for who in ("the MPI", "Dunnage"))]
    return tabulate(rows, headers=headers, disable_numparse=True)


def report(found: Broadcasts) -> str:
    """Returns the table of one MPI and remarks on it. Built-in figures are in parentheses."""
    header = found.header
    names = {"window": "the window, ns", "same_host": "messages on one host, ns",
             "other_host": "messages between hosts, ns"}
    hosts = header["hosts"]
    where = "on one host" if header["peers"] == "same_host" else f"between {hosts[0]} and {hosts[1]}"
    mpi = f"{header['library']} {header['major']}.{header['minor']}"
    lines = [f"{mpi}, broadcasts {where} (built-in figures in parentheses)"]
    if found.timed:
        lines.append(_times(found))
    for one in [*found.window, found.network]:
        prices = ", ".join(f"{part} {one.fit.prices[part]:.4g} ({one.built_in.prices[part]:.4g})"
                           for part in PARTS if part in one.fit.prices)
        lines.append(f"{names[one.name]}: {prices}; wrong by {one.fit.error:.0%}")
    if found.window and not found.window[0].refused:
        before = header["built_in"]["bcast"]["least_window"]
        least = "never" if found.least == NEVER else f"from {size(found.least)}"
        lines.append(f"Dunnage may take over: {least} (from {size(before)})")
    lines += [f"{one.name}: the built-in figures stay: {one.refused}"
              for one in [*found.window, found.network] if one.refused]
    return "\n".join(lines + [f"! {line}" for line in found.disturbed])
