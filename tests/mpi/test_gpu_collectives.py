"""Collectives that move data in device memory, on the simulated device."""

import contextlib
import json

import pytest

from simulated import exact_or_an_error, needs_simulator, simulated
from test_bcast import roster

pytestmark = [needs_simulator, pytest.mark.family_in_turns]

NEIGHBOUR_KINDS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
ROOTED_KINDS = ("gather", "gatherv", "scatter", "scatterv")


def forms_of(kinds, flavour):
    """The calls of some kinds of collectives that an MPI has."""
    names = [f"MPI_{kind.capitalize()}" for kind in kinds] + [f"MPI_I{kind}" for kind in kinds]
    if flavour != "openmpi":  # Open MPI 4.1 has no persistent collectives
        names += [f"MPI_{kind.capitalize()}_init" for kind in kinds]
    return names


@pytest.mark.parametrize(
    "flavour, ranks",
    [("openmpi", 1), ("mpich", 1), ("openmpi", 2), ("mpich", 2), ("mpich", 3), ("openmpi5", 2), ("mpich5", 2)],
)
def test_neighbour_collectives_are_ours(passes, flavour, ranks, tmp_path):
    """Also on rings of one and of two ranks, where the MPIs' own take one neighbour for the
    other."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_NEIGHBOURS": "on", "CONTRACT_OUR_NEIGHBOURS": "1", "DUNNAGE_REPORT": str(report)}
    names = [f"MPI_{form}_{kind}" for form in ("Neighbor", "Ineighbor") for kind in NEIGHBOUR_KINDS]
    if not flavour.startswith("openmpi"):  # programs are compiled for 4.1, which has no persistent collectives
        names += [f"MPI_Neighbor_{kind}_init" for kind in NEIGHBOUR_KINDS]
    passes(flavour, "contract_gpu_neighbours", *names, ranks=ranks, mode="always", limit=200, **settings)
    calls = json.loads(report.read_text())["calls"]
    left = "device memory, packed by the MPI in host memory"
    for name in names:
        # A rank sends nothing to itself by alltoallv and alltoallw here.
        some = ranks > 1 or not name.removesuffix("_init").endswith(("alltoallv", "alltoallw"))
        assert calls[name].get("accelerated", 0) > 0 or not some, calls[name]
        assert left not in calls[name].get("declined", {}), calls[name]


@pytest.mark.parametrize(
    "flavour, ranks", [("openmpi", 1), ("mpich", 1), ("openmpi", 2), ("mpich", 2), ("openmpi", 3), ("mpich5", 2)]
)
def test_collectives_of_all_ranks_are_ours(passes, flavour, ranks, tmp_path):
    """Every kind of memory takes its turns, so the ranks change their minds about whose a
    collective is."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_REPORT": str(report)}
    kinds = [*NEIGHBOUR_KINDS, *ROOTED_KINDS]
    names = forms_of(kinds, flavour)
    passes(flavour, "contract_gpu_collectives", *names, ranks=ranks, limit=200, **settings)
    calls = json.loads(report.read_text())["calls"]
    # A rank alone sends no messages, and only messages are counted.
    missing = [name for name in names if calls.get(name, {}).get("accelerated", 0) == 0]
    left_out = ["MPI_Allgather_init", "MPI_Gather_init", "MPI_Scatter_init"]  # MPICH's own are wrong
    assert ranks == 1 or missing in ([], left_out), missing


