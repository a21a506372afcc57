"""Partitioned messages that Dunnage sends itself.

The program holds every byte against the typemap. It also asks that a partition arrives before the
others are ready, which MPICH by itself does not do.
"""

import contextlib
import json

import pytest

from installed import BUILD, MPIS
from test_bcast import roster
from test_contract import SOME_RANKS
from simulated import SIM, exact_or_an_error, simulated, ways, without_messages

OURS = {"DUNNAGE_PARTITIONED": "on", "CONTRACT_OUR_PARTITIONS": "1"}
# Open MPI 4 has no such calls. Where Intel MPI stands in for the standard's ABI, programs that
# provoke errors end.
HAVE_THEM = [
    name for name, mpi in MPIS.items() if name != "mpi_abi_on_impi" and (not mpi.is_open_mpi or mpi.major >= 5)
]
SECONDS = 0.5


@pytest.mark.parametrize("ranks, mode", [(1, "dunnage"), (2, "dunnage"), (3, "always"), (2, "staged")])
@pytest.mark.parametrize("flavour", HAVE_THEM)
def test_host_memory(launch, flavour, ranks, mode):
    run = launch(flavour, "contract_partitions", SECONDS, ranks=ranks, mode=mode, **OURS)
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", HAVE_THEM)
def test_threads(launch, flavour):
    run = launch(flavour, "contract_partitions", SECONDS, 2, "threads", ranks=2, mode="dunnage", **OURS)
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.skipif(not SIM.exists(), reason="built without CUDA's header")
@pytest.mark.parametrize("flavour", [name for name in HAVE_THEM if name != "mpi_abi"])
def test_device_memory(launch, flavour, tmp_path):
    report = tmp_path / "report.json"
    settings = simulated(flavour, **OURS, DUNNAGE_REPORT=str(report), DUNNAGE_NEIGHBOURS="on")
    run = launch(flavour, "contract_gpu_partitions", SECONDS, 3, ranks=2, mode="dunnage", **settings)
    assert run.finished and run.code == 0 and not run.failures, run
    assert ways(report).get("direct", 0) > 10, ways(report)
    found = json.loads(report.read_text())["calls"]["MPI_Psend_init"]["device memory"]
    assert without_messages(found) > 10, found


@pytest.mark.skipif(not SIM.exists(), reason="built without CUDA's header")
@pytest.mark.alone
@pytest.mark.parametrize("flavour", ["mpich", "mpich5"])
def test_exchanges_that_repeat_need_no_messages(launch, flavour, tmp_path):
    """Of 50 exchanges with 26 messages most go by channels, and in one launch each. A rank that is
    kept from running is late, and its messages go otherwise, so other tests must not run beside."""
    report = tmp_path / "report.json"
    words = ["--memory", "device", "--cells", 8, "--ghost", 1, "--ways", "^partitioned$", "--rounds", 1, "--each", 50]
    preloaded = [BUILD / "lib" / "libdunnage.so", BUILD / "tests" / "libkernels_on_host.so"]
    settings = simulated(flavour, **OURS, LD_PRELOAD=":".join(map(str, preloaded)), DUNNAGE_REPORT=str(report))
    done = launch(flavour, "bench_halo", *words, ranks=2, mode="dunnage", **settings)
    assert done.code == 0, done
    sends = json.loads(report.read_text())["calls"]["MPI_Psend_init"]["device memory"]
    assert without_messages(sends) > 0.8 * sum(sends.values()), sends
    work = json.loads(report.read_text())["device work"]
    assert work["groups"] < 0.1 * work["messages fetched"], work


@pytest.mark.skipif(not SIM.exists(), reason="built without CUDA's header")
@pytest.mark.parametrize(
    "fault", ["cuMemcpyAsync:40", "cuLaunchKernel:30", "cuMemHostAlloc:3", "cuIpcOpenMemHandle_v2:0"]
)
def test_a_device_that_fails(launch, fault):
    """`fault`: a function of the driver, and how often it works before it fails for good."""
    settings = simulated("mpich", **OURS, DUNNAGE_SIM_FAIL=f"{fault}:999", CONTRACT_ERRORS_ARE_FATAL="1")
    run = launch("mpich", "contract_gpu_partitions", SECONDS, 4, ranks=2, mode="dunnage", limit=100, **settings)
    assert exact_or_an_error(run), run


@pytest.mark.parametrize(
    "how, told, gpu, ours",
    [
        ("auto", False, False, False),
        ("auto", True, False, False),
        ("auto", True, True, True),
        ("off", True, False, False),
        ("on", False, False, True),
    ],
)
def test_who_does_them(launch, how, told, gpu, ours, tmp_path):
    """`told`: the tool has told these ranks that all of them have Dunnage. `gpu`: they use one."""
    report = tmp_path / "report.json"
    program = ["contract_gpu_partitions", SECONDS, 3] if gpu else ["contract_partitioned"]
    with roster() if told else contextlib.nullcontext("none") as address:
        run = launch(
            "mpich",
            *program,
            ranks=2,
            mode="dunnage" if gpu else "always",
            **(simulated("mpich", **OURS) if gpu else {})
            | {"DUNNAGE_ROSTER": address, "DUNNAGE_PARTITIONED": how, "DUNNAGE_REPORT": str(report)},
        )
    assert run.finished and run.code == 0 and not run.failures, run
    calls = json.loads(report.read_text())["calls"]
    assert [calls[name].get("accelerated", 0) > 0 for name in ("MPI_Psend_init", "MPI_Precv_init")] == [ours, ours]


@pytest.mark.parametrize("without", ["0", "1"])
def test_not_all_ranks_have_it(launch, without):
    with roster() as address:
        run = launch(
            "mpich",
            "contract_partitioned",
            mode="dunnage",
            through=("sh", "-c", SOME_RANKS % without, "sh"),
            DUNNAGE_ROSTER=address,
        )
    assert run.finished and run.code == 0 and not run.failures, run
