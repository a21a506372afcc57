"""Device memory, on the simulated device: the programs find it under the name of CUDA's driver.

Plain MPIs of the test machines know nothing of GPUs and crash on such buffers, so there is nothing
to compare with: the programs hold every byte against the typemap.
"""

import json
import re

import pytest

from chosen import ALL, in_turns, of_each_family
from installed import BUILD, MPIS
from model import write as model_file
from simulated import SIM, SECONDS, exact_or_an_error, needs_simulator, simulated, ways

pytestmark = [needs_simulator, pytest.mark.family_in_turns]

# Those that programs which provoke errors run with.
MOST = [f for f in MPIS if f != "mpi_abi_on_impi"]


@pytest.mark.parametrize("flavour", of_each_family(MOST))
def test_packing(launch, flavour):
    run = launch(
        flavour, "contract_gpu_pack", max(1, SECONDS // 3), ranks=1, mode="dunnage", limit=300, **simulated(flavour)
    )
    print(run.output[:2000])
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", MOST)  # persistent receives end in different ways
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
    "flavour, ranks",
    [(f, 2) for f in of_each_family(MOST) if f not in ("openmpi", "mpich")] + [("openmpi", 3), ("mpich", 3)],
)
def test_between_gpus(passes, flavour, ranks):
    """Two ranks of Open MPI and MPICH run in test_paths_are_taken."""
    passes(flavour, "contract_gpu_direct", ranks=ranks)


