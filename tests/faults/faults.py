"""Faults by number: kills ranks and launchers at random instants of named steps, stops ranks for a
second, and takes away what programs count on. Each run is judged: does it end, are all bytes right,
is anything left behind?

    python tests/faults/faults.py --count 1000            # faults, spread over all steps and MPIs
    python tests/faults/faults.py --count 1000 --at-calls # at calls of Dunnage's functions (needs gdb)
    python tests/faults/faults.py --surroundings          # full /dev/shm, few files, and the like
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402
from installed import BUILD, MPIS, command, environment, yielding  # noqa: E402

PRELOAD = BUILD / "lib" / "libdunnage.so"
SIM = BUILD / "lib" / "dunnage" / "sim"
SECONDS = 20  # that a run may take; it takes less than 3
GRACE = 5  # seconds in which ranks end after their launcher has been killed
RANKS = 3
AT_CALL = str(pathlib.Path(__file__).with_name("at_call.py"))
PLAIN_RUNS = 40  # at most, of a job that has suffered


class Step(NamedTuple):
    """What is under way when the fault comes: at a random instant of one of the first `rounds`
    rounds, at most `after` microseconds or `calls` calls of Dunnage's functions after the round has
    begun."""

    program: str
    traffic: str
    rounds: int = 60
    after: int = 400
    calls: int = 400


STEPS = {
    "tickets": Step("traffic", "tickets"),
    "broadcast": Step("traffic", "broadcast"),
    "neighbour rings": Step("traffic", "ring"),
    "finalize": Step("traffic", "finalize", 1, 25000),
    "proofs": Step("traffic_gpu", "tickets", 2, 2000),  # ranks find out in the first rounds whose memory they read
    "tickets of a device": Step("traffic_gpu", "tickets"),
    "tokens": Step("traffic_gpu", "short"),
    "channels": Step("traffic_gpu", "channels"),
    "streams": Step("traffic_gpu", "streams"),
    "match of streams": Step("traffic_gpu", "match", 20, 2000),
}
HOWS = ("kill sender", "kill receiver", "kill launcher", "stop")
HOWS_AT_CALLS = ("kill sender", "kill receiver", "stop")
ROUNDS = 60  # of a job; it has one if it is to be in MPI_Finalize
MARK = "FAULT_MARK"


@dataclasses.dataclass
class Verdict:
    """`faults`: what must not be. `left`: files of others than Dunnage that are new."""

    code: int
    output: str
    faults: list
    left: list

    @property
    def completed(self):
        return self.code == 0 and "traffic:" in self.output


def processes(mark):
    """Those that have the mark in their environment, but for zombies."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            variables = pathlib.Path(entry.path, "environ").read_bytes()
            if f"{MARK}={mark}".encode() in variables:
                found.append(int(entry.name))
        except OSError:
            pass  # it has ended
    return found


def files():
    return {str(path) for folder in ("/dev/shm", "/tmp") for path in pathlib.Path(folder).glob("*")}


