"""Shows progress: a bar if the output is a terminal, else a line for each step."""

from __future__ import annotations

import sys
from typing import Any, Optional

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


class Progress:
    """The progress of a run of equal steps.

    Use it in a `with` statement, so that the bar ends before anything else is printed.
    """

    def __init__(self, steps: int) -> None:
        self.steps, self.done, self.shown = steps, 0, 0.0
        self.bar: Optional[Any] = None
        if tqdm is not None and sys.stderr.isatty():
            self.bar = tqdm(total=100, unit="%", bar_format="{desc} {bar} {n:.0f} % [{elapsed}]", leave=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()

    def begin(self, what: str) -> None:
        """Begins the next step."""
        if self.bar is not None:
            self.bar.set_description_str(what)
        else:
            print(f"  {what} ({self.done + 1} of {self.steps})", file=sys.stderr, flush=True)

    def share(self, of_step: float) -> None:
        """Reports which share of the step is done, from 0 to 1."""
        now = 100 * (self.done + min(of_step, 1)) / self.steps
        if self.bar is not None and now > self.shown:
            self.bar.update(now - self.shown)
        self.shown = max(self.shown, now)

    def end(self) -> None:
        """Ends the step."""
        self.share(1)
        self.done += 1
