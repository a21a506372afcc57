"""The page of one or several reports: one HTML file that needs nothing else."""

from __future__ import annotations

from typing import Any, Dict, List, Optional
from xml.etree.ElementTree import Element

from ..bench.units import amount, duration
from .advice import advice
from .markup import document, section, spans, style, table, tag
from .reports import THE_MPI, Call, Portion, Report, Trial
from .sites import names as site_names
from .text import NOT_COMPARED, verdict

BAR = 220  # the width of a full bar, in pixels
# Shares of calls and their classes in the style sheet.
PORTION = ["share", "accelerated", "declined", "data", "time of an accelerated call"]  # heads of columns
CLASSES = {"accelerated": "accelerated", "left alone": "alone", "can be changed": "change"}


def page(reports: List[Report]) -> str:
    """Returns the text of the file."""
    names = ", ".join(report.name for report in reports)
    sections = [_helped(reports), _calls(reports), _sizes(reports), _links(reports), _sites(reports),
                _declined(reports), _ways(reports), _work(reports), _helpers(reports), _runs(reports)]
    return document(tag(
        "html",
        tag("head", tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", f"Dunnage: {names}"), style()),
        tag("body", tag("h1", "Dunnage report"), tag("p", names), sections),
        lang="en"))


def _bar(parts: Dict[str, float], whole: float, title: str) -> Element:
    """Returns a bar. `parts` has lengths by class of the style sheet; `whole` is a full bar."""
    pieces = [tag("span", class_=f"piece {kind}", style=f"width: {BAR * length / whole:.1f}px")
              for kind, length in parts.items() if length]
    return tag("span", pieces, class_="bar", title=title)


def _helped(reports: List[Report]) -> Element:
    parts: List[Element] = []
    for report in reports:
        if len(reports) > 1:
            parts.append(tag("h3", report.name))
        parts.append(tag("p", verdict(report), class_="verdict"))
        if any(trial.seconds for trial in report.trials):
            parts.append(_trials(report.trials))
    return section("Did it help?", parts, tag("p", NOT_COMPARED, class_="note"))


def _trials(trials: List[Trial]) -> Element:
    rows = []
    for trial in trials:
        if not trial.seconds:
            continue
        longest = max(trial.seconds.values())
        bars = []
        for who, time in trial.seconds.items():
            kind, told = "mpi" if who == THE_MPI else "accelerated", f"{who}, {duration(time)}"
            bars.append(tag("div", _bar({kind: time}, longest, told), f" {told}", class_="line"))
        gain = "not measured" if trial.gain is None else f"{trial.gain:.3g} times"
        rows.append([trial.call, trial.data, bars, trial.choice + ("" if trial.over else ", so far"), gain])
    return table(["call", "data", "time of a call (less is better)", "who does it", "the MPI's time over Dunnage's"],
                 rows, "The times are medians of calls that the program made on its first rank.")


def _shares(call: Call) -> Dict[str, float]:
    return {"accelerated": call.accelerated, "alone": call.declined_if(act=False), "change": call.declined_if(act=True)}


def _calls(reports: List[Report]) -> Element:
    names = list(dict.fromkeys(call.name for report in reports for call in report.calls))
    if not names:
        return section("Calls", tag("p", "No call that Dunnage knows was made."))
    several = _several(reports)
    rows = []
    for name in names:
        for report in reports:
            call = report.call(name)
            if call:
                rows.append([tag("code", name), *([report.name] if several else []), *_cells(call)])
    key = [tag("span", text, class_=f"key {kind}") for text, kind in CLASSES.items()]
    head = ["call", *several, *PORTION, "how"]
    note = "The time of a nonblocking call is the time to start it. Figures are sums over the ranks that answered."
    return section("Calls", tag("p", key), table(head, rows, note))


def _cells(call: Call) -> List[Any]:
    declined = sum(call.declined.values())
    shares = {"accelerated": call.accelerated, "alone": call.declined_if(act=False),
              "change": call.declined_if(act=True)}
    ways = (call.tickets, "by ticket"), (call.rings, "through rings"), (call.channels, "by channel")
    how = [f"{count:,} {text}" for count, text in ways if count]
    return [_bar(shares, call.accelerated + declined, f"{call.accelerated:,} of {call.accelerated + declined:,}"),
            call.accelerated, declined, amount(call.bytes) if call.bytes else "",
            duration(call.seconds / call.accelerated) if call.accelerated else "", tag("span", ", ".join(how))]


def _portion(one: Portion) -> List[Any]:
    """Returns the cells of some calls."""
    shares = {"accelerated": one.accelerated, "alone": one.declined}
    whole = one.accelerated + one.declined
    return [_bar(shares, whole, f"{one.accelerated:,} of {whole:,}"), one.accelerated, one.declined,
            amount(one.bytes) if one.bytes else "",
            duration(one.seconds / one.accelerated) if one.accelerated else ""]


def _sizes(reports: List[Report]) -> Optional[Element]:
    several = bool(_several(reports))
    rows = [[tag("code", call.name), *([report.name] if several else []), tag("span", one.range), *_portion(one)]
            for name in dict.fromkeys(call.name for report in reports for call in report.calls)
            for report in reports for call in report.calls if call.name == name for one in call.sizes]
    if not rows:
        return None
    return section("By size", table(["call", *_several(reports), "size", *PORTION], rows,
                                    "Each range begins above the end of the range before. Declined receives count "
                                    "with the size of their buffers. Calls of which the library knew no size are "
                                    "left out."))


def _links(reports: List[Report]) -> Optional[Element]:
    rows = [[*([report.name] if len(reports) > 1 else []), one.sender,
             "others" if one.receiver is None else one.receiver, *_portion(one)]
            for report in reports for one in report.links]
    if not rows:
        return None
    return section("Sends by peer", table([*_several(reports), "from rank", "to rank", *PORTION], rows,
                                          "Ranks are those of MPI_COMM_WORLD. Each rank tells its 32 busiest peers, "
                                          "and the report has the 256 busiest pairs."))


def _sites(reports: List[Report]) -> Optional[Element]:
    rows = []
    for report in reports:
        for place, one in zip(site_names(report.sites), report.sites):
            why = "; ".join(f"{count:,} {reason}" for reason, count in one.reasons.items())
            rows.append([*([report.name] if len(reports) > 1 else []), tag("code", place), tag("code", one.call),
                         *_portion(one.portion), tag("span", why)])
    if not rows:
        return None
    head = [*_several(reports), "place", "call", *PORTION, "why declined"]
    return section("By place in the program", table(head, rows,
                                                    "Calls of the first rank, at the 64 places that took longest. "
                                                    "Lines are known if the program was compiled with -g."))


def _several(reports: List[Report]) -> List[str]:
    return ["report"] if len(reports) > 1 else []


def _declined(reports: List[Report]) -> Element:
    counts = [report.declined() for report in reports]
    reasons = sorted({reason for count in counts for reason in count},
                     key=lambda reason: (not advice(reason).act, -max(count.get(reason, 0) for count in counts)))
    if not reasons:
        return section("Left to the MPI, and what to do", tag("p", "Nothing was left to the MPI."))
    rows = []
    for reason in reasons:
        calls = list(dict.fromkeys(call.name for report in reports for call in report.calls if reason in call.declined))
        row = advice(reason)
        to_do = tag("strong", spans(row.to_do)) if row.act else tag("span", spans(row.to_do))
        rows.append([reason, *[count.get(reason, 0) for count in counts], tag("code", ", ".join(calls)),
                     tag("span", spans(row.meaning)), to_do])
    return section("Left to the MPI, and what to do",
                   table(["reason", *_columns("calls", reports), "which calls", "meaning", "what to do"], rows))


def _ways(reports: List[Report]) -> Optional[Element]:
    ways = list(dict.fromkeys(way for report in reports for way in report.ways()))
    if not ways:
        return None
    rows = [[way, *[report.ways().get(way, 0) for report in reports]] for way in ways]
    return section("Messages in device memory, by way",
                   table(["way", *_columns("messages", reports)], rows))


def _work(reports: List[Report]) -> Optional[Element]:
    kinds = list(dict.fromkeys(kind for report in reports for kind in report.work))
    if not kinds:
        return None
    rows = [[kind, *[report.work.get(kind, 0) for report in reports]] for kind in kinds]
    return section("Work of the GPUs",
                   table(["what", *_columns("how often", reports)], rows,
                         "Messages that are fetched together are one group, and share kernels if they can."))


def _helpers(reports: List[Report]) -> Optional[Element]:
    kinds = list(dict.fromkeys(kind for report in reports for kind in report.helpers))
    if not kinds:
        return None
    rows = [[kind, *[amount(report.helpers.get(kind, 0)) for report in reports]] for kind in kinds]
    return section("Helpers", table(["what", *_columns("how much", reports)], rows,
                                    "Threads that DUNNAGE_THREADS allows help to pack 1 MiB or more at once."))


def _columns(what: str, reports: List[Report]) -> List[str]:
    """Returns the heads of columns with one number for each report."""
    return [what] if len(reports) == 1 else [f"{what}: {report.name}" for report in reports]


def _runs(reports: List[Report]) -> Element:
    rows = [[report.name, report.mpi, report.ranks, report.machine or "not told",
             ", ".join(f"{name}={value}" for name, value in report.settings.items()), report.devices]
            for report in reports]
    return section("Runs", table(["report", "MPI", "ranks that answered", "machine of rank 0", "settings", "GPUs"],
                                 rows, "Settings with their default values are left out."))
