"""The page of all experiments: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any, Dict, List
from xml.etree.ElementTree import Element

from ...report.markup import document, section, style, table, tag
from .. import machine
from . import outcome
from .documents import DOCUMENTS, Claim, Document
from .outcome import Outcome
from .progress import clock

NAME = "all.html"


def write_page(folder: Path, outcomes: List[Outcome], conditions: Dict[str, Any]) -> Path:
    """Writes the page into the folder that has the results. Returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / NAME
    file.write_text(page(folder, outcomes, conditions), encoding="utf-8")
    return file


def page(folder: Path, outcomes: List[Outcome], conditions: Dict[str, Any]) -> str:
    """Returns the text of the page."""
    title = "Dunnage benchmarks" + (", quick" if conditions.get("quick") else "")
    return document(tag(
        "html",
        tag("head", tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"), tag("title", title), style()),
        tag("body", tag("h1", title), _machine(folder, outcomes, conditions), _overview(outcomes),
            _documents(folder, outcomes), [_experiment(folder, one) for one in outcomes]),
        lang="en"))


def _machine(folder: Path, outcomes: List[Outcome], conditions: Dict[str, Any]) -> Element:
    """Returns the machine, the commit, and the MPIs as they call themselves."""
    here = machine.describe()
    mpis: Dict[str, str] = {}
    for one in outcomes:
        for name, header in outcome.results(folder, one.name).get("mpis", {}).items():
            mpis.setdefault(name, " ".join(header["library_version"].splitlines()[0].split()))
    memory = here["memory_bytes"]
    given = [f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
             for name, value in conditions.items() if name != "commit" and value]
    rows = [["date", tag("span", here["date"])], ["commit", conditions.get("commit") or "unknown: no repository"],
            ["command", " ".join(["dunnage bench --all", *given])],
            ["processor", f"{here['cpu']}, cores: {here['cores']}"], ["caches", ", ".join(here["caches"])],
            ["memory", f"about {memory / 2**30:.0f} GiB" if memory else "unknown"],
            ["kernel", tag("span", here["kernel"])],
            *[[name, version] for name, version in sorted(mpis.items())]]
    note = "" if not conditions.get("quick") else (
        "This was a quick run: fewer repetitions, and nothing large. Its figures show that everything works, and "
        "roughly how fast.")
    return section("Machine", table(["what", "value"], rows, note))


def _overview(outcomes: List[Outcome]) -> Element:
    rows = [[tag("a", one.name, href=f"#{one.name}"), one.title, one.state, clock(one.seconds) if one.finished else "",
             _short(one.reason)] for one in outcomes]
    return section("Experiments", table(["experiment", "title", "outcome", "took", "why"], rows))


def _short(reason: str) -> str:
    """Returns the last line of a reason: of a traceback, that is the error."""
    lines = reason.strip().splitlines()
    return lines[-1] if lines else ""


def _documents(folder: Path, outcomes: List[Outcome]) -> Element:
    parts: List[Any] = [tag("p", "The documents were measured on other machines. Compare ratios, not times.")]
    for one in DOCUMENTS:
        rows, told = [], set()
        for claim in one.claims:
            again = claim.figure and (claim.experiment, claim.figure, claim.pattern) in told
            told.add((claim.experiment, claim.figure, claim.pattern))
            ours = ["as above", ""] if again else _ours(folder, outcomes, claim)
            rows.append([claim.what, claim.value or "-", claim.where, *ours])
        parts += [tag("h3", one.title), tag("p", f"{one.source}. Repeated by: ", _links(one, outcomes)),
                  table(["what", "document", "measured on", "here", "what it is"], rows, one.note)]
    return section("The documents' figures, and ours", parts)


def _links(one: Document, outcomes: List[Outcome]) -> List[Any]:
    parts: List[Any] = []
    for name in (name for name in one.experiments if any(o.name == name for o in outcomes)):
        parts += [", " if parts else "", tag("a", name, href=f"#{name}")]
    return parts or ["no experiment of this run"]


def _ours(folder: Path, outcomes: List[Outcome], claim: Claim) -> List[Any]:
    """Returns our figures for a figure of a document, and what they are; or why there are none."""
    if not claim.figure:
        return ["not measured", "no experiment takes this size on one host"]
    lines: List[Any] = []
    for run in (run for run in outcomes if re.fullmatch(claim.experiment, run.name)):
        if not run.finished:
            lines.append(tag("div", f"{run.name}: {run.state}: {_short(run.reason)}"))
            continue
        for figure in outcome.figures(folder, run.name):
            if re.fullmatch(claim.figure, figure["name"]) and re.search(claim.pattern, figure["pattern"] or ""):
                where = ", ".join(filter(None, (run.name, figure["mpi"], figure["operation"], figure["mode"],
                                                figure["name"].split(", ")[-1], figure["pattern"])))
                lines.append(tag("div", tag("b", f"{figure['value']:.3g}"), f" ({where})"))
    return [lines or "not measured", claim.ours or claim.what]


def _experiment(folder: Path, one: Outcome) -> Element:
    parts: List[Any] = [tag("p", f"Outcome: {one.state}" + (f", after {clock(one.seconds)}, {one.date}"
                                                           if one.finished else ""), class_="verdict")]
    if one.reason:
        parts.append(tag("pre", one.reason.strip()))
    if one.finished:
        parts += [_plots(folder, one.name), _figures(outcome.figures(folder, one.name))]
        parts.append(tag("details", tag("summary", "Everything that the command printed"), tag("pre", one.printed)))
    made = section(f"{one.name}: {one.title}", parts)
    made.set("id", one.name)
    return made


def _plots(folder: Path, name: str) -> List[Element]:
    """Returns the plots of an experiment, as images within the page."""
    plots = []
    for file in sorted(folder.glob(f"{name}.png")) + sorted(folder.glob(f"{name}.*.png")):
        data = base64.b64encode(file.read_bytes()).decode("ascii")
        plots.append(tag("img", src=f"data:image/png;base64,{data}", alt=f"Plot of {name}", class_="plot"))
    return plots


def _figures(figures: List[Dict[str, Any]]) -> Element:
    rows = []
    for one in figures:
        bound = "at most" if one["at_most"] else "at least"
        asked = "" if one["threshold"] is None else f"{bound} {one['threshold']:g}"
        met = {None: "", True: "met", False: "MISSED"}[one["met"]]
        rows.append([one["mpi"], one["operation"], one["mode"], one["name"], f"{one['value']:.4g}", asked, met,
                     one["pattern"] or ""])
    head = ["MPI", "operation", "mode", "figure", "value", "asked", "", "pattern"]
    used = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return table([head[place] for place in used], [[row[place] for place in used] for row in rows],
                 "The results file of the experiment has every sample.")
