"""The short text of a report, and the JSON that holds what the text says."""

from __future__ import annotations

from typing import Any, Dict, List

from ..bench.units import amount, duration
from .advice import advice
from .markup import plain
from .reports import Report, Trial
from .sites import names

NOT_COMPARED = ("The library compares packing calls, and the packing of messages of one host. For all other calls, "
                "run the program with DUNNAGE=off too, and compare the times of the two runs.")


def verdict(report: Report) -> str:
    """Returns one sentence about what the trials of a run have measured."""
    ours, the_mpis = report.finished_trials()
    if not ours and not the_mpis:
        return "No comparison with the MPI was measured in this run."
    parts = []
    if ours:
        parts.append(f"Dunnage does {len(ours)}, {gains(ours)} as fast as the MPI")
    if the_mpis:
        parts.append(f"the MPI does {len(the_mpis)}, where Dunnage is {gains(the_mpis)} as fast")
    kinds = len(ours) + len(the_mpis)
    return f"Of {kinds} kind{'s' if kinds > 1 else ''} of calls that were measured, {'; '.join(parts)}."


def gains(trials: List[Trial]) -> str:
    """Returns the range of the gains: "1.5 times" or "1.5 to 3 times"."""
    values = sorted({f"{trial.gain:.3g}" for trial in trials if trial.gain is not None}, key=float)
    return f"{' to '.join(dict.fromkeys([values[0], values[-1]]))} times"


def summary(report: Report) -> str:
    """Returns a few lines about one run."""
    lines = [f"{report.name}: {report.ranks} rank{'s' if report.ranks > 1 else ''} of {report.mpi}"]
    if report.devices:
        lines.append(f"  {report.devices}")
    lines.append(f"  measured     {verdict(report)}")
    accelerated = report.total("accelerated")
    moved = f", {amount(report.total('bytes'))} in {duration(report.total('seconds'))}" if accelerated else ""
    lines.append(f"  accelerated  {accelerated} calls{moved}")
    for reason, count in report.declined().items():
        to_do = f"; to do: {plain(advice(reason).to_do)}" if advice(reason).act else ""
        lines.append(f"  declined     {count} calls: {reason}{to_do}")
    for one in report.links[:1]:
        receiver = "others" if one.receiver is None else f"rank {one.receiver}"
        lines.append(f"  busiest pair rank {one.sender} to {receiver}: {one.accelerated} sends accelerated, "
                     f"{one.declined} declined")
    for place, site in zip(names(report.sites)[:3], report.sites):
        lines.append(f"  place        {place}: {site.call}, {site.portion.accelerated} calls accelerated, "
                     f"{site.portion.declined} declined")
    if report.helpers:
        helped, shared = report.helpers["bytes of helpers"], report.helpers["bytes of shared work"]
        lines.append(f"  helpers      packed {amount(helped)} of {amount(shared)} packed 1 MiB or more at once")
    for way, count in report.ways().items():
        lines.append(f"  device       {count} messages: {way}")
    if report.work:
        lines.append("  GPUs         " + ", ".join(f"{count} {kind}" for kind, count in report.work.items()))
    return "\n".join(lines)


def as_json(report: Report) -> Dict[str, Any]:
    """Returns what summary() says, for programs."""
    ours, the_mpis = report.finished_trials()
    return {
        "report": report.name,
        "mpi": report.mpi,
        "ranks": report.ranks,
        "accelerated": report.total("accelerated"),
        "bytes": report.total("bytes"),
        "seconds": report.total("seconds"),
        "declined": {
            reason: {"calls": count, "act": advice(reason).act, "what to do": plain(advice(reason).to_do)}
            for reason, count in report.declined().items()
        },
        "by size": {call.name: [vars(one) for one in call.sizes] for call in report.calls if call.sizes},
        "by peer": [vars(one) for one in report.links],
        "call sites": [
            {"place": place, "call": site.call, "accelerated": site.portion.accelerated, "declined": site.reasons,
             "bytes": site.portion.bytes, "seconds": site.portion.seconds}
            for place, site in zip(names(report.sites), report.sites)
        ],
        "device memory": report.ways(),
        "device work": report.work,
        "helpers": report.helpers,
        "measured": [
            {"call": trial.call, "data": trial.data, "choice": trial.choice, "gain": trial.gain}
            for trial in [*ours, *the_mpis]
        ],
    }
