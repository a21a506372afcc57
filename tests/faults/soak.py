"""Random traffic for hours: datatypes and communicators made and freed, messages, broadcasts and
neighbour collectives, all bytes checked, resident memory looked at.

    python tests/faults/soak.py --hours 8
    python tests/faults/soak.py --hours 1 --step short --mpi openmpi    # 10^6 messages: a leak?
"""

import argparse
import re
import subprocess
import sys

from faults import BUILD, MPIS, PRELOAD, command, environment, yielding

KIB = 1024  # by which memory may grow after 10^4 rounds, beyond what the plain MPI's does


def soak(mpi, seconds, step="all", ranks=2, seed=1, rounds=10**9, plain=False):
    """(whether all went well, what the ranks printed)."""
    variables = {"TRAFFIC_SEED": str(seed), "DUNNAGE_TICKETS": "always"}
    if not plain:
        variables["LD_PRELOAD"] = str(PRELOAD)
    program = BUILD / "mpi" / mpi.programs / "traffic"
    words = [*command(mpi, ranks, yielding(mpi, variables)), program, step, rounds, seconds]
    done = subprocess.run([str(word) for word in words], env=environment(), capture_output=True, text=True,
                          timeout=seconds + 120)  # fmt: skip
    text = done.stdout + done.stderr
    return done.returncode == 0 and "traffic:" in text and "WRONG" not in text, text


def growth(text):
    """KiB by which the memory of any rank grew after 10^4 rounds; None if there were fewer."""
    samples = {int(n): [int(kib) for kib in sizes.split()] for n, sizes in
               re.findall(r"memory after (\d+) rounds, KiB:([ \d]+)", text)}  # fmt: skip
    if 10000 not in samples or len(samples) < 2:
        return None
    return max(last - first for first, last in zip(samples[10000], samples[max(samples)]))


def examine(mpi, seconds, step="all", ranks=2, seed=1, rounds=10**9):
    """(whether all went well, KiB by which memory grew, what the ranks printed). MPICH keeps some
    bytes of each datatype that is made and freed, so the growth of a plain run is taken off."""
    well, text = soak(mpi, seconds, step, ranks, seed, rounds)
    grown = growth(text) or 0
    if well and grown > KIB:
        done = int(re.search(r"traffic: (\d+) rounds", text)[1])
        _, plain = soak(mpi, seconds * 3, step, ranks, seed, done, plain=True)
        grown -= growth(plain) or 0
    return well and grown <= KIB, grown, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--step", default="all")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", action="append", choices=list(MPIS))
    options = parser.parse_args()
    mpis = [MPIS[name] for name in options.mpi or MPIS if not name.startswith("mpi_abi")]
    bad = 0
    for mpi in mpis:
        seconds = options.hours * 3600 / len(mpis)
        well, grown, text = examine(mpi, seconds, options.step, options.ranks, options.seed, options.rounds)
        bad += not well
        print(f"{mpi.name}: {'well' if well else 'FAILED'}, memory grew by {grown} KiB\n{text}", flush=True)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
