"""How long the experiments take, to tell the time that is left."""

from __future__ import annotations

from typing import Dict


def clock(seconds: float) -> str:
    """Formats a time for people who wait: 40 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """The time that is left: what is expected, scaled by how far the expectations held so far."""

    def __init__(self, expected: Dict[str, float]) -> None:
        """`expected` has the seconds of each experiment that will run."""
        self.waiting = dict(expected)
        self.expected = self.taken = 0.0  # of the experiments that ran to their end

    def finish(self, name: str, seconds: float) -> None:
        """Notes that an experiment has run to its end."""
        self.expected += self.waiting.pop(name, 0.0)
        self.taken += seconds

    def skip(self, name: str) -> None:
        """Notes that an experiment will not run."""
        self.waiting.pop(name, None)

    @property
    def left(self) -> float:
        """Returns the seconds that the experiments will still take."""
        scale = self.taken / self.expected if self.expected else 1.0
        return sum(self.waiting.values()) * scale
