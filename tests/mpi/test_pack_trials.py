"""Packing calls try in turns who is faster: the bytes are right, and the report tells the times."""

import json

import pytest
from installed import MPIS

FLAVOURS = [name for name, mpi in MPIS.items() if mpi.kind in ("openmpi", "mpich") and mpi.programs == name]
TRIED = "the MPI's turn in a trial, or it won the trial"
# Times are measured after a choice too, so the medians of the report are not those of the choice.
DRIFT = 1.25


def report_of(launch, flavour, path, **settings):
    run = launch(
        flavour, "contract_pack_trials", ranks=1, mode="dunnage", limit=240, DUNNAGE_REPORT=str(path), **settings
    )
    assert run.finished and run.code == 0 and not run.failures, run
    return json.loads(path.read_text())


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_faster_one_packs(launch, flavour, tmp_path):
    report = report_of(launch, flavour, tmp_path / "report.json")
    trials = report["trials"]
    assert {"pack", "unpack"} == {one["call"] for one in trials} and len(trials) > 10
    for one in trials:
        seconds = one["seconds"]
        assert one["over"] and one["choice"] in seconds and len(seconds) > 1, one
        best = min(seconds.values())
        assert seconds[one["choice"]] <= DRIFT * best, one
    for name in ("MPI_Pack", "MPI_Unpack"):
        call = report["calls"][name]
        assert call["accelerated"] > 10 and call["declined"][TRIED] > 10, call
        assert set(call["declined"]) <= {TRIED, "contiguous data", "this MPI packs the datatype in its own order"}


@pytest.mark.parametrize("settings", [{"DUNNAGE_TRIALS": "off"}, {"DUNNAGE_FORCE": "always"}])
def test_without_trials(launch, settings, tmp_path):
    report = report_of(launch, FLAVOURS[0], tmp_path / "report.json", **settings)
    assert "trials" not in report
    assert all(TRIED not in call["declined"] for call in report["calls"].values())