def run(mpi, program, arguments, variables, plain=False, before=()):
    """Runs one job and looks what became of it. `before`: words that start the launcher."""
    mark = uuid.uuid4().hex
    ours = dict(variables) if plain else {"LD_PRELOAD": str(PRELOAD), **variables}
    if program.endswith("_gpu"):
        ours["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(SIM), str(BUILD / "lib"), mpi.libraries]))
    faults, existing = [], files()
    folder = tempfile.mkdtemp(prefix="faults-")
    words = [*before, *command(mpi, RANKS, yielding(mpi, ours)), BUILD / "mpi" / mpi.programs / program, *arguments]
    env = {**environment(), MARK: mark, "FAULT_PARENT": str(os.getpid()), "TMPDIR": folder}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([str(word) for word in words], env=env, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=output, start_new_session=True)  # fmt: skip
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            faults.append("hangs")
        end = time.monotonic() + GRACE
        while processes(mark) and not faults and time.monotonic() < end:
            time.sleep(0.02)
        left = processes(mark)
        if left and not faults:
            faults.append("a process is left")
        for one in left:
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
        output.seek(0)
        text = output.read()
    if "WRONG" in text:
        faults.append("wrong bytes")
    if "terminate called" in text:
        faults.append("an exception ends the program")
    fresh = sorted(files() - existing - {folder})
    ours_left = [name for name in (*fresh, *map(str, pathlib.Path(folder).rglob("*"))) if "dunnage" in name]
    if ours_left:
        faults.append("a file is left: " + ", ".join(ours_left))
    shutil.rmtree(folder, ignore_errors=True)
    return Verdict(process.returncode, text, faults, [name for name in fresh if "dunnage" not in name])


def suffer(mpi, step, how, seed, at_call=False):
    """One fault at a random instant of a step, or at a call of Dunnage's functions. What the plain
    MPI suffers from too is no fault of Dunnage."""
    chance = random.Random(seed)
    program, traffic, *_ = STEPS[step]
    rounds = 1 if traffic == "finalize" else ROUNDS
    variables = {
        "DUNNAGE_TICKETS": "always",
        "DUNNAGE_NEIGHBOURS": "on",
        "DUNNAGE_BCAST": "on",
        "FAULT_RANK": "0" if how.endswith("sender") else "1",
        "FAULT_HOW": {"kill launcher": "launcher", "stop": "stop"}.get(how, "kill"),
        "FAULT_AT": str(chance.randrange(STEPS[step].rounds)),
        "FAULT_AFTER": str(chance.randrange(STEPS[step].after)),
    }
    at = {"FAULT_CALL": str(1 + chance.randrange(STEPS[step].calls)), "FAULT_SCRIPT": AT_CALL} if at_call else {}
    verdict = run(mpi, program, [traffic, rounds], {**variables, **at})
    if how == "stop" and not verdict.completed:
        verdict.faults.append("does not end well")
    if verdict.faults and not program.endswith("_gpu"):  # the plain MPI takes no device memory
        for _ in range(PLAIN_RUNS):  # the plain Open MPI 4.1 hangs in one of 15 runs if a rank dies in MPI_Finalize
            excused = run(mpi, program, [traffic, rounds], variables, True).faults
            verdict.faults = [fault for fault in verdict.faults if fault not in excused]
            if not verdict.faults:
                break
    return verdict


def inside(script):
    """Words that run the launcher in mount namespaces of its own, after a script. Only root can."""
    return ("unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh")


def limited(limit):
    return ("sh", "-c", f'ulimit {limit} && exec "$@"', "sh")


SURROUNDINGS = {
    "full /dev/shm": inside("mount -t tmpfs -o size=64k tmpfs /dev/shm && head -c 65536 /dev/zero > /dev/shm/full"),
    "unwritable /dev/shm": inside("mount -t tmpfs -o ro tmpfs /dev/shm"),
    "no /dev/shm": inside(
        "d=$(mktemp -d) && mount --rbind /dev $d && mount -t tmpfs tmpfs /dev && mkdir /dev/pts && "
        "mount --rbind $d/pts /dev/pts && for f in null zero full random urandom tty ptmx; do "
        "touch /dev/$f && mount --bind $d/$f /dev/$f; done; ln -s /proc/self/fd /dev/fd; umount -l $d; rmdir $d"
    ),
    **{f"{n} open files": limited(f"-n {n}") for n in (24, 32, 40, 48, 64)},
    **{f"{n} MiB of addresses": limited(f"-v {n << 10}") for n in (512, 1024, 4096, 16384)},
    "no HOME": ("env", "-u", "HOME"),
    "HOME that is not there": ("env", "HOME=/nonexistent"),
}


def survive(mpi, name, step="tickets"):
    """(plain, with Dunnage) in these surroundings. What works plain must work."""
    program, traffic, *_ = STEPS[step]
    before = SURROUNDINGS[name]
    plain = run(mpi, program, [traffic, 20], {}, True, before)
    ours = run(mpi, program, [traffic, 20], {"DUNNAGE_TICKETS": "always"}, False, before)
    if "hangs" in plain.faults and "hangs" in ours.faults:
        ours.faults.remove("hangs")
    if plain.completed and not ours.completed:
        ours.faults.append("works without Dunnage")
    return plain, ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after that long")
    parser.add_argument("--jobs", type=int, default=1, help="faults at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", action="append", choices=list(MPIS))
    parser.add_argument("--step", action="append", choices=list(STEPS))
    parser.add_argument("--at-calls", action="store_true", help="faults at calls of Dunnage's functions, by gdb")
    parser.add_argument("--surroundings", action="store_true")
    options = parser.parse_args()
    if options.at_calls and not shutil.which("gdb"):
        parser.error("--at-calls needs gdb")
    mpis = [MPIS[name] for name in options.mpi or MPIS if not name.startswith("mpi_abi")]
    table, bad, late = collections.Counter(), 0, 0
    places = collections.defaultdict(set)  # of each step, the functions in whose calls faults came
    if options.surroundings:
        for mpi in mpis:
            for name in SURROUNDINGS:
                plain, ours = survive(mpi, name)
                bad += bool(ours.faults)
                works = ["works" if one.completed else "fails" for one in (plain, ours)]
                print(f"{mpi.name:9} {name:24} plain {works[0]}, with Dunnage {works[1]} {', '.join(ours.faults)}")
                if ours.faults:
                    print(re.sub(r"^", "    ", ours.output[-1500:], flags=re.M))
        return bad != 0
    hows = HOWS_AT_CALLS if options.at_calls else HOWS
    cases = [(mpi, step, how) for how in hows for step in options.step or STEPS for mpi in mpis]
    random.Random(1).shuffle(cases)  # a short run has a bit of everything
    end = time.monotonic() + options.seconds

    def tasks():
        for number in range(options.count):
            if time.monotonic() >= end:
                return
            yield number, suffer, *cases[number % len(cases)], f"{options.seed}:{number}", options.at_calls

    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for number, verdict in jobs.results(pool, options.jobs, tasks()):
            mpi, step, how = cases[number % len(cases)]
            table[step, how] += 1
            late += verdict.completed and how != "stop"
            places[step].update(re.findall(r"^fault in: (.*)", verdict.output, flags=re.M))
            for fault in verdict.faults:
                bad += 1
                table[step, how, fault] += 1
                print(f"{mpi.name} {step}, {how}, number {number}: {fault}\n{verdict.output[-1500:]}", flush=True)
    for step in STEPS:
        told = ", ".join(f"{how} {table[step, how]}" for how in hows)
        found = [f"{how}: {fault} {n}" for (s, how, *fault), n in table.items() if s == step and fault]
        where = f"; in calls of {len(places[step])} functions" if options.at_calls else ""
        bad += options.at_calls and any(table[step, how] for how in hows) and not places[step]
        print(f"{step}: {told}; {'; '.join(map(str, found)) or 'nothing found'}{where}")
    print(f"{late} faults came after the end of their job")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
