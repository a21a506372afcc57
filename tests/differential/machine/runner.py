"""Runs scripts on an MPI, many in one launch, and reads what the ranks have logged."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from installed import BUILD, SANITIZED, command, environment, sanitized, yielding  # noqa: E402

LIBRARY = str(BUILD / "lib" / "libdunnage.so")
SIM = BUILD / "lib" / "dunnage" / "sim"
MODES = {
    "dunnage": {},
    "always": {"DUNNAGE_FORCE": "always", "DUNNAGE_TICKETS": "always"},
    "staged": {"DUNNAGE_FORCE": "always", "DUNNAGE_TICKETS": "off"},
}
CHECKED = "sanitized"  # a mode that needs another build: as "always", with AddressSanitizer
SCRIPT_SECONDS = 20  # what the interpreter gives a script; then it ends itself
HEADER = re.compile(r"^# ranks=(\d+) threads=(\d) device=(\d)")


@dataclasses.dataclass
class Outcome:
    """`lines`: what rank R told of the script's line L, by (L, R). `end`: "" if all ranks came to
    the script's end."""

    lines: dict
    end: str = ""


def header(script):
    """(ranks, threads, device) of a script."""
    return tuple(int(value) for value in HEADER.match(script).groups())


def variables_of(mpi, mode, device):
    """The environment of the ranks. "paused" is plain, with rests between statements; "wrong" is a
    library that the machine must find."""
    variables = {}
    if device:
        sim = SANITIZED.parent / "dunnage" / "sim" if mode == CHECKED else SIM
        variables["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(sim), mpi.libraries]))
        variables["DUNNAGE_SIM_DELAY"] = "20"
    if mode == "plain":
        variables["DIFFERENTIAL_HOST"] = "1"
    elif mode == "paused":
        variables.update(DIFFERENTIAL_HOST="1", DIFFERENTIAL_PAUSE="1")
    elif mode == "wrong":
        variables.update(DIFFERENTIAL_HOST="1", LD_PRELOAD=str(BUILD / "mpi" / mpi.programs / "libwrong.so"))
    elif mode == CHECKED:
        variables.update(MODES["always"], **sanitized())
    elif mode.startswith("broken:"):
        variables.update(DIFFERENTIAL_HOST="1", DIFFERENTIAL_BREAK=mode.removeprefix("broken:"))
    else:
        variables.update(LD_PRELOAD=LIBRARY, **MODES[mode])
    return yielding(mpi, variables)


def launch(words, limit):
    """Standard error. The launcher has a session of its own, so that no rank is left behind."""
    with subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True) as process:  # fmt: skip
        try:
            return process.communicate(timeout=limit)[1]
        except subprocess.TimeoutExpired:
            for kill in (signal.SIGTERM, signal.SIGKILL):
                os.killpg(process.pid, kill)
                try:
                    return process.communicate(timeout=10)[1] + "\nhung\n"
                except subprocess.TimeoutExpired:
                    pass
            return "hung"


def read_logs(folder, ranks, names):
    """For each script that any rank has begun, (lines, whether every rank has finished it)."""
    begun = {}
    for rank in range(ranks):
        path = folder / f"log.{rank}"
        name = None
        for line in path.read_text().splitlines() if path.exists() else []:
            if line == "==":
                begun[name][1].add(rank)
            elif line.startswith("== "):
                name = line.removeprefix("== ")
                begun.setdefault(name, ({}, set()))
            else:
                number, _, text = line.partition(" ")
                begun[name][0][int(number), rank] = text
    return [(begun[str(name)][0], len(begun[str(name)][1]) == ranks) for name in names if str(name) in begun]


def why(errors):
    """What a launch that did not end says."""
    for word in ("hung", "crashed"):
        if word in errors:
            where = re.search(rf'check="\S* ([^"]*)" {word}( \(signal \d+\))?', errors)
            return f"{word} at {where.group(1)}{where.group(2) or ''}" if where else word
    return "ended early: " + " ".join(errors.split())[-200:]


def run_alike(mpi, mode, scripts, ranks, threads, device):
    """Outcomes of scripts with one header."""
    outcomes = []
    program = BUILD / "mpi" / mpi.programs / ("interpreter_gpu" if device else "interpreter")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = []
        for i, script in enumerate(scripts):
            paths.append(folder / f"{i}.txt")
            paths[-1].write_text(script)
        while len(outcomes) < len(paths):
            rest = paths[len(outcomes) :]
            for log in folder.glob("log.*"):
                log.unlink()
            words = command(mpi, ranks, variables_of(mpi, mode, device))
            words += [program, *(["--threads"] if threads else []), folder / "log", *rest]
            errors = launch(words, SCRIPT_SECONDS + 30 + len(rest))
            logs = read_logs(folder, ranks, rest)
            outcomes += [Outcome(lines) for lines, finished in logs if finished]
            if len(outcomes) < len(paths):
                unfinished = [lines for lines, finished in logs if not finished]
                outcomes.append(Outcome(unfinished[0] if unfinished else {}, why(errors)))
    return outcomes


def run(mpi, mode, scripts):
    """The outcome of each script."""
    alike = {}
    for i, script in enumerate(scripts):
        alike.setdefault(header(script), []).append(i)
    outcomes = [None] * len(scripts)
    for key, indices in alike.items():
        for i, outcome in zip(indices, run_alike(mpi, mode, [scripts[i] for i in indices], *key)):
            outcomes[i] = outcome
    return outcomes
