"""Reads the tables that OSU's micro-benchmarks and the Intel MPI Benchmarks (IMB) print."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional

# What a column is called that tells the time of a message, the best one first.
TIMES = ("t_avg[usec]", "t[usec]")


@dataclass
class Row:
    """One line of a table."""

    benchmark: str
    bytes: int
    microseconds: float  # for a bandwidth: the time of a message at this bandwidth


def imb(text: str) -> List[Row]:
    """Reads what an IMB program printed."""
    rows: List[Row] = []
    name, columns = "", []  # of the table that is being read
    for line in text.splitlines():
        words = line.split()
        if line.startswith("# Benchmarking"):
            name, columns = words[2], []
        elif words and words[-1].startswith(("t_", "t[", "Mbytes/sec", "Msg/sec")):
            columns = words
        elif columns and len(words) == len(columns) and re.fullmatch(r"\d+", words[0]):
            found = dict(zip(columns, words))
            time = next((found[column] for column in TIMES if column in found), None)
            if time is not None:
                rows.append(Row(name, int(found.get("#bytes", 0)), float(time)))
    return rows


def osu(text: str) -> List[Row]:
    """Reads what one OSU program printed."""
    rows: List[Row] = []
    name, bandwidth = "", False
    for line in text.splitlines():
        title = re.match(r"#\s*(?:OSU )?(.*\S) Test", line)
        if title and not name:
            name = title[1]
        bandwidth = bandwidth or bool(re.match(r"#.*Bandwidth.*MB/s", line))
        row = re.match(r"\s*(\d+)\s+(\d+(?:\.\d+)?)", line)
        if row:
            time = _time(int(row[1]), float(row[2]), bandwidth)
            if time is not None:
                rows.append(Row(name, int(row[1]), time))
    return rows


def _time(size: int, value: float, bandwidth: bool) -> Optional[float]:
    """Returns microseconds. A bandwidth of 1 MB/s is one byte in a microsecond."""
    if not bandwidth:
        return value
    return size / value if value > 0 else None
