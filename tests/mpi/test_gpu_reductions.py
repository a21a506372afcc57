"""Reductions on device memory, on the simulated device."""

import json

import pytest

from chosen import ALL, in_turns
from conftest import MODES
from installed import BUILD, MPIS, command, yielding
from simulated import exact_or_an_error, needs_simulator, simulated

pytestmark = [needs_simulator, pytest.mark.family_in_turns]

REDUCTIONS = ("Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan")
BY_KERNELS = "direct, reduced: each rank's GPU reads the data of all ranks"
IN_PARTS = "direct, reduced in parts: each rank's GPU reduces a part, and reads the parts of the others"
OVER = "direct, reduced over the data: each rank's GPU reads the data of all ranks, and writes when all have read"


def each_its_own(ranks):
    """Settings with which each rank has a GPU of its own."""
    return {"DUNNAGE_SIM_DEVICES": str(ranks), "CONTRACT_GPU_EACH": "1"}


@pytest.mark.parametrize(
    "flavour, ranks, devices",
    [
        ("openmpi", 2, 1),
        ("openmpi", 4, 4),
        ("mpich", 1, 1),
        ("mpich", 2, 2),
        ("mpich", 3, 1),
        *([("openmpi5", 2, 2), ("mpich5", 3, 3)] if ALL else []),
    ],
)
def test_reductions(passes, flavour, ranks, devices, tmp_path):
    """Bit for bit, and by kernels as soon as the ranks know each other. Short ones in place are
    reduced over the data, unless ranks share a GPU."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_COLLECTIVES": "on", **(each_its_own(ranks) if devices == ranks else {})}
    passes(flavour, "contract_gpu_reductions", "types", ranks=ranks, DUNNAGE_REPORT=str(report), **settings)
    calls = json.loads(report.read_text())["calls"]
    for name in REDUCTIONS:
        ways_of_call = calls[f"MPI_{name}"]["device memory"]
        assert ways_of_call[BY_KERNELS] > 100, calls[f"MPI_{name}"]
        in_place, never = (OVER, IN_PARTS) if devices == ranks else (IN_PARTS, OVER)
        assert (ways_of_call.get(in_place, 0) > 100) == (name == "Allreduce" and ranks > 1), ways_of_call
        assert ways_of_call.get(never, 0) < 10, ways_of_call
        # At first the ranks do not know whether they read each other's memory.
        assert sum(calls[f"MPI_{name}"]["declined"].values()) <= 16 * ranks, calls[f"MPI_{name}"]


@pytest.mark.parametrize("flavour, ranks", in_turns([2, 3, 4], ["openmpi", "mpich"]))
def test_reductions_beside_other_things(passes, flavour, ranks, tmp_path):
    """Long ones, late ranks, all kinds of memory, messages, several communicators, and what only
    the MPI does."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_COLLECTIVES": "on", **(each_its_own(ranks) if ranks > 2 else {})}
    passes(flavour, "contract_gpu_reductions", "others", ranks=ranks, DUNNAGE_REPORT=str(report), **settings)
    calls = json.loads(report.read_text())["calls"]
    assert calls["MPI_Allreduce"]["device memory"][IN_PARTS] > 10
    assert (calls["MPI_Allreduce"]["device memory"].get(OVER, 0) > 10) == (ranks > 2)
    assert calls["MPI_Allreduce"]["declined"]["device memory, packed by the MPI in host memory"] > 0


@pytest.mark.parametrize("flavour, ranks", [("openmpi", 1), ("openmpi", 3), ("mpich", 2), ("mpich", 3)])
def test_reductions_of_memory_that_cannot_be_exported(passes, flavour, ranks, tmp_path):
    """From copies in the arena, and not by the MPI."""
    report = tmp_path / "report.json"
    passes(
        flavour, "contract_gpu_reductions", "memory", ranks=ranks, DUNNAGE_COLLECTIVES="on", DUNNAGE_REPORT=str(report)
    )
    calls = json.loads(report.read_text())["calls"]
    for name in REDUCTIONS:
        assert sum(calls[f"MPI_{name}"]["device memory"].values()) >= 14 * ranks, calls[f"MPI_{name}"]
        assert sum(calls[f"MPI_{name}"]["declined"].values()) <= 6 * ranks, calls[f"MPI_{name}"]


def test_reductions_without_an_arena(passes):
    """Results that must wait have no place, so the MPI does such calls."""
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_DEVICE_ARENA": "2M"}
    passes("openmpi", "contract_gpu_reductions", "others", **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"DUNNAGE_COLLECTIVES": "off"},
        {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_GPU_PATH": "staged"},
        {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_TICKETS": "off"},
    ],
    ids=["off", "staged", "no shared memory"],
)
def test_reductions_left_to_the_mpi(passes, settings, tmp_path):
    """The results are those of the MPI, so they need not have the bits of a reduction rank by rank.
    Those of two ranks have them."""
    report = tmp_path / "report.json"
    passes("openmpi", "contract_gpu_reductions", "others", DUNNAGE_REPORT=str(report), **settings)
    calls = json.loads(report.read_text())["calls"]
    ways_of_call = calls["MPI_Allreduce"].get("device memory", {})
    # On MPI_COMM_SELF nobody else has to read anything.
    assert IN_PARTS not in ways_of_call, ways_of_call
    assert ways_of_call.get(BY_KERNELS, 0) == 0 or settings["DUNNAGE_COLLECTIVES"] == "on"


