"""From measured broadcasts and messages to the figures by which broadcasts are chosen (src/plan/bcast_figures.hpp)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence

from tabulate import tabulate

from ..bench.results import Record
from ..bench.sends import size
from . import model_file
from .evaluate import FEWEST, MOST, NEVER, SOME, SPREAD, TOLERANCES, WORST_ERROR, unsteady
from .prices import Fit, Row, fit

GAIN = 1.05  # how many times faster a broadcast must be to be Dunnage's, as collective/trial.hpp has it
DEAREST = 1e6  # nanoseconds; the most that the file may say
PARTS = ("call", "latency", "overhead", "byte", "reader")
NEARER = 0.05  # by so much built-in prices may predict better: noise


@dataclass
class Prices:
    """Those of the window, or of the messages of one class of peers."""

    name: str
    fit: Fit
    built_in: Fit
    refused: str = ""  # why the built-in ones stay


@dataclass
class Broadcasts:
    """All that was found of one MPI."""

    header: Record  # of bench_tune
    network: Prices
    messages: List[Record]
    window: List[Prices] = field(default_factory=list)  # one, or none where the ranks are on two hosts
    least: int = NEVER
    timed: List[Record] = field(default_factory=list)  # broadcasts
    disturbed: List[str] = field(default_factory=list)


def network_row(record: Record) -> Row:
    """How often each price is paid in one exchange: messages in a row, as collective::cost has those of a chain, and an empty answer."""
    messages = record["messages"]
    return {"latency": 2, "overhead": messages + 3, "byte": messages * record["bytes"]}


def window_rows(records: Sequence[Record]) -> List[Row]:
    """The same of a broadcast by the window, as plan::WindowCosts::time has it. With one number of ranks nobody can tell what each reader costs: it is in the
    price of the byte."""
    several = len({one["ranks"] for one in records}) > 1
    return [{"call": 1, "byte": one["bytes"], "reader": one["bytes"] * (one["ranks"] - 1) if several else 0} for one in records]


def _prices(name: str, rows: List[Row], times: List[float], built_in: Dict[str, float], share: float) -> Prices:
    """`share`: of the series, those that were disturbed."""
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
    elif max(found.prices.values()) > DEAREST or found.prices.get("overhead", 1) <= 0 or sum(price for part, price in found.prices.items() if part in ("byte", "reader")) <= 0:
        refused = "no machine is like that"
    elif found.error > wrong + NEARER:
        refused = "the built-in figures are nearer"
    return Prices(name, found, before, refused)


def ratios(timed: Sequence[Record]) -> Dict[int, float]:
    """How many times faster Dunnage was, by bytes, with that number of ranks where it gained most."""
    found: Dict[int, float] = {}
    for one in timed:
        ratio = one["series"]["plain"]["median"] / one["series"]["dunnage"]["median"]
        found[one["bytes"]] = max(ratio, found.get(one["bytes"], ratio))
    return dict(sorted(found.items()))


def least_window(timed: Sequence[Record]) -> int:
    """The bytes from which broadcasts on one host may be Dunnage's.

    The first of two lengths in a row, or the last, with which it is faster with some number of ranks: each communicator compares for itself, and two ranks whose MPI
    copies at once are no reason to give up what many gain.
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
    """Everything of one MPI. `timed`: broadcasts on one host; of no use where the two ranks were on two."""
    built_in, peers = header["built_in"]["bcast"], header["peers"]
    share = unsteady(messages, "network")
    times = [1e9 * one["series"]["plain"]["median"] for one in messages]
    found = Broadcasts(header, _prices(peers, [network_row(one) for one in messages], times, built_in[peers], share), messages)
    if share > SOME:
        found.disturbed.append(f"{share:.0%} of the times of messages spread by more than {SPREAD - 1:.0%}; something disturbed them")
    if peers != "same_host":
        return found
    found.timed = timed
    share = unsteady(timed, "bcast")
    times = [1e9 * one["series"]["dunnage"]["median"] for one in timed]
    found.window = [_prices("window", window_rows(timed), times, built_in["window"], share)]
    found.least = least_window(timed)
    if share > SOME:
        found.disturbed.append(f"{share:.0%} of the times of broadcasts spread by more than {SPREAD - 1:.0%}; something disturbed them")
    most = max((one["ranks"] for one in timed), default=0)
    if most > cores:
        found.window[0].refused = f"{most} ranks on {cores} cores wait for these more than for each other"
    return found


def figures(found: Broadcasts, old: Dict[str, Any], date: str) -> Dict[str, Any]:
    """For the model file, with what it has of messages of the other class. What could not be measured now is left to built-in figures."""
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
    """What was measured, for people: as text, like the others."""
    curves = {found.network.name: "; ".join(
        f"{one['bytes']} {one['messages']} {round(1e9 * one['series']['plain']['median'])}" for one in found.messages)}
    for ranks in sorted({one["ranks"] for one in found.timed}):
        curves[f"{ranks} ranks"] = "; ".join(
            " ".join([str(one["bytes"]), *(str(round(1e9 * one["series"][name]["median"])) for name in ("plain", "dunnage"))])
            for one in found.timed if one["ranks"] == ranks)
    return curves


def merge(old: List[Dict[str, Any]], measured: List[Broadcasts], date: str) -> List[Dict[str, Any]]:
    """What was measured now beside all else that the file has."""
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
    rows = [[size(length), *(f"{1e6 * at[ranks, length][name]['median']:.1f}" if (ranks, length) in at else "-" for ranks in counts for name in ("plain", "dunnage"))]
            for length in sorted({one["bytes"] for one in found.timed})]
    return tabulate(rows, headers=["us", *(f"{who}, {ranks} ranks" for ranks in counts for who in ("the MPI", "Dunnage"))], disable_numparse=True)


def report(found: Broadcasts) -> str:
    """The table and remarks of one MPI; what is built in stands in parentheses."""
    header = found.header
    names = {"window": "the window, ns", "same_host": "messages on one host, ns", "other_host": "messages between hosts, ns"}
    where = "on one host" if header["peers"] == "same_host" else f"between {header['hosts'][0]} and {header['hosts'][1]}"
    lines = [f"{header['library']} {header['major']}.{header['minor']}, broadcasts {where} (built-in figures in parentheses)"]
    if found.timed:
        lines.append(_times(found))
    for one in [*found.window, found.network]:
        prices = ", ".join(f"{part} {one.fit.prices[part]:.4g} ({one.built_in.prices[part]:.4g})" for part in PARTS if part in one.fit.prices)
        lines.append(f"{names[one.name]}: {prices}; wrong by {one.fit.error:.0%}")
    if found.window and not found.window[0].refused:
        before = header["built_in"]["bcast"]["least_window"]
        lines.append(f"Dunnage may take over: {'never' if found.least == NEVER else f'from {size(found.least)}'} (from {size(before)})")
    lines += [f"{one.name}: the built-in figures stay: {one.refused}" for one in [*found.window, found.network] if one.refused]
    return "\n".join(lines + [f"! {line}" for line in found.disturbed])
