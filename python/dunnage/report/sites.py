"""Names the places in a program that a report has as offsets in files."""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Tuple

from .reports import CallSite

SECONDS = 20  # for all offsets of one file


def names(sites: List[CallSite]) -> List[str]:
    """Returns a name for each site: the function and its line, if the file is still there and was
    compiled with -g; else the function if it is known, and the offset. Asks addr2line, of binutils,
    if it is installed.
    """
    found: Dict[Tuple[str, int], Tuple[str, str]] = {}
    for file in {site.file for site in sites}:
        offsets = tuple(sorted({site.offset for site in sites if site.file == file}))
        found.update({(file, offset): known for offset, known in zip(offsets, _look_up(file, offsets))})
    return [_name(site, *found.get((site.file, site.offset), ("", ""))) for site in sites]


def _name(site: CallSite, function: str, line: str) -> str:
    place = line or f"{Path(site.file).name}+0x{site.offset:x}"
    return f"{function or site.function}, {place}".removeprefix(", ")


@lru_cache(maxsize=None)  # the text and the page both ask
def _look_up(file: str, offsets: Tuple[int, ...]) -> List[Tuple[str, str]]:
    """Returns the function and "source:line" of each offset, empty where they are not known. The
    list is empty if nothing is known.
    """
    if not shutil.which("addr2line") or not Path(file).exists():
        return []
    words = ["addr2line", "-C", "-f", "-e", file, *map(hex, offsets)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    told = done.stdout.splitlines()  # two lines for each offset
    if done.returncode != 0 or len(told) != 2 * len(offsets):
        return []
    return [(function.replace("??", ""), _line(place)) for function, place in zip(told[::2], told[1::2])]


def _line(place: str) -> str:
    source, _, line = place.split(" (discriminator")[0].rpartition(":")
    return f"{Path(source).name}:{line}" if line.isdigit() and int(line) > 0 else ""