@pytest.mark.parametrize(
    "flavour, ranks", [("openmpi", 2), ("openmpi", 4), ("mpich", 1), ("mpich", 3), ("mpich5", 3)]
)
def test_collectives_with_a_root(passes, flavour, ranks, tmp_path):
    """All roots, layouts, counts and kinds of memory, late ranks, several at once, and data that
    are too long."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_REPORT": str(report)}
    passes(flavour, "contract_gpu_roots", ranks=ranks, limit=150, **settings)
    calls = json.loads(report.read_text())["calls"]
    names = forms_of(ROOTED_KINDS, flavour)
    assert ranks == 1 or all(calls[name].get("accelerated", 0) > 5 for name in names), calls
    ways_of_call = calls["MPI_Scatterv"].get("device memory", {})
    without = [n for way, n in ways_of_call.items() if way.startswith("direct, without a message")]
    assert ranks == 1 or sum(without) > 2, ways_of_call


ROOT_FAULTS = ["cuLaunchKernel:3", "cuLaunchKernel:30", "kernel:9", "cuIpcOpenMemHandle:1", "cuIpcGetMemHandle:0",
               "cuMemcpyAsync:20", "cuStreamQuery:40", "cuMemAlloc_v2:9"]


@pytest.mark.parametrize("fault", ROOT_FAULTS)
def test_faults_in_collectives_with_a_root(launch, fault):
    flavour = ["openmpi", "mpich"][ROOT_FAULTS.index(fault) % 2]
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_SIM_FAIL": f"{fault}:999", "CONTRACT_ERRORS_ARE_FATAL": "1"}
    run = launch(flavour, "contract_gpu_roots", ranks=3, mode="dunnage", limit=120, **simulated(flavour, **settings))
    assert exact_or_an_error(run), run


@pytest.mark.parametrize(
    "flavour, ranks", [("openmpi", 1), ("mpich", 1), ("openmpi", 2), ("mpich5", 2), ("mpich", 3)]
)
def test_neighbour_collectives_under_way(passes, flavour, ranks):
    settings = {"DUNNAGE_NEIGHBOURS": "on", "CONTRACT_OUR_NEIGHBOURS": "1"}
    passes(flavour, "contract_gpu_neighbours_under_way", ranks=ranks, mode="always", limit=200, **settings)


@pytest.mark.parametrize(
    "how, told, ours", [("auto", False, False), ("auto", True, True), ("off", True, False), ("on", False, True)]
)
def test_who_does_neighbour_collectives(launch, how, told, ours, tmp_path):
    """`told`: the tool has told these ranks that all of them have Dunnage."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_NEIGHBOURS": how, "DUNNAGE_REPORT": str(report)}
    if ours:
        settings["CONTRACT_OUR_NEIGHBOURS"] = "1"
    with roster() if told else contextlib.nullcontext("none") as address:
        run = launch(
            "openmpi",
            "contract_gpu_neighbours",
            "MPI_Neighbor_alltoallw",
            ranks=2,
            mode="always",
            limit=200,
            **simulated("openmpi", DUNNAGE_ROSTER=address, **settings),
        )
    assert run.finished and run.code == 0 and not run.failures, run
    assert (json.loads(report.read_text())["calls"]["MPI_Neighbor_alltoallw"].get("accelerated", 0) > 0) == ours


UNASKED = [*(f"MPI_I{kind}" for kind in (*NEIGHBOUR_KINDS, *ROOTED_KINDS)),
           *(f"MPI_Ineighbor_{kind}" for kind in NEIGHBOUR_KINDS),
           "MPI_Iallreduce", "MPI_Ireduce", "MPI_Ireduce_scatter_block", "MPI_Iscan"]
ON = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_NEIGHBOURS": "on", "CONTRACT_OUR_NEIGHBOURS": "1"}


@pytest.mark.parametrize("flavour, ranks", [("mpich", 1), ("mpich", 3), ("openmpi", 2), ("mpich5", 2), ("openmpi5", 2)])
def test_nonblocking_collectives_are_ours_from_the_first_call(passes, flavour, ranks, tmp_path):
    report = tmp_path / "report.json"
    settings = {**ON, "DUNNAGE_REPORT": str(report)}
    passes(flavour, "contract_gpu_unasked", "device", ranks=ranks, limit=150, **settings)
    calls = json.loads(report.read_text())["calls"]
    left = "device memory, packed by the MPI in host memory"
    for name in UNASKED if ranks > 1 else UNASKED[:14]:  # a rank alone sends nothing in reductions
        assert calls[name]["accelerated"] > 0, (name, calls[name])
        assert left not in calls[name]["declined"], (name, calls[name])


@pytest.mark.parametrize("flavour, ranks", [("mpich", 3), ("openmpi", 2)])
def test_collectives_in_place_without_memory_on_the_device(passes, flavour, ranks):
    """What is sent in place is copied into host memory then."""
    settings = {**ON, "DUNNAGE_DEVICE_ARENA": "0"}
    passes(flavour, "contract_gpu_unasked", "device", ranks=ranks, limit=150, **settings)


