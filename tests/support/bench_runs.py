"""Runs benchmark programs of which each rank does all operations at three sizes."""

import json
import subprocess

import pytest

from installed import BUILD, MPIS, command, environment


def run_program(name, flavour, ranks, *arguments, preload=(), **variables):
    """Returns the finished process and its results."""
    if flavour not in MPIS:
        pytest.skip(f"no {flavour}")
    ranks_have = {"LD_PRELOAD": ":".join(map(str, preload)), **variables} if preload else variables
    words = command(MPIS[flavour], ranks, ranks_have)
    program = BUILD / "mpi" / flavour / name
    run = subprocess.run([*words, str(program), "--bytes", "8,5120,65536", "--each", "3", *arguments],
                         env=environment(), capture_output=True, text=True, timeout=120, check=False)
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return run, [line for line in lines if line["record"] == "result"]
