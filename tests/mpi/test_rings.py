"""Neighbour collectives in host memory go through rings of Dunnage's own (decision 27)."""

import json

import pytest

from installed import MPIS
from test_contract import judge

pytestmark = pytest.mark.family_in_turns

FLAVOURS = [flavour for flavour in ("openmpi", "mpich") if flavour in MPIS]
OURS = {"DUNNAGE_NEIGHBOURS": "on", "CONTRACT_OUR_NEIGHBOURS": "1"}
KINDS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")


def calls_of(report):
    return json.loads(report.read_text())["calls"]


def through_rings(report):
    return {name: call["through rings"] for name, call in calls_of(report).items() if "through rings" in call}


@pytest.mark.all_cores
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_rings(launch, flavour, ranks, tmp_path):
    """Random graphs, counts and types against the typemap; late ranks; communicators that end."""
    report = tmp_path / "report.json"
    run = launch(flavour, "contract_rings", ranks=ranks, mode="dunnage", DUNNAGE_REPORT=str(report), **OURS)
    assert run.finished and run.code == 0 and not run.failures, run
    expected = {"MPI_Neighbor_alltoallw", *(f"MPI_Ineighbor_{kind}" for kind in ("alltoallw", "allgather", "alltoall"))}
    if flavour != "openmpi":
        expected |= {"MPI_Neighbor_alltoallw_init"} | ({"MPI_Neighbor_allgather_init"} if ranks > 1 else set())
    assert set(through_rings(report)) == expected


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_form(launch, flavour, ranks, tmp_path):
    """Also on rings of one and of two ranks, where some MPIs take one neighbour for the other."""
    report = tmp_path / "report.json"
    names = [f"MPI_{prefix}_{kind}" for prefix in ("Neighbor", "Ineighbor") for kind in KINDS]
    if flavour != "openmpi":
        names += [f"MPI_Neighbor_{kind}_init" for kind in KINDS]
    run = launch(
        flavour, "contract_neighbours", *names, ranks=ranks, mode="dunnage", DUNNAGE_REPORT=str(report), **OURS
    )
    assert run.finished and run.code == 0 and not run.failures, run
    assert set(through_rings(report)) == set(names)


# Open MPI 4.1 by itself crashes in this program in one run of five.
@pytest.mark.parametrize("flavour", [name for name in FLAVOURS if name != "openmpi"])
def test_threads(launch, flavour):
    run = launch(flavour, "contract_rings", "threads", ranks=2, mode="dunnage", **OURS)
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("how", [[], ["nonblocking"]])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_rank_that_is_killed_leaves_no_hang(launch, flavour, how):
    run = launch(flavour, "contract_rings", "killed", *how, ranks=2, mode="dunnage", limit=60, **OURS)
    assert run.code != 0 and "not finished within" not in run.errors and "hung" not in run.errors, run


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("how", ["no shared memory", "the setting"])
def test_who_does_them(launch, flavour, how, tmp_path):
    """Without shared memory the MPI does them, and so it does if the setting says so."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_NEIGHBOURS": "off"} if how == "the setting" else {**OURS, "DUNNAGE_TICKETS": "off"}
    settings.pop("CONTRACT_OUR_NEIGHBOURS", None)
    names = ["MPI_Neighbor_alltoallw", "MPI_Neighbor_allgather"]
    settings["DUNNAGE_REPORT"] = str(report)
    run = launch(flavour, "contract_neighbours", *names, ranks=2, mode="dunnage", **settings)
    judge(run, lambda: launch(flavour, "contract_neighbours", *names, ranks=2))
    assert set(names) <= set(calls_of(report)) and not through_rings(report)