UNASKED_FAULTS = ["cuLaunchKernel:5", "cuMemcpyAsync:20", "cuMemAlloc_v2:12", "cuIpcOpenMemHandle:1"]


@pytest.mark.parametrize("fault", UNASKED_FAULTS)
def test_faults_in_nonblocking_collectives(launch, fault):
    flavour = ["openmpi", "mpich"][UNASKED_FAULTS.index(fault) % 2]
    settings = {**ON, "DUNNAGE_SIM_FAIL": f"{fault}:999", "CONTRACT_ERRORS_ARE_FATAL": "1"}
    run = launch(flavour, "contract_gpu_unasked", "device", ranks=3, mode="dunnage", limit=120,
                 **simulated(flavour, **settings))
    assert exact_or_an_error(run), run


@pytest.mark.parametrize("told, ours", [(False, False), (True, True)])
def test_who_does_nonblocking_collectives(launch, told, ours, tmp_path):
    """`told`: the tool has told these ranks that all of them have Dunnage."""
    report = tmp_path / "report.json"
    with roster() if told else contextlib.nullcontext("none") as address:
        settings = simulated("mpich", DUNNAGE_ROSTER=address, DUNNAGE_REPORT=str(report))
        run = launch("mpich", "contract_gpu_unasked", "device", ranks=3, mode="dunnage", limit=100, **settings)
    assert run.finished and run.code == 0 and not run.failures, run
    assert (json.loads(report.read_text())["calls"]["MPI_Ialltoall"]["accelerated"] > 0) == ours


@pytest.mark.parametrize(
    "flavour, ranks, seed", [("mpich", 4, 1), ("openmpi", 3, 21), ("mpich5", 3, 41), ("mpich", 2, 61)]
)
def test_ranks_that_agree_without_waiting(passes, flavour, ranks, seed, tmp_path):
    """Ranks that have device memory at different times, or never, and are late."""
    report = tmp_path / "report.json"
    settings = {**ON, "DUNNAGE_REPORT": str(report)}
    passes(flavour, "contract_gpu_unasked", str(seed), ranks=ranks, limit=150, **settings)
    calls = json.loads(report.read_text())["calls"]
    for name in UNASKED:  # some of each are Dunnage's, and those without device memory are not
        assert calls[name]["accelerated"] > 0, (name, calls[name])
        assert "neighbor" in name or sum(calls[name]["declined"].values()) > 0, (name, calls[name])
    of_neighbours = [sum(calls[f"MPI_Ineighbor_{kind}"]["declined"].values()) for kind in NEIGHBOUR_KINDS]
    assert ranks < 3 or sum(of_neighbours) > 0, of_neighbours


def trials_of(passes, flavour, path, ranks=3, **settings):
    """What the trials of collectives have found, as the report of a program has it."""
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_REPORT": str(path), **settings}
    passes(flavour, "contract_gpu_trials", ranks=ranks, limit=150, **settings)
    return json.loads(path.read_text()).get("trials of collectives", [])


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_the_mpi_is_chosen_where_it_is_faster(passes, flavour, tmp_path):
    """Kernels take 3 ms, and the MPI's copies need none."""
    trials = trials_of(passes, flavour, tmp_path / "report.json", DUNNAGE_SIM_KERNEL_TIME="3000")
    kinds = {"MPI_Alltoall", "MPI_Alltoallv", "MPI_Allgather", "MPI_Gather", "MPI_Scatter"}
    assert {trial["call"] for trial in trials} == kinds, trials
    for trial in trials:
        seconds = trial["seconds"]
        assert (trial["choice"] == "the MPI") == (1.1 * seconds["the MPI"] + 1e-6 < seconds["Dunnage"]), trial
    # How many depends on what else the machine does: the MPI must never have been slower.
    assert any(trial["choice"] == "the MPI" for trial in trials), trials


@pytest.mark.parametrize("settings", [{"DUNNAGE_TRIALS": "off"}, {"DUNNAGE_COLLECTIVES": "off"}])
def test_collectives_without_trials(passes, settings, tmp_path):
    assert not trials_of(passes, "mpich", tmp_path / "report.json", ranks=2, **settings)
