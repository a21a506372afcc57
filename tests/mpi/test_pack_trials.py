"""Packing calls try in turns who is faster: the bytes are right, and the report tells the times."""

import json

import pytest
from installed import BUILD, MPIS

pytestmark = pytest.mark.family_in_turns

FLAVOURS = [name for name, mpi in MPIS.items() if mpi.kind in ("openmpi", "mpich") and mpi.programs == name]
OURS = ("Dunnage", "Dunnage, stores past the caches")
TRIED = "the MPI's turn in a trial, or it won the trial"
PRELOAD = BUILD / "lib" / "libdunnage.so"
SLOW_MPI = BUILD / "tests" / "libslow_pack.so"


def report_of(launch, flavour, path, **settings):
    run = launch(
        flavour, "contract_pack_trials", ranks=1, mode="dunnage", limit=240, DUNNAGE_REPORT=str(path), **settings
    )
    assert run.finished and run.code == 0 and not run.failures, run
    return json.loads(path.read_text())


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_all_kinds_of_calls_are_tried(launch, flavour, tmp_path):
    report = report_of(launch, flavour, tmp_path / "report.json")
    trials = report["trials"]
    assert {"pack", "unpack"} == {one["call"] for one in trials} and len(trials) > 10
    for one in trials:
        seconds = one["seconds"]
        assert not one["over"] or (one["choice"] in seconds and len(seconds) > 1), one
        assert one["spread"] >= 1 and isinstance(one["mixed"], bool), one
    assert sum(one["over"] for one in trials) > len(trials) / 2  # a busy machine may begin some again
    for name in ("MPI_Pack", "MPI_Unpack"):
        call = report["calls"][name]
        assert call["accelerated"] > 10 and call["declined"][TRIED] > 10, call
        assert set(call["declined"]) <= {TRIED, "contiguous data", "this MPI packs the datatype in its own order"}


def test_the_faster_one_packs(launch, tmp_path):
    """The MPI takes 20 ms longer for each call, so that Dunnage is faster on a busy machine too."""
    report = report_of(launch, FLAVOURS[0], tmp_path / "report.json", LD_PRELOAD=f"{PRELOAD}:{SLOW_MPI}")
    assert len(report["trials"]) > 10
    for one in report["trials"]:
        assert one["choice"] in OURS and one["seconds"].get("the MPI", 1) >= 0.02, one


@pytest.mark.parametrize("settings", [{"DUNNAGE_TRIALS": "off"}, {"DUNNAGE_FORCE": "always"}])
def test_without_trials(launch, settings, tmp_path):
    report = report_of(launch, FLAVOURS[0], tmp_path / "report.json", **settings)
    assert "trials" not in report
    assert all(TRIED not in call["declined"] for call in report["calls"].values())
