"""Other threads of a process help to pack: the bytes are right, and the report says how much."""

import json
import os

import pytest
from installed import MPIS

pytestmark = [pytest.mark.all_cores, pytest.mark.family_in_turns]

FLAVOURS = [name for name, mpi in MPIS.items() if mpi.kind in ("openmpi", "mpich") and mpi.programs == name]
# Open MPI binds a rank to one core.
UNBOUND = {"OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none"}


def report_of(launch, flavour, path, through=(), **settings):
    run = launch(
        flavour, "contract_pack_trials", ranks=1, mode="dunnage", limit=240, through=through,
        DUNNAGE_REPORT=str(path), **settings
    )
    assert run.finished and run.code == 0 and not run.failures, run
    return json.loads(path.read_text())


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core for this process")
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_helpers_pack(launch, flavour, tmp_path):
    helpers = report_of(launch, flavour, tmp_path / "report.json", DUNNAGE_THREADS="2", **UNBOUND)["helpers"]
    assert helpers["bytes of shared work"] > 1 << 20, helpers
    assert 0 < helpers["bytes of helpers"] < helpers["bytes of shared work"], helpers


def test_a_rank_that_has_one_core_has_no_helpers(launch, tmp_path):
    through = ("taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))
    helpers = report_of(launch, FLAVOURS[0], tmp_path / "report.json", DUNNAGE_THREADS="4", through=through)["helpers"]
    assert helpers["bytes of shared work"] == 0, helpers


def test_without_the_setting_there_are_none(launch, tmp_path):
    assert "helpers" not in report_of(launch, FLAVOURS[0], tmp_path / "report.json", **UNBOUND)
