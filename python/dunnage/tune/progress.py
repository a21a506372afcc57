"""Shows progress: a bar if the output is a terminal, else a line for each launch."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


class Progress:
    """The progress of a run that takes at most so many seconds, or not much longer.

    Use it in a `with` statement, so that the bar ends before anything else is printed.
    """

    def __init__(self, seconds: float) -> None:
        self.start, self.seconds, self.shown = time.monotonic(), seconds, 0.0
        self.what = ""
        self.bar: Optional[Any] = None
        if tqdm is not None and sys.stderr.isatty():
            self.bar = tqdm(total=100, bar_format="{desc} {bar}", leave=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()

    def left(self) -> str:
        """Says how much time is left at most."""
        return f"at most {max(self.seconds - (time.monotonic() - self.start), 0):.0f} s left"

    def begin(self, what: str) -> None:
        """Begins a launch."""
        self.what = what
        if self.bar is None:
            print(f"  {what}, {self.left()}", file=sys.stderr, flush=True)
        self.show("")

    def show(self, more: str) -> None:
        """Shows the time left and, in a terminal, how far the launch is."""
        if self.bar is None:
            return
        now = min(100 * (time.monotonic() - self.start) / self.seconds, 100.0)
        self.bar.set_description_str(", ".join(part for part in (self.what, more, self.left()) if part))
        self.bar.update(now - self.shown)
        self.shown = now
