"""Colours, where the output is a terminal that wants them (https://no-color.org)."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import TextIO

BOLD, RED, PLAIN = "\033[1m", "\033[31m", "\033[0m"
BAD = re.compile(r"\b(?:NO|MISSED|DIFFERS|(?:DUNNAGE (?:GIVES|LEAVES) )?WRONG [A-Z]+)\b")
HEADING = re.compile(r"^\S.*: \d+ ranks? of .*$", re.MULTILINE)


class Coloured(io.TextIOBase):
    """Writes to a stream: what is bad in red, and the headings of reports bold."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Writes text, in colours."""
        shown = BAD.sub(lambda found: f"{RED}{found[0]}{PLAIN}", text)
        self.stream.write(HEADING.sub(lambda found: f"{BOLD}{found[0]}{PLAIN}", shown))
        return len(text)

    def flush(self) -> None:
        """Flushes the stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Returns whether the stream is a terminal."""
        return self.stream.isatty()


def colour_output() -> None:
    """Has standard output coloured, if it is a terminal and the user has not refused."""
    refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if sys.stdout.isatty() and not refused:
        sys.stdout = Coloured(sys.stdout)  # type: ignore[assignment]
