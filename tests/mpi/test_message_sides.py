"""Ranks tell each other what their trials have found: where the MPI is faster for one rank of a
message, both leave the message to it. An MPI that is slow in another way on each rank makes them
differ (tests/support/slow_messages.c)."""

import json

import pytest
from installed import BUILD, MPIS

pytestmark = pytest.mark.family_in_turns

# These MPIs buffer messages of 6 KiB, so a sender does not wait for its receiver. Else both ranks
# would find the candidate slow that is slow for one of them.
FLAVOURS = [name for name, mpi in MPIS.items() if mpi.kind == "mpich" and mpi.programs == name]
LEFT = "the other rank of the message has chosen the MPI"
PRELOAD = BUILD / "lib" / "libdunnage.so"
SLOW_MPI = BUILD / "tests" / "libslow_messages.so"


def report_of(launch, flavour, path, **settings):
    run = launch(
        flavour,
        "contract_message_sides",
        mode="dunnage",
        limit=240,
        DUNNAGE_REPORT=str(path),
        LD_PRELOAD=f"{PRELOAD}:{SLOW_MPI}",
        **settings,
    )
    assert run.finished and run.code == 0 and not run.failures, run
    return json.loads(path.read_text())


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_both_ranks_leave_what_one_of_them_leaves(launch, flavour, tmp_path):
    report = report_of(launch, flavour, tmp_path / "report.json", DUNNAGE_CHANNELS="off")
    choices = {one["call"]: one["choice"] for one in report["trials"] if one["over"]}
    assert choices["send"] == "Dunnage", report["trials"]
    for call in ("MPI_Send", "MPI_Isend"):
        assert report["calls"][call]["declined"].get(LEFT, 0) > 5, (call, report["calls"], report["trials"])


def test_ranks_without_shared_memory_do_not_know(launch, tmp_path):
    report = report_of(launch, FLAVOURS[0], tmp_path / "report.json", DUNNAGE_TICKETS="off")
    assert all(LEFT not in call["declined"] for call in report["calls"].values())
