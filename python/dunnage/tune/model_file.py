"""Reads and writes the model file (docs/reference/model-file.md). src/plan/model_file.cpp reads it
too.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Tuple

from ..bench.results import Record
from .evaluate import SIDES, Part, Tuned

FORMAT, VERSION = "dunnage model", 1
Document = Dict[str, Any]
Key = Tuple[str, int, int]


def rounded(prices: Dict[str, float]) -> Dict[str, float]:
    """Rounds prices to as many digits as have a meaning."""
    return {name: float(f"{price:.4g}") for name, price in prices.items()}


def _pack_figures(part: Part) -> Document:
    return {"engine_pack": rounded(part.fits[0].prices), "library_pack": rounded(part.fits[1].prices)}


def _side_figures(part: Part) -> Document:
    engine, library = (rounded(one.prices) for one in part.fits)
    return {"engine_eager_byte": engine.pop("eager_byte"), "library_eager_block": library.pop("eager_block"),
            "engine": engine, "library": library}


def _curve(records: List[Record]) -> str:
    """Returns the curve as text: bytes, bytes of a block, and the lower quartiles of plain MPI and
    of Dunnage in nanoseconds. What is not known is left out.

    Every program that starts skips text more quickly than numbers.
    """
    rows = [[one["bytes"], one.get("block", one["bytes"]),
             *(round(1e9 * one["series"][name]["low"]) for name in ("plain", "dunnage") if name in one["series"])]
            for one in records if one["known"]]
    return "; ".join(" ".join(map(str, row)) for row in rows)


def curves(tuned: Tuned) -> Document:
    """Returns what was measured, for people who want to look at it."""
    groups: Dict[str, List[Record]] = {}
    for record in tuned.records:
        groups.setdefault(record.get("direction", record["kind"]), []).append(record)
    groups["ticket"] = [record for record in tuned.ticket_records if record["kind"] == "message"]
    return {name: _curve(records) for name, records in groups.items() if records}


def entry(tuned: Tuned, old: Document, date: str) -> Document:
    """Returns the part of the file for one MPI, with what `old` has of other peers.

    A figure that could not be measured now is left out, so the built-in one applies.
    """
    header, peers = tuned.header, tuned.header["peers"]
    new = {key: header[key] for key in ("library", "major", "minor")}
    new["date"] = date
    if peers != "same_host":
        new.update({key: old[key] for key in ("least_ticket", "ticket") if key in old})
    new.update({key: old[key] for key in ("gpu", "bcast") if key in old})
    new["messages"] = {name: costs for name, costs in old.get("messages", {}).items() if name != peers}
    accepted = {part.name: part for part in tuned.parts if not part.refused}
    if "pack" in accepted:
        new.update(_pack_figures(accepted["pack"]))
    if "ticket" in accepted:
        new["least_ticket"] = accepted["ticket"].least
        new["ticket"] = rounded(accepted["ticket"].fits[0].prices)
    sides = {side: _side_figures(accepted[side]) for side in SIDES if side in accepted}
    if sides:
        new["messages"][peers] = {**sides, "eager_limit": header["built_in"]["messages"][peers]["eager_limit"]}
    new["curves"] = {**old.get("curves", {}), peers: curves(tuned)}
    return new


def read(path: Path, machine: Record) -> Tuple[List[Document], str]:
    """Returns the MPIs of a file that can be kept. If none can, also returns the reason."""
    try:
        document = json.loads(path.read_text())
        if (document["format"], document["version"]) != (FORMAT, VERSION):
            return [], f"{path} is of another format or version; it is replaced"
        if document["machine"] != machine:
            return [], f"{path} was made on another machine; it is replaced"
        for one in document["mpis"]:
            _ = (one["library"], one["major"], one["minor"])
            _ = (one.get("messages", {}).items(), one.get("curves", {}).items())
        return document["mpis"], ""
    except FileNotFoundError:
        return [], ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [], f"{path} is damaged; it is replaced"


def key_of(header: Record) -> Key:
    """Returns the key of an MPI's part of the file.

    `header` is such a part, or the header of a program that knows its MPI.
    """
    return header["library"], header["major"], header["minor"]


def entries(old: List[Document]) -> Dict[Key, Document]:
    """Returns the MPIs of a file by their keys."""
    return {key_of(one): one for one in old}


def entry_of(found: Dict[Key, Document], header: Record, date: str) -> Document:
    """Returns the part of one MPI. A new part is made if there is none."""
    library, major, minor = key_of(header)
    new = {"library": library, "major": major, "minor": minor, "date": date, "messages": {}, "curves": {}}
    return found.setdefault(key_of(header), new)


def merge(old: List[Document], tuned: List[Tuned], date: str) -> List[Document]:
    """Returns what was measured now, and what the file has of other MPIs and peers."""
    found = entries(old)
    for one in tuned:
        found[key_of(one.header)] = entry(one, found.get(key_of(one.header), {}), date)
    return list(found.values())


def write(path: Path, machine: Record, made: Document, mpis: List[Document]) -> None:
    """Writes the file in one step: a program that starts now finds the old file or the new one."""
    document = {"format": FORMAT, "version": VERSION, "made": made, "machine": machine, "mpis": mpis}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            json.dump(document, file, separators=(",", ":"))
            file.write("\n")
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