@pytest.mark.parametrize(
    "flavour, ranks", [("openmpi", 2), ("openmpi", 4), ("mpich", 1), ("mpich", 3), ("mpich5", 2)]
)
def test_reductions_under_way(passes, flavour, ranks, tmp_path):
    """Nonblocking and persistent ones, bit for bit, in every kind of memory, several at once, and
    while other ranks are in a call of the MPI."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_REPORT": str(report), "CONTRACT_LAUNCHES": "1"}
    passes(flavour, "contract_gpu_reductions", "under_way", ranks=ranks, limit=150, **settings)
    calls = json.loads(report.read_text())["calls"]
    names = [f"MPI_I{name.lower()}" for name in REDUCTIONS]
    if flavour != "openmpi":
        names += [f"MPI_{name}_init" for name in REDUCTIONS]
    for name in names:
        call = calls.get(name, {})
        # A rank alone sends no messages, and the MPI does nothing.
        assert ranks == 1 or call["accelerated"] > 15, (name, call)
        assert "device memory, packed by the MPI in host memory" not in call.get("declined", {}), (name, call)


def test_reductions_under_way_without_an_arena(passes):
    """Data that find no room are reduced on the host, to the same bits."""
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_DEVICE_ARENA": "2M"}
    passes("openmpi", "contract_gpu_reductions", "under_way", ranks=3, **settings)


UNDER_WAY_FAULTS = ["cuLaunchKernel:60", "kernel:40", "cuIpcOpenMemHandle:1", "cuMemcpyAsync:30", "cuStreamQuery:90",
                    "cuMemAlloc_v2:9"]


@pytest.mark.parametrize("fault", UNDER_WAY_FAULTS)
def test_faults_in_reductions_under_way(launch, fault):
    flavour = ["openmpi", "mpich"][UNDER_WAY_FAULTS.index(fault) % 2]
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_SIM_FAIL": f"{fault}:999", "CONTRACT_ERRORS_ARE_FATAL": "1"}
    run = launch(
        flavour, "contract_gpu_reductions", "faults", "under_way", ranks=2, mode="dunnage", limit=120,
        **simulated(flavour, **settings)
    )
    assert exact_or_an_error(run), run


REDUCTION_FAULTS = [
    "cuLaunchKernel:0",
    "cuLaunchKernel:3",
    "cuLaunchKernel:9",
    "kernel:1",
    "kernel:6",
    "cuIpcOpenMemHandle:0",
    "cuIpcOpenMemHandle:1",
    "cuIpcOpenMemHandle:2",
    "cuIpcGetMemHandle:0",
    "cuIpcGetMemHandle:2",
    "cuMemcpyAsync:0",
    "cuMemcpyAsync:8",
    "cuMemcpyAsync:20",
    "cuStreamQuery:4",
    "cuStreamCreate:1",
    "cuPointerGetAttributes:30",
    "cuLaunchKernel:14",
    "kernel:11",
    "cuIpcOpenMemHandle:3",
    "cuStreamQuery:30",
]


@pytest.mark.parametrize("ranks, fault", in_turns(REDUCTION_FAULTS, [2, 3]))
def test_faults_in_reductions(launch, fault, ranks):
    flavour = ["openmpi", "mpich"][(REDUCTION_FAULTS.index(fault) // 2 + ranks) % 2]
    run = launch(
        flavour,
        "contract_gpu_reductions",
        "faults",
        ranks=ranks,
        mode="dunnage",
        limit=120,
        **simulated(
            flavour,
            DUNNAGE_COLLECTIVES="on",
            DUNNAGE_SIM_FAIL=f"{fault}:999",
            CONTRACT_ERRORS_ARE_FATAL="1",
            **(each_its_own(ranks) if REDUCTION_FAULTS.index(fault) % 4 >= 2 else {}),
        ),
    )
    assert exact_or_an_error(run), run


@pytest.mark.parametrize(
    "fault, own",
    [
        ("cuLaunchKernel:45", False),
        ("cuLaunchKernel:46", False),
        ("cuMemcpyAsync:45", False),
        ("cuLaunchKernel:44", True),
        ("cuLaunchKernel:45", True),
        ("cuLaunchKernel:46", True),
    ],
)
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_errors_in_reductions_are_told(passes, fault, flavour, own):
    """The rank whose device fails tells an error, and so do those who need its part. Nobody waits
    for ever, and the next reductions are right."""
    passes(
        flavour,
        "contract_gpu_reductions",
        "recovers",
        ranks=3,
        limit=120,
        DUNNAGE_COLLECTIVES="on",
        DUNNAGE_SIM_FAIL=f"{fault}:999",
        **(each_its_own(3) if own else {}),
    )


def test_a_rank_that_ends_releases_the_kernels_of_others(run_words):
    """At any moment of a reduction in place, with and without a handshake."""
    program = BUILD / "mpi" / "mpich" / "contracts_gpu"
    if "mpich" not in MPIS or not program.exists():
        pytest.skip("no mpich here")
    for after in range(0, 1600, 200):
        own = each_its_own(2) if after % 600 else {}
        settings = simulated("mpich", DUNNAGE_COLLECTIVES="on", **MODES["dunnage"], **own)
        words = command(MPIS["mpich"], 2, yielding(MPIS["mpich"], settings))
        words = [words[0], "-disable-auto-cleanup", *words[1:], program, "reductions", "dies", str(after)]
        done = run_words(words, 60)
        assert "survived 0" in done.output and not done.failures, (after, done)
