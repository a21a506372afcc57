"""How tests run programs on the simulated device."""

import json
import os
import re

import pytest

from installed import BUILD, MPIS

SIM = BUILD / "lib" / "dunnage" / "sim"
needs_simulator = pytest.mark.skipif(not SIM.exists(), reason="built without CUDA's header")

SECONDS = int(os.environ.get("DUNNAGE_RANDOM_SECONDS", "5"))


def simulated(name, **variables):
    """Variables of the ranks. The driver's place comes before the MPI's own, where a program needs
    to be told that."""
    mpi = MPIS.get(name)
    folders = [str(SIM), *([mpi.libraries] if mpi and mpi.libraries else [])]
    return {"LD_LIBRARY_PATH": ":".join(folders), "DUNNAGE_SIM_DELAY": "20", **variables}


def exact_or_an_error(run):
    """Of a device that fails: no other bytes, no crash, no hang."""
    return (
        "FAIL contract" not in run.errors and "terminate called" not in run.errors and (run.code != 0 or run.finished)
    )


def ways(report):
    """How many sends went which way: by the first words of the report's texts."""
    count = {}
    for call in json.loads(report.read_text())["calls"].values():
        for way, messages in call.get("device memory", {}).items():
            way = re.split("[:,]", way)[0]
            count[way] = count.get(way, 0) + messages
    return count


def without_messages(ways):
    """How many of these sends needed no message of the MPI. `ways`: a call's "device memory"."""
    return sum(n for way, n in ways.items() if way.startswith("direct, without a message"))
