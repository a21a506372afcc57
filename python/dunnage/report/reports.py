"""Reads reports, and says what was measured in them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from ..bench.units import size
from .advice import advice

LARGEST = 64 << 20  # the end of the last range of sizes that has one
THE_MPI = "the MPI"  # this candidate's name in the report


class NoReport(ValueError):
    """A file is not a report. The text says why, and what to do."""


@dataclass(frozen=True)
class Portion:
    """Some calls: those of one range of sizes, or the sends from one rank to another."""

    accelerated: int
    declined: int
    bytes: int  # of the accelerated calls
    seconds: float  # in the accelerated calls
    most: Optional[int] = None  # the end of the range of sizes, in bytes; None: no bound
    sender: int = -1  # the ranks, in MPI_COMM_WORLD
    receiver: Optional[int] = None  # None: all receivers that are not told apart

    @property
    def range(self) -> str:
        """Names the range of sizes."""
        return f"more than {size(LARGEST)}" if self.most is None else f"up to {size(self.most)}"


@dataclass(frozen=True)
class Call:
    """What became of the calls of one name."""

    name: str
    accelerated: int
    declined: Dict[str, int]
    bytes: int
    seconds: float
    tickets: int
    rings: int
    channels: int
    ways: Dict[str, int]  # of messages in device memory
    sizes: List[Portion] = field(default_factory=list)  # older reports do not tell them

    def declined_if(self, act: bool) -> int:
        """Returns how many calls were declined for reasons about which the user can do something,
        or for the others.
        """
        return sum(count for reason, count in self.declined.items() if advice(reason).act == act)


@dataclass(frozen=True)
class CallSite:
    """The calls of one place in the program, on its first rank."""

    call: str
    file: str
    offset: int  # in the file, as addr2line takes it
    function: str  # empty if the file does not export it
    portion: Portion
    reasons: Dict[str, int]  # of the declined calls


@dataclass(frozen=True)
class Trial:
    """The times that the library measured for one kind of calls."""

    call: str
    data: str
    choice: str
    over: bool
    seconds: Dict[str, float]

    @property
    def gain(self) -> Optional[float]:
        """Returns the MPI's time over Dunnage's, or None if one of the two was not measured.

        Dunnage's time is that of the choice, or Dunnage's best if the MPI was chosen.
        """
        ours = {who: time for who, time in self.seconds.items() if who != THE_MPI}
        if THE_MPI not in self.seconds or not ours:
            return None
        return self.seconds[THE_MPI] / ours.get(self.choice, min(ours.values()))

    @property
    def helps(self) -> bool:
        """Returns whether Dunnage does these calls."""
        return self.choice != THE_MPI


@dataclass(frozen=True)
class Report:
    """The report of one run."""

    name: str
    mpi: str
    ranks: int
    calls: List[Call]
    trials: List[Trial] = field(default_factory=list)
    devices: str = ""  # why GPUs were not used
    machine: str = ""  # of rank 0; older reports do not say it
    settings: Dict[str, str] = field(default_factory=dict)  # those that differ from their defaults
    work: Dict[str, int] = field(default_factory=dict)  # of the GPUs: messages, groups, launches
    links: List[Portion] = field(default_factory=list)  # from rank to rank, the busiest first
    sites: List[CallSite] = field(default_factory=list)  # those that took longest first
    helpers: Dict[str, int] = field(default_factory=dict)  # bytes, of DUNNAGE_THREADS

    def call(self, name: str) -> Optional[Call]:
        """Returns the calls of a name, or None if there were none."""
        return next((call for call in self.calls if call.name == name), None)

    def total(self, what: str) -> Any:
        """Returns the sum of a field over all calls."""
        return sum(getattr(call, what) for call in self.calls)

    def declined(self) -> Dict[str, int]:
        """Returns the number of declined calls for each reason, the most frequent first."""
        return _sums(call.declined for call in self.calls)

    def ways(self) -> Dict[str, int]:
        """Returns the number of messages in device memory for each way, the most frequent first."""
        return _sums(call.ways for call in self.calls)

    def finished_trials(self) -> Tuple[List[Trial], List[Trial]]:
        """Returns the trials with a measured comparison that are over: those after which Dunnage
        does the calls, and those after which the MPI does them.
        """
        known = [trial for trial in self.trials if trial.over and trial.gain is not None]
        return [trial for trial in known if trial.helps], [trial for trial in known if not trial.helps]


def _sums(parts: Any) -> Dict[str, int]:
    sums: Dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            sums[name] = sums.get(name, 0) + count
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def read(path: Path) -> Report:
    """Reads a report. Raises NoReport if the file cannot be read or is something else."""
    hint = "write one with `dunnage run --report=FILE.json -- COMMAND`"
    try:
        document = json.loads(path.read_text())
        return _report(str(path), document)
    except OSError as error:
        raise NoReport(f"{path}: {error.strerror}; {hint}") from None
    except json.JSONDecodeError as error:
        raise NoReport(f"{path} is not JSON (line {error.lineno}: {error.msg}); {hint}") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise NoReport(f"{path} is JSON, but no report of Dunnage; {hint}") from None


def _report(name: str, document: Dict[str, Any]) -> Report:
    calls = [
        Call(hook, int(row["accelerated"]), {reason: int(n) for reason, n in row["declined"].items()},
             int(row["bytes"]), float(row["seconds"]), int(row.get("by ticket", 0)), int(row.get("through rings", 0)),
             int(row.get("by channel", 0)),
             {way: int(n) for way, n in row.get("device memory", {}).items()},
             [Portion(**_figures(one), most=one.get("up to")) for one in row.get("by size", [])])
        for hook, row in document["calls"].items()
    ]
    trials = [
        Trial(row["call"], row["data"], row["choice"], bool(row["over"]),
              {who: float(time) for who, time in row["seconds"].items()})
        for row in document.get("trials", []) + document.get("trials of collectives", [])
    ]
    settings = {setting: str(value) for setting, value in document.get("settings", {}).items()}
    return Report(name, str(document["mpi"]), int(document["ranks"]), calls, trials, str(document.get("devices", "")),
                  str(document.get("machine", "")), settings,
                  {what: int(n) for what, n in document.get("device work", {}).items()},
                  [Portion(**_figures(one), sender=int(one["from"]), receiver=one.get("to"))
                   for one in document.get("peers", [])],
                  [_site(one) for one in document.get("call sites", [])],
                  {what: int(n) for what, n in document.get("helpers", {}).items()})


def _site(row: Dict[str, Any]) -> CallSite:
    reasons = {reason: int(n) for reason, n in row["declined"].items()}
    portion = Portion(**_figures({**row, "declined": sum(reasons.values())}))
    return CallSite(str(row["call"]), str(row["file"]), int(row["offset"]), str(row.get("function", "")), portion,
                    reasons)


def _figures(row: Dict[str, Any]) -> Dict[str, Any]:
    return {"accelerated": int(row["accelerated"]), "declined": int(row["declined"]), "bytes": int(row["bytes"]),
            "seconds": float(row["seconds"])}
