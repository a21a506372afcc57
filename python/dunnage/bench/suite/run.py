"""Runs all experiments, goes on where an earlier run has stopped, and writes the page."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, TextIO

from .. import machine
from ..experiment import load
from ..home import Home
from ..runner import NotHere, RunError
from . import outcome
from .outcome import Outcome
from .page import write_page
from .progress import Progress, clock

# Runs one experiment and reports it. Returns whether nothing was wrong.
RunOne = Callable[[Home, Path, argparse.Namespace], bool]
INTERRUPTED = 130


class _Tee(io.TextIOBase):
    """Writes to a stream, and keeps what was written."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.kept = stream, io.StringIO()

    def write(self, text: str) -> int:
        """Writes text and keeps it."""
        self.kept.write(text)
        return self.stream.write(text)

    def flush(self) -> None:
        """Flushes the stream."""
        self.stream.flush()


def conditions(options: argparse.Namespace) -> Dict[str, Any]:
    """Returns what must be alike for results to stand on one page."""
    names = ("quick", "mpi", "rounds", "pattern", "mode", "operation", "max_bytes", "simulated")
    return {"commit": machine.git_commit(), **{name: getattr(options, name) for name in names}}


def _run(home: Home, file: Path, options: argparse.Namespace, run_one: RunOne, here: Dict[str, Any]) -> Outcome:
    """Runs one experiment. Whatever it raises becomes its outcome, except an interruption."""
    experiment = load(file, options.quick)
    result = Outcome(file.stem, experiment.title, outcome.FAILED, conditions=here,
                     date=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"))
    if experiment.left_out:
        result.state, result.reason = outcome.LEFT_OUT, experiment.left_out
        return result
    tee = _Tee(sys.stdout)
    start = time.monotonic()
    try:
        with contextlib.redirect_stdout(tee):  # type: ignore[type-var]
            right = run_one(home, file, options)
        result.state = outcome.DONE if right else outcome.WRONG
    except NotHere as error:
        result.state, result.reason = outcome.CANNOT, str(error)
    except RunError as error:
        result.reason = str(error)
    except Exception:  # an error in one experiment must not lose hours of the others
        result.reason = traceback.format_exc()
    result.seconds = time.monotonic() - start
    result.printed = tee.kept.getvalue()
    return result


def run_all(home: Home, files: List[Path], options: argparse.Namespace, run_one: RunOne) -> int:
    """Runs the experiments of the files.

    Outcomes of an earlier run in the output folder are kept, unless the options or the commit were
    others, or --force is given. Returns 0 if all is well; 1 if an experiment found wrong bytes or a
    regression; 2 if an experiment failed or none could run; 130 if the user interrupted it. What a
    machine lacks is no failure.
    """
    folder: Path = options.output or home.path / "results"
    here = conditions(options)
    found: Dict[str, Outcome] = {}
    for file in files:
        earlier = outcome.load(folder, file.stem)
        if earlier and earlier.finished and earlier.conditions == here and not options.force:
            found[file.stem] = earlier
    waiting = [file for file in files if file.stem not in found]
    for name, one in found.items():
        _say(f"{name}: kept from {one.date}; --force measures it again")

    progress = Progress({file.stem: _expected(home, file, options) for file in waiting})
    status: Optional[int] = None
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        for number, file in enumerate(waiting, 1):
            _say(f"[{number}/{len(waiting)}] {file.stem}; about {clock(progress.left)} left")
            one = found[file.stem] = _run(home, file, options, run_one, here)
            outcome.save(folder, one)
            if one.finished:
                progress.finish(one.name, one.seconds)
            else:
                progress.skip(one.name)
                _say(f"{one.name}: {one.state}: {(one.reason.strip() or 'no reason').splitlines()[-1]}")
    except KeyboardInterrupt:
        _say("interrupted; the same command goes on with the experiments that are left")
        status = INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
    for file in files:  # also those that an interruption has left
        found.setdefault(file.stem, Outcome(file.stem, load(file, options.quick).title, outcome.NOT_RUN,
                                            reason="interrupted before"))
    page = write_page(folder, [found[file.stem] for file in files], here)
    print(f"\nPage: {page}")
    return _status(list(found.values())) if status is None else status


def _interrupt(*_: Any) -> None:
    """Ends an experiment as Ctrl-C does, so that its ranks end too. Batch systems send SIGTERM."""
    raise KeyboardInterrupt


def _status(outcomes: List[Outcome]) -> int:
    states = {one.state for one in outcomes}
    if outcome.FAILED in states or not any(one.finished for one in outcomes):
        return 2
    return 1 if outcome.WRONG in states else 0


def _expected(home: Home, file: Path, options: argparse.Namespace) -> float:
    """Returns the seconds that an experiment takes on two cores."""
    experiment = load(file, options.quick)
    if experiment.left_out:
        return 0
    mpis = options.mpi.split(",") if options.mpi else home.mpis(experiment.program)
    return experiment.about * max(1, len(mpis))


def _say(line: str) -> None:
    print(f"dunnage bench: {line}", file=sys.stderr, flush=True)