@pytest.mark.parametrize(
    "flavour, ranks",
    [
        (f, n)
        for f, n in [("openmpi", 3), ("mpich5", 1), *([("mpich", 3), ("openmpi5", 1)] if ALL else [])]
        if f in MPIS
    ],
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


# For tests in which the way or a fault is new, and not the layouts.
FEW = {"CONTRACT_FEW_LAYOUTS": "1"}

VARIANTS = {
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
    layouts = {} if variant == "small pieces" else FEW  # where else the layout matters, test_between_gpus has all
    passes(flavour, "contract_gpu_direct", **variables, **layouts)


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
@pytest.mark.parametrize("each", [True, False])
def test_short_blocks_are_packed_for_another_gpu(passes, flavour, each, tmp_path):
    report = tmp_path / "report.json"
    gpus = {"CONTRACT_GPU_EACH": "1"} if each else {}
    passes(flavour, "contract_gpu_halo", DUNNAGE_REPORT=str(report), **gpus)
    sends = [call.get("device memory", {}) for call in json.loads(report.read_text())["calls"].values()]
    packed = sum(n for call in sends for way, n in call.items() if way.startswith("direct, from a packed copy"))
    assert packed > 20 if each else packed == 0, sends


SHORT_BLOCK_FAULTS = ["cuMemAlloc_v2:12", "cuIpcOpenMemHandle:2", "cuLaunchKernel:320", "kernel:300"]


@pytest.mark.parametrize("fault", SHORT_BLOCK_FAULTS)
def test_faults_where_short_blocks_are_packed(launch, fault):
    flavour = ["openmpi", "mpich"][SHORT_BLOCK_FAULTS.index(fault) % 2]
    settings = {"DUNNAGE_SIM_FAIL": f"{fault}:999", "CONTRACT_ERRORS_ARE_FATAL": "1", "CONTRACT_GPU_EACH": "1"}
    run = launch(
        flavour, "contract_gpu_halo", ranks=2, mode="dunnage", limit=120, **simulated(flavour, **settings)
    )
    assert exact_or_an_error(run), run


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
@pytest.mark.parametrize("path, layouts", [("auto", {}), ("staged", FEW)])
def test_paths_are_taken(passes, flavour, path, layouts, tmp_path):
    """Or the tests above would prove nothing: GPUs read each other's memory, and do not where that
    is switched off."""
    report = tmp_path / "report.json"
    passes(flavour, "contract_gpu_direct", DUNNAGE_GPU_PATH=path, DUNNAGE_REPORT=str(report), **layouts)
    direct = ways(report).get("direct", 0)
    assert direct > 200 if path == "auto" else direct == 0


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
        *([1] if program == "gpu_messages" else []),
        DUNNAGE_REPORT=str(report),
        **variables,
        **AWARE,
        **FEW,
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
    passes("openmpi", "contract_gpu_direct", DUNNAGE_GPU_PATH="pass", DUNNAGE_REPORT=str(report), **FEW)
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
    settings = {"DUNNAGE_MODEL": str(model), "DUNNAGE_GPU_PATH": path, "DUNNAGE_REPORT": str(report)}
    passes("openmpi", "contract_gpu_direct", **settings, **FEW)
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


@pytest.mark.parametrize("flavour, ranks", [(f, 2) for f in of_each_family(MOST)] + [("openmpi", 3), ("mpich", 4)])
def test_virtual_memory(passes, flavour, ranks):
    passes(flavour, "contract_gpu_virtual", ranks=ranks)


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_virtual_memory_is_read_where_it_is(launch, flavour, tmp_path):
    """The arena has room for nothing but what ranks try each other with: what goes by ticket is
    read in place. Where new memory stands is a matter of luck. Freed memory keeps its place in the
    mailbox if nothing new has its addresses, and there are few places: so few messages of the
    phases with much new memory may be direct. Of about 250, 125 to 136 mostly are. Once in some
    tens of runs 49 or 50 are, and 62 to 98 if the program never frees its addresses."""
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
    assert direct["passed"][0] > 0 and direct["passed"][1] >= 25, direct


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
# Ranks that do not know whether all have Dunnage leave these calls to the MPI.
ALONE = {"DUNNAGE_ROSTER": "none"}
LEFT_TO_MPI = [
    ("gpu_collectives", 2),
    ("gpu_collectives", 3),
    ("gpu_collectives", 5),
    ("gpu_neighbours", 2),
    ("gpu_neighbours", 3),
    ("gpu_neighbours_under_way", 2),
    ("gpu_neighbours_under_way", 3),
    ("gpu_onesided", 2),
    ("gpu_onesided", 3),
    ("gpu_files", 2),
    ("gpu_files", 3),
    ("gpu_staged", 1),
    ("gpu_staged", 2),
    ("gpu_staged", 3),
]


@pytest.mark.parametrize(
    "program, ranks, flavour",
    [(*of, f) for f, of in in_turns(LEFT_TO_MPI, ["openmpi", "mpich"]) if of[1] < 5 or f == "openmpi"],
)
def test_calls_of_the_mpi(passes, program, ranks, flavour):
    passes(flavour, f"contract_{program}", ranks=ranks, **ALONE)


@pytest.mark.parametrize(
    "program, flavour",
    in_turns([f for f in MOST if f not in ("openmpi", "mpich")], ["gpu_onesided", "gpu_staged", "gpu_collectives"]),
)
def test_calls_of_other_mpis(passes, flavour, program):
    if (flavour, program) == ("impi", "gpu_collectives"):
        pytest.skip("Intel MPI's own persistent gathers and scatters crash, on host memory and without Dunnage too")
    passes(flavour, f"contract_{program}", **ALONE)


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
        **simulated(flavour, DUNNAGE_REPORT=str(report), **ALONE),
    )
    assert run.code == 0, run
    calls = json.loads(report.read_text())["calls"]
    for name in re.search(r"^called:(.*)$", run.output, re.M).group(1).split():
        if name not in ("MPI_Isend", "MPI_Irecv"):
            assert calls[name]["declined"]["device memory, packed by the MPI in host memory"] > 0, name


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
            **FEW,
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
        **simulated(flavour, DUNNAGE_SIM_FAIL=f"{fault}:999", CONTRACT_ERRORS_ARE_FATAL="1", **FEW),
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
