"""The report lists every call that is left to the MPI, and why.

The programs say which calls they made; the report must list these and no others.
"""
import json
import re
import subprocess

import pytest

from installed import BUILD
from test_contract import CASES, SURFACE, WORLDS, judge

pytestmark = pytest.mark.family_in_turns

PRELOAD = BUILD / "lib" / "libdunnage.so"

LEFT = "this call is left to the MPI"
MESSAGES = {"MPI_Isend", "MPI_Irecv", "MPI_Sendrecv"}  # are accelerated, or declined for many reasons
SINGLE = {"MPI_Fetch_and_op", "MPI_Compare_and_swap"}  # take one predefined element
# What is spawned writes a report of its own, and neighbours_under_way does not say what it calls.
UNLISTED = ("spawn", "neighbours_under_way")
LISTED = [case for case in CASES if case[1:] in SURFACE + WORLDS and case[1] not in UNLISTED]


@pytest.fixture(scope="module", autouse=True)
def hooks():
    if not PRELOAD.exists():
        pytest.skip(f"{PRELOAD} is not built")
    names = subprocess.run(["nm", "-D", "--defined-only", PRELOAD], capture_output=True, text=True, check=True).stdout
    if not re.search(r" MPI_Bcast$", names, re.M):
        pytest.skip("this Dunnage has no hooks for these calls")


@pytest.mark.parametrize("flavour, program, ranks", LISTED)
def test_every_call_is_listed(launch, tmp_path, flavour, program, ranks):
    report = tmp_path / "report.json"
    # Without a roster collectives are left to the MPI.
    settings = {"DUNNAGE_REPORT": str(report), "DUNNAGE_ROSTER": "none"}
    run = launch(flavour, f"contract_{program}", ranks=ranks, mode="dunnage", **settings)
    judge(run, lambda: launch(flavour, f"contract_{program}", ranks=ranks))
    if not run.finished:
        pytest.skip("this MPI does not get through by itself")
    called = set(re.search(r"^called:(.*)$", run.output, re.M).group(1).split())
    calls = json.loads(report.read_text())["calls"]
    listed = {name: call["declined"] for name, call in calls.items() if call["accelerated"] or call["declined"]}
    assert set(listed) == called
    for name in called - MESSAGES:
        assert calls[name]["accelerated"] == 0, name
        assert set(listed[name]) <= {LEFT, "contiguous data"}, (name, listed[name])
        assert all(count > 0 for count in listed[name].values()), (name, listed[name])
        assert LEFT in listed[name] or name in SINGLE, (name, listed[name])
