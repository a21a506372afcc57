"""Device memory, on the simulated device: the programs find it under the name of CUDA's driver.

Plain MPIs of the test machines know nothing of GPUs and crash on such buffers, so there is nothing
to compare with: the programs hold every byte against the typemap.
"""

import contextlib
import json
import os
import re

import pytest

from installed import BUILD, MPIS
from model import write as model_file
from test_bcast import roster

SIM = BUILD / "lib" / "dunnage" / "sim"
pytestmark = pytest.mark.skipif(not SIM.exists(), reason="built without CUDA's header")

SECONDS = int(os.environ.get("DUNNAGE_RANDOM_SECONDS", "5"))


def simulated(name, **variables):
    """Variables of the ranks. The driver's place comes before the MPI's own, where a program needs
    to be told that."""
    mpi = MPIS.get(name)
    folders = [str(SIM), *([mpi.libraries] if mpi and mpi.libraries else [])]
    return {"LD_LIBRARY_PATH": ":".join(folders), "DUNNAGE_SIM_DELAY": "20", **variables}


@pytest.fixture
def passes(launch):
    """Runs a program on the simulated device with the settings `variables`; it must pass."""

    def run(flavour, program, *arguments, ranks=2, mode="dunnage", limit=300, **variables):
        done = launch(
            flavour, program, *arguments, ranks=ranks, mode=mode, limit=limit, **simulated(flavour, **variables)
        )
        assert done.finished and done.code == 0 and not done.failures, done
        return done

    return run


def exact_or_an_error(run):
    """Of a device that fails: no other bytes, no crash, no hang."""
    return (
        "FAIL contract" not in run.errors and "terminate called" not in run.errors and (run.code != 0 or run.finished)
    )


@pytest.mark.parametrize(
    "flavour", [f for f in MPIS if f != "mpi_abi_on_impi"]
)  # where a program that provokes errors ends
def test_packing(launch, flavour):
    run = launch(
        flavour, "contract_gpu_pack", max(1, SECONDS // 3), ranks=1, mode="dunnage", limit=300, **simulated(flavour)
    )
    print(run.output[:2000])
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", [f for f in MPIS if f != "mpi_abi_on_impi"])
def test_messages(passes, flavour):
    passes(flavour, "contract_gpu_messages", max(1, SECONDS // 3))


def test_first_byte_of_a_declined_type(passes):
    """Intel MPI, as MPICH 4, calls a lower bound true that is lower than the first byte; here that
    is outside the device memory."""
    if "impi" not in MPIS:
        pytest.skip("Intel MPI is not installed")
    passes("impi", "contract_gpu_messages", "0.1", limit=100, CONTRACT_SEED="5654")


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_messages_with_tickets_in_between(passes, flavour):
    passes(flavour, "contract_gpu_messages", 1, mode="tickets")


@pytest.mark.parametrize(
    "flavour, ranks", [(f, 2) for f in MPIS if f != "mpi_abi_on_impi"] + [("openmpi", 3), ("mpich", 3)]
)
def test_between_gpus(passes, flavour, ranks):
    passes(flavour, "contract_gpu_direct", ranks=ranks)


@pytest.mark.parametrize(
    "flavour, ranks", [(f, n) for f, n in [("openmpi", 3), ("mpich", 3), ("openmpi5", 1), ("mpich5", 1)] if f in MPIS]
)
def test_messages_to_oneself(launch, flavour, ranks, tmp_path):
    report = tmp_path / "report.json"
    run = launch(
        flavour,
        "contract_gpu_self",
        ranks=ranks,
        mode="dunnage",
        limit=300,
        **simulated(flavour, DUNNAGE_REPORT=str(report)),
    )
    if flavour == "openmpi5" and run.failures and all("falling hindexed" in what for what in run.failures):
        pytest.xfail("Open MPI 5 sends unaligned elements wrongly at some addresses: docs/reference/limits.md")
    assert run.finished and run.code == 0 and not run.failures, run
    assert ways(report).get("self", 0) > 300


VARIANTS = {
    "staged": {"DUNNAGE_GPU_PATH": "staged"},
    "small pieces": {"DUNNAGE_DEVICE_PIECE": "4K"},
    "no arena": {"DUNNAGE_DEVICE_ARENA": "0"},
    "one device": {"DUNNAGE_SIM_DEVICES": "1"},
    "slow device": {"DUNNAGE_SIM_DELAY": "300"},
    "no tickets": {"DUNNAGE_TICKETS": "off"},
    "no room": {"DUNNAGE_TICKET_MEMORY": "64K"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_between_gpus_otherwise(passes, variant):
    flavour, variables = ["openmpi", "mpich"][list(VARIANTS).index(variant) % 2], VARIANTS[variant]
    passes(flavour, "contract_gpu_direct", **variables)


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
@pytest.mark.parametrize("ranks, most", [(1, 1), (2, 9)])
def test_an_exchange_of_ghost_cells_takes_few_launches(passes, flavour, ranks, most):
    """26 regions, when all messages are there. On a loaded machine some of another rank's come
    late."""
    passes(
        flavour,
        "contract_gpu_halo",
        ranks=ranks,
        CONTRACT_LAUNCHES=str(most),
        DUNNAGE_NEIGHBOURS="on",
        CONTRACT_OUR_NEIGHBOURS="1",
    )


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_paths_are_taken(launch, flavour, tmp_path):
    """Or the tests above would prove nothing: by ticket where GPUs reach each other, and not where
    that is switched off."""
    counts = {}
    for path in ("auto", "staged"):
        report = tmp_path / f"{path}.json"
        run = launch(
            flavour,
            "contract_gpu_direct",
            ranks=2,
            mode="dunnage",
            limit=300,
            **simulated(flavour, DUNNAGE_GPU_PATH=path, DUNNAGE_REPORT=str(report)),
        )
        assert run.code == 0, run
        counts[path] = sum(call.get("by ticket", 0) for call in json.loads(report.read_text())["calls"].values())
    assert counts["auto"] > counts["staged"] + 200


def ways(report):
    """How many sends went which way: by the first words of the report's texts."""
    count = {}
    for call in json.loads(report.read_text())["calls"].values():
        for way, messages in call.get("device memory", {}).items():
            way = re.split("[:,]", way)[0]
            count[way] = count.get(way, 0) + messages
    return count


# An MPI that reaches GPUs: any, on a device that the host reaches.
AWARE = {"DUNNAGE_MPI_CUDA": "yes", "DUNNAGE_SIM_REACHABLE": "1"}
# Within a host all goes our own ways, unless asked for; where there are no tickets nobody knows who
# is near.
PASSES = {
    "forced": ({"DUNNAGE_GPU_PATH": "pass"}, True),
    "near": ({}, False),
    "nobody knows": ({"DUNNAGE_TICKETS": "off"}, True),
}
PASSED = [(program, how) for program in ("gpu_direct", "gpu_messages", "gpu_collectives") for how in PASSES]


@pytest.mark.parametrize("program, how", PASSED)
def test_mpi_that_reaches_gpus(passes, program, how, tmp_path):
    flavour = ["openmpi", "mpich"][PASSED.index((program, how)) % 2]
    report = tmp_path / "report.json"
    variables, handed_over = PASSES[how]
    passes(
        flavour,
        f"contract_{program}",
        *([2] if program == "gpu_messages" else []),
        DUNNAGE_REPORT=str(report),
        **variables,
        **AWARE,
    )
    if program == "gpu_direct":
        taken = ways(report)
        assert (taken.get("passed to the MPI in place", 0) > 20) == handed_over
        assert (taken.get("passed to the MPI", 0) > 20) == handed_over
        assert (taken.get("direct", 0) > 100) != handed_over


def test_passing_needs_such_an_mpi(passes, tmp_path):
    """Or the test above would prove nothing: asked for, it is not done where the MPI does not say
    that it reaches GPUs."""
    report = tmp_path / "report.json"
    passes("openmpi", "contract_gpu_direct", DUNNAGE_GPU_PATH="pass", DUNNAGE_REPORT=str(report))
    assert set(ways(report)) == {"staged in host memory"}


NEVER = 1 << 50
FIGURES = {
    "direct": ({"direct": 0}, "auto", "direct"),
    "not direct": ({"direct": NEVER, "shared": NEVER}, "auto", "staged in host memory"),
    "rings": ({"shared": 0}, "staged", "rings in shared memory"),
    "no rings": ({"shared": NEVER}, "staged", "staged in host memory"),
}


@pytest.mark.parametrize("figures, path, way", FIGURES.values(), ids=FIGURES)
def test_figures_of_the_model_file(passes, figures, path, way, tmp_path):
    model = model_file(tmp_path / "model.json", [("Open MPI", 4, 1)], gpu=figures)
    report = tmp_path / "report.json"
    passes(
        "openmpi", "contract_gpu_direct", DUNNAGE_MODEL=str(model), DUNNAGE_GPU_PATH=path, DUNNAGE_REPORT=str(report)
    )
    taken = ways(report)
    assert taken[way] > 100, taken
    assert way == "direct" or not {"direct", "rings in shared memory"} - {way} & set(
        taken
    ), taken  # the first messages go otherwise


@pytest.mark.alone  # it waits for so long, and then the data must be there
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
@pytest.mark.parametrize("thread", [False, True])
def test_progress_thread(passes, flavour, thread):
    """Without it the program checks that nothing comes by itself."""
    variables = {"DUNNAGE_PROGRESS_THREAD": "on", "CONTRACT_PROGRESS": "1"} if thread else {}
    passes(flavour, "contract_gpu_progress", **variables)


@pytest.mark.parametrize(
    "flavour, ranks", [(f, 2) for f in MPIS if f != "mpi_abi_on_impi"] + [("openmpi", 3), ("mpich", 4)]
)
def test_virtual_memory(passes, flavour, ranks):
    passes(flavour, "contract_gpu_virtual", ranks=ranks)


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_virtual_memory_is_read_where_it_is(launch, flavour, tmp_path):
    """The arena has room for nothing but what ranks try each other with: what goes by ticket is
    read in place. Where new memory stands is a matter of luck. Freed memory keeps its place in the
    mailbox if nothing new has its addresses, and there are few places: so few messages of the
    phases with much new memory may be direct."""
    direct = {}
    for what in ("passed", "private"):
        report = tmp_path / f"{what}.json"
        run = launch(
            flavour,
            "contract_gpu_virtual",
            what,
            ranks=2,
            mode="dunnage",
            limit=300,
            **simulated(flavour, DUNNAGE_DEVICE_ARENA="2M", DUNNAGE_REPORT=str(report)),
        )
        assert run.code == 0 and run.finished and not run.failures, run
        calls = json.loads(report.read_text())["calls"]
        direct[what] = [
            sum(n for way, n in calls[name]["device memory"].items() if way.startswith("direct"))
            for name in ("MPI_Send", "MPI_Isend")
        ]
    assert direct["private"] == [0, 0]
    assert direct["passed"][0] > 0 and direct["passed"][1] > 50, direct


VIRTUAL_FAULTS = [
    "cuMemExportToShareableHandle:0",
    "cuMemImportFromShareableHandle:0",
    "cuMemImportFromShareableHandle:2",
    "cuMemAddressReserve:0",
    "cuMemMap:0",
    "cuMemMap:1",
    "cuMemSetAccess:0",
    "cuMemUnmap:0",
    "cuMemRelease:0",
    "cuMemRetainAllocationHandle:1",
]


@pytest.mark.parametrize("fault", VIRTUAL_FAULTS)
def test_faults_of_virtual_memory(passes, fault):
    """No message depends on a descriptor: all go as before."""
    flavour = ["openmpi", "mpich"][VIRTUAL_FAULTS.index(fault) % 2]
    passes(flavour, "contract_gpu_virtual", limit=120, DUNNAGE_SIM_FAIL=f"{fault}:999")


# The programs of test_contract.py, with their buffers in every kind of memory.
LEFT_TO_MPI = [
    ("gpu_collectives", 2),
    ("gpu_collectives", 3),
    ("gpu_collectives", 5),
    ("gpu_neighbours", 2),
    ("gpu_neighbours", 3),
    ("gpu_neighbours_under_way", 2),
    ("gpu_onesided", 2),
    ("gpu_onesided", 3),
    ("gpu_files", 2),
    ("gpu_staged", 1),
    ("gpu_staged", 2),
    ("gpu_staged", 3),
]


@pytest.mark.parametrize(
    "program, ranks, flavour",
    [(*of, f) for of in LEFT_TO_MPI for f in ("openmpi", "mpich") if of[1] < 5 or f == "openmpi"],
)
def test_calls_of_the_mpi(passes, program, ranks, flavour):
    passes(flavour, f"contract_{program}", ranks=ranks)


# Open MPI 4.1 makes no windows of one rank.
WINDOW_RANKS = [("openmpi", n) for n in (2, 3, 4)] + [("mpich", n) for n in (1, 2, 3, 4)]
WINDOW_CALLS = ("Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Rput", "Rget")
IN_WINDOWS = "direct, in a window: the origin's GPU reads and writes the target's memory"


@pytest.mark.parametrize("flavour, ranks", WINDOW_RANKS)
def test_windows(passes, flavour, ranks, tmp_path):
    """No operation is the MPI's, but for those on host memory that is attached, and for errors."""
    report = tmp_path / "report.json"
    passes(
        flavour,
        "contract_gpu_windows",
        "device",
        ranks=ranks,
        limit=150,
        DUNNAGE_COLLECTIVES="on",
        CONTRACT_OUR_WINDOWS="1",
        DUNNAGE_REPORT=str(report),
    )
    calls = json.loads(report.read_text())["calls"]
    for name in WINDOW_CALLS:
        call = calls[f"MPI_{name}"]
        assert call["device memory"][IN_WINDOWS] > 4 * sum(call["declined"].values()), call


# Each number of ranks, each kind of memory and each MPI, but not all together: they take long.
@pytest.mark.parametrize(
    "flavour, ranks, memory",
    [
        ("openmpi", 2, "pool"),
        ("openmpi", 3, "device"),
        ("openmpi", 4, "mixed"),
        ("mpich", 1, "device"),
        ("mpich", 2, "mixed"),
        ("mpich", 3, "pool"),
        ("mpich", 4, "device"),
    ],
)
def test_windows_in_two_copies(passes, flavour, ranks, memory):
    """The MPI's window is a copy in host memory."""
    passes(flavour, "contract_gpu_windows", memory, ranks=ranks, limit=150, DUNNAGE_COLLECTIVES="off")


@pytest.mark.parametrize(
    "flavour, ranks, memory",
    [
        ("openmpi", 2, "mixed"),
        ("openmpi", 3, "pool"),
        ("openmpi", 4, "mixed"),
        ("mpich", 1, "mixed"),
        ("mpich", 2, "pool"),
        ("mpich", 3, "mixed"),
        ("mpich", 4, "pool"),
    ],
)
def test_windows_of_several_kinds(passes, flavour, ranks, memory):
    """Operations on some ranks' memory are the MPI's, on that of others they are not."""
    passes(flavour, "contract_gpu_windows", memory, ranks=ranks, limit=150, DUNNAGE_COLLECTIVES="on")


UNREACHED = [{"DUNNAGE_GPU_PATH": "staged"}, {"DUNNAGE_TICKETS": "off"}, {"DUNNAGE_DEVICE_ARENA": "0"}]


@pytest.mark.parametrize("settings", UNREACHED)
def test_windows_that_others_do_not_reach(passes, settings):
    passes("mpich", "contract_gpu_windows", "device", ranks=2, limit=150, DUNNAGE_COLLECTIVES="on", **settings)


@pytest.mark.parametrize("memory", ["device", "pool"])
@pytest.mark.parametrize("flavour, ranks", [("openmpi", 2), ("openmpi", 3), ("mpich", 1), ("mpich", 2), ("mpich", 3)])
def test_errors_in_windows_are_told(passes, flavour, ranks, memory):
    """Each function of the driver fails in turn, while a window is made and in an epoch. The rank
    whose device fails tells an error. Nobody waits for ever, and the next epoch is right."""
    settings = {"CONTRACT_OUR_WINDOWS": "1"} if memory == "device" else {}
    passes(flavour, "contract_gpu_windows", memory, "failures", ranks=ranks, DUNNAGE_COLLECTIVES="on", **settings)


def test_a_window_that_is_not_freed(passes):
    passes("mpich", "contract_gpu_windows", "device", "left", ranks=2, DUNNAGE_COLLECTIVES="on")


NEIGHBOUR_KINDS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
ROOTED_KINDS = ("gather", "gatherv", "scatter", "scatterv")


def forms_of(kinds, flavour):
    """The calls of some kinds of collectives that an MPI has."""
    names = [f"MPI_{kind.capitalize()}" for kind in kinds] + [f"MPI_I{kind}" for kind in kinds]
    if flavour != "openmpi":  # Open MPI 4.1 has no persistent collectives
        names += [f"MPI_{kind.capitalize()}_init" for kind in kinds]
    return names


@pytest.mark.parametrize(
    "flavour, ranks", [("openmpi", 1), ("mpich", 1), ("openmpi", 2), ("mpich", 2), ("mpich", 3), ("mpich5", 2)]
)
def test_neighbour_collectives_are_ours(passes, flavour, ranks, tmp_path):
    """Also on rings of one and of two ranks, where the MPIs' own take one neighbour for the
    other."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_NEIGHBOURS": "on", "CONTRACT_OUR_NEIGHBOURS": "1", "DUNNAGE_REPORT": str(report)}
    names = [f"MPI_{form}_{kind}" for form in ("Neighbor", "Ineighbor") for kind in NEIGHBOUR_KINDS]
    if flavour != "openmpi":  # Open MPI 4.1 has no persistent collectives
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


REDUCTIONS = ("Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan")
BY_KERNELS = "direct, reduced: each rank's GPU reads the data of all ranks"
IN_PARTS = "direct, reduced in parts: each rank's GPU reduces a part, and reads the parts of the others"


@pytest.mark.parametrize(
    "flavour, ranks",
    [("openmpi", 2), ("openmpi", 4), ("mpich", 1), ("mpich", 3), ("openmpi5", 2), ("mpich5", 3)],
)
def test_reductions(passes, flavour, ranks, tmp_path):
    """Bit for bit, and by kernels as soon as the ranks know each other."""
    report = tmp_path / "report.json"
    passes(
        flavour, "contract_gpu_reductions", "types", ranks=ranks, DUNNAGE_COLLECTIVES="on", DUNNAGE_REPORT=str(report)
    )
    calls = json.loads(report.read_text())["calls"]
    for name in REDUCTIONS:
        ways_of_call = calls[f"MPI_{name}"]["device memory"]
        assert ways_of_call[BY_KERNELS] > 100, calls[f"MPI_{name}"]
        assert (ways_of_call.get(IN_PARTS, 0) > 100) == (name == "Allreduce" and ranks > 1)
        # At first the ranks do not know whether they read each other's memory.
        assert sum(calls[f"MPI_{name}"]["declined"].values()) <= 16 * ranks, calls[f"MPI_{name}"]


@pytest.mark.parametrize("flavour, ranks", [(f, n) for f in ("openmpi", "mpich") for n in (2, 3, 4)])
def test_reductions_beside_other_things(passes, flavour, ranks, tmp_path):
    """Long ones, late ranks, all kinds of memory, messages, several communicators, and what only
    the MPI does."""
    report = tmp_path / "report.json"
    passes(
        flavour, "contract_gpu_reductions", "others", ranks=ranks, DUNNAGE_COLLECTIVES="on", DUNNAGE_REPORT=str(report)
    )
    calls = json.loads(report.read_text())["calls"]
    assert calls["MPI_Allreduce"]["device memory"][IN_PARTS] > 10
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
    settings = {"DUNNAGE_COLLECTIVES": "on", "DUNNAGE_REPORT": str(report)}
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
]


@pytest.mark.parametrize("fault", REDUCTION_FAULTS)
@pytest.mark.parametrize("ranks", [2, 3])
def test_faults_in_reductions(launch, fault, ranks):
    flavour = ["openmpi", "mpich"][(REDUCTION_FAULTS.index(fault) + ranks) % 2]
    run = launch(
        flavour,
        "contract_gpu_reductions",
        "faults",
        ranks=ranks,
        mode="dunnage",
        limit=120,
        **simulated(
            flavour, DUNNAGE_COLLECTIVES="on", DUNNAGE_SIM_FAIL=f"{fault}:999", CONTRACT_ERRORS_ARE_FATAL="1"
        ),
    )
    assert exact_or_an_error(run), run


@pytest.mark.parametrize("fault", ["cuLaunchKernel:45", "cuLaunchKernel:46", "cuMemcpyAsync:45"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_errors_in_reductions_are_told(passes, fault, flavour):
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
    )


@pytest.mark.parametrize(
    "flavour, ranks", [("openmpi", 1), ("mpich", 1), ("openmpi", 2), ("mpich", 2), ("mpich", 3)]
)
def test_neighbour_collectives_under_way(passes, flavour, ranks):
    settings = {"DUNNAGE_NEIGHBOURS": "on", "CONTRACT_OUR_NEIGHBOURS": "1"}
    passes(flavour, "contract_gpu_neighbours_under_way", ranks=ranks, mode="always", limit=200, **settings)


LINES = {"": {}, "small arena": {"DUNNAGE_DEVICE_ARENA": "2M"}, "slow device": {"DUNNAGE_SIM_DELAY": "300"}}


@pytest.mark.parametrize(
    "flavour, ranks, variant",
    [
        ("openmpi", 2, ""),
        ("mpich", 2, ""),
        ("mpich5", 2, ""),
        ("mpich", 3, ""),
        ("openmpi", 3, "small arena"),
        ("mpich", 2, "slow device"),
    ],
)
def test_exchanges_without_messages(passes, flavour, ranks, variant, tmp_path):
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_NEIGHBOURS": "on", "DUNNAGE_REPORT": str(report), "CONTRACT_LAUNCHES": "1", **LINES[variant]}
    passes(flavour, "contract_gpu_lines", ranks=ranks, mode="always", limit=200, **settings)
    told = json.loads(report.read_text())
    calls, work = told["calls"], told["device work"]
    assert work["messages fetched"] > work["groups"] > work["groups that came later"], work
    assert work["kernels"] > 0, work
    persistent = [] if flavour == "openmpi" else ["MPI_Neighbor_alltoallw_init"]
    for name in ["MPI_Neighbor_alltoallw", *persistent]:
        ways = calls[name]["device memory"]
        without = sum(n for way, n in ways.items() if way.startswith("direct, without a message"))
        # Most of the exchanges, but for what is not in memory that can be read where it is.
        assert without > (60 if name.endswith("_init") else 120) * ranks, ways


CHANNELS = {"": {}, "slow device": {"DUNNAGE_SIM_DELAY": "200"}, "small arena": {"DUNNAGE_DEVICE_ARENA": "2M"}}


@pytest.mark.parametrize("size", [512, 65536])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_persistent_messages_alone_become_direct(launch, flavour, size, tmp_path):
    """A program that makes persistent requests at once, and no other calls in which ranks get to
    know each other."""
    report = tmp_path / "report.json"
    words = ["--memory", "device", "--calls", "persistent", "--bytes", size, "--blocks", 64, "--messages", 4]
    words += ["--each", 10, "--rounds", 3, "--lateness", 0]
    settings = simulated(flavour, DUNNAGE_REPORT=str(report), DUNNAGE_SIM_MPS="1")
    done = launch(flavour, "bench_unexpected", *words, ranks=2, mode="dunnage", **settings)
    assert done.code == 0, done
    found = json.loads(report.read_text())["calls"]["MPI_Send_init"]["device memory"]
    direct = sum(n for way, n in found.items() if way.startswith("direct"))
    assert direct > 0.7 * (sum(found.values()) - 4), found



@pytest.mark.parametrize(
    "flavour, ranks, variant",
    [
        ("openmpi", 2, ""),
        ("mpich", 2, ""),
        ("openmpi", 3, "slow device"),
        ("mpich", 3, "small arena"),
        ("mpich", 4, ""),
    ],
)
def test_messages_without_messages(passes, flavour, ranks, variant, tmp_path):
    """Most come in the order that MPI asks for without the MPI; none do if that is switched off."""
    without = {"off": {}}
    for channels in ("on", "off") if (flavour, ranks) == ("openmpi", 2) else ("on",):
        report = tmp_path / f"{channels}.json"
        settings = {"DUNNAGE_CHANNELS": channels, "DUNNAGE_REPORT": str(report), **CHANNELS[variant]}
        passes(flavour, "contract_gpu_channels", ranks=ranks, limit=200, **settings)
        calls = json.loads(report.read_text())["calls"]
        without[channels] = {
            name: sum(
                n for way, n in calls[name]["device memory"].items() if way.startswith("direct, without a message")
            )
            for name in ("MPI_Send", "MPI_Ssend", "MPI_Isend")
        }
    assert min(without["on"].values()) > 20 and not any(without["off"].values()), without


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_the_same_traffic_by_the_mpi_alone(passes, flavour):
    passes(flavour, "contract_gpu_channels", limit=200, CONTRACT_HOST_MEMORY="1")


LINE_FAULTS = [
    "cuIpcGetMemHandle:0",
    "cuIpcOpenMemHandle:3",
    "cuIpcOpenMemHandle:8",
    "cuLaunchKernel:60",
    "kernel:40",
    "cuStreamQuery:200",
    "cuMemAlloc_v2:12",
]


@pytest.mark.parametrize("fault", LINE_FAULTS)
def test_faults_of_exchanges_without_messages(launch, fault):
    flavour = ["openmpi", "mpich"][LINE_FAULTS.index(fault) % 2]
    settings = {"DUNNAGE_NEIGHBOURS": "on", "DUNNAGE_SIM_FAIL": f"{fault}:999", "CONTRACT_ERRORS_ARE_FATAL": "1"}
    run = launch(
        flavour, "contract_gpu_lines", ranks=2, mode="always", limit=120, **simulated(flavour, **settings)
    )
    assert exact_or_an_error(run), run


@pytest.mark.parametrize(
    "how, told, ours", [("auto", False, False), ("auto", True, True), ("off", True, False), ("on", False, True)]
)
def test_who_does_neighbour_collectives(launch, how, told, ours, tmp_path):
    """`told`: the tool has told these ranks that all of them have Dunnage."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_NEIGHBOURS": how, "DUNNAGE_REPORT": str(report)}
    if ours:
        settings["CONTRACT_OUR_NEIGHBOURS"] = "1"
    with roster() if told else contextlib.nullcontext("") as address:
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


@pytest.mark.parametrize("flavour", [f for f in MPIS if f not in ("openmpi", "mpich", "mpi_abi_on_impi")])
@pytest.mark.parametrize("program", ["gpu_collectives", "gpu_onesided", "gpu_staged"])
def test_calls_of_other_mpis(passes, flavour, program):
    if (flavour, program) == ("impi", "gpu_collectives"):
        pytest.skip("Intel MPI's own persistent gathers and scatters crash, on host memory and without Dunnage too")
    passes(flavour, f"contract_{program}")


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_calls_of_the_mpi_in_the_report(launch, flavour, tmp_path):
    """Each call is there, and those with device memory for that reason."""
    report = tmp_path / "report.json"
    run = launch(
        flavour,
        "contract_gpu_collectives",
        ranks=2,
        mode="dunnage",
        limit=300,
        **simulated(flavour, DUNNAGE_REPORT=str(report)),
    )
    assert run.code == 0, run
    calls = json.loads(report.read_text())["calls"]
    for name in re.search(r"^called:(.*)$", run.output, re.M).group(1).split():
        if name not in ("MPI_Isend", "MPI_Irecv"):
            assert calls[name]["declined"]["device memory, packed by the MPI in host memory"] > 0, name


@pytest.mark.parametrize(
    "flavour, ranks", [(f, 2) for f in MPIS if f != "mpi_abi_on_impi"] + [("openmpi", 4), ("mpich", 3)]
)
def test_broadcasts(passes, flavour, ranks, tmp_path):
    """From where the root's data are, where all ranks can read that; else by the host's memory."""
    report = tmp_path / "report.json"
    passes(flavour, "contract_gpu_bcast", ranks=ranks, DUNNAGE_BCAST="window", DUNNAGE_REPORT=str(report))
    ways = json.loads(report.read_text())["calls"]["MPI_Bcast"]["device memory"]
    assert {way.partition(":")[0].partition(",")[0] for way in ways} == {"direct"} and sum(ways.values()) > 10 * ranks


@pytest.mark.parametrize("flavour, devices, words", [("openmpi", 4, []), ("openmpi", 2, []), ("mpich", 8, ["other"])])
def test_broadcasts_from_gpu_to_gpu(passes, flavour, devices, words, tmp_path):
    """Where more than one rank would read over the root's link. With two GPUs two would, and that
    is faster still."""
    report = tmp_path / "report.json"
    passes(
        flavour,
        "contract_gpu_chain",
        *words,
        ranks=4,
        DUNNAGE_BCAST="window",
        DUNNAGE_REPORT=str(report),
        DUNNAGE_SIM_DEVICES=str(devices),
    )
    ways = json.loads(report.read_text())["calls"]["MPI_Bcast"]["device memory"]
    assert (sum(number for way, number in ways.items() if "same broadcast" in way) >= 8) == (devices > 2), ways


@pytest.mark.parametrize("path", ["staged", "off"])
def test_broadcasts_by_other_ways(passes, path):
    settings = {"DUNNAGE_GPU_PATH": "staged"} if path == "staged" else {"DUNNAGE_BCAST": "off"}
    passes("openmpi", "contract_gpu_bcast", ranks=3, **{"DUNNAGE_BCAST": "window", **settings})


@pytest.mark.parametrize(
    "fault, program, ranks",
    [
        ("cuIpcOpenMemHandle:1", "gpu_bcast", 3),
        ("cuMemcpyAsync:30", "gpu_bcast", 3),
        ("cuLaunchKernel:10", "gpu_bcast", 3),
        ("cuStreamQuery:12", "gpu_bcast", 3),
        ("cuIpcOpenMemHandle:5", "gpu_chain", 4),
        ("cuStreamQuery:40", "gpu_chain", 4),
    ],
)
def test_faults_in_broadcasts(launch, fault, program, ranks):
    run = launch(
        "mpich",
        f"contract_{program}",
        ranks=ranks,
        mode="dunnage",
        limit=120,
        **simulated(
            "mpich",
            DUNNAGE_BCAST="window",
            DUNNAGE_SIM_DEVICES="4",
            DUNNAGE_SIM_FAIL=f"{fault}:999",
            CONTRACT_ERRORS_ARE_FATAL="1",
        ),
    )
    assert exact_or_an_error(run), run


FAULTS = [
    "cuIpcGetMemHandle:0",
    "cuIpcOpenMemHandle:0",
    "cuIpcOpenMemHandle:2",
    "cuLaunchKernel:15",
    "kernel:2",
    "cuMemcpyAsync:15",
    "cuEventRecord:2",
    "cuStreamQuery:15",
    "cuStreamCreate:2",
    "cuMemHostRegister:0",
]


@pytest.mark.parametrize("after", [0, 12, 15])
def test_faults_where_the_mpi_reaches_gpus(launch, after):
    """Also of reading what an MPI has put into device memory."""
    flavour = ["openmpi", "mpich"][after % 2]
    run = launch(
        flavour,
        "contract_gpu_direct",
        ranks=2,
        mode="dunnage",
        limit=120,
        **simulated(
            flavour,
            DUNNAGE_SIM_FAIL=f"cuMemcpyAsync:{after}:999",
            DUNNAGE_GPU_PATH="pass",
            CONTRACT_ERRORS_ARE_FATAL="1",
            **AWARE,
        ),
    )
    assert exact_or_an_error(run), run


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(launch, fault):
    """A device that fails: right to the last byte, or an error of the MPI, which ends the job;
    never a hang, a crash or other bytes."""
    flavour = ["openmpi", "mpich"][FAULTS.index(fault) % 2]
    run = launch(
        flavour,
        "contract_gpu_direct",
        ranks=2,
        mode="dunnage",
        limit=120,
        **simulated(flavour, DUNNAGE_SIM_FAIL=f"{fault}:999", CONTRACT_ERRORS_ARE_FATAL="1"),
    )
    assert exact_or_an_error(run), run


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_one_device(passes, flavour):
    passes(flavour, "contract_gpu_pack", 1, ranks=1, DUNNAGE_SIM_DEVICES="1")


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_small_pieces(passes, flavour):
    """Many pieces of staging memory for every buffer."""
    passes(flavour, "contract_gpu_pack", 1, ranks=1, DUNNAGE_DEVICE_PIECE="4K")


def test_switched_off(launch):
    """DUNNAGE_DEVICE=off leaves device memory to the MPI, which does not know it. Or the tests
    above would prove nothing."""
    run = launch(
        "openmpi",
        "contract_gpu_pack",
        1,
        ranks=1,
        mode="dunnage",
        limit=300,
        **simulated("openmpi", DUNNAGE_DEVICE="off"),
    )
    assert any("crashed" in line for line in run.errors.splitlines()), run


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_report(launch, flavour, tmp_path):
    report = tmp_path / "report.json"
    run = launch(
        flavour,
        "contract_gpu_pack",
        1,
        ranks=1,
        mode="dunnage",
        limit=300,
        **simulated(flavour, DUNNAGE_REPORT=str(report)),
    )
    assert run.code == 0, run
    calls = json.loads(report.read_text())["calls"]
    assert calls["MPI_Pack"]["accelerated"] > 100 and calls["MPI_Unpack"]["accelerated"] > 100
    assert calls["MPI_Pack"]["declined"]["an error of the device, reported"] > 0


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_host_program_beside_a_driver(launch, flavour):
    """A driver that is loaded but that the program does not use: everything is host memory."""
    preload = f"{BUILD}/lib/libdunnage.so:{SIM}/libcuda.so.1"
    run = launch(flavour, "contract_pack", ranks=1, mode="plain", LD_PRELOAD=preload)
    assert run.finished and run.code == 0 and not run.failures, run
