"""Messages and exchanges that repeat themselves, on the simulated device: without messages of the
MPI."""

import json
import re

import pytest
from installed import BUILD

from simulated import exact_or_an_error, needs_simulator, simulated, without_messages

pytestmark = [needs_simulator, pytest.mark.family_in_turns]

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
        without = without_messages(ways)
        # Most of the exchanges, but for what is not in memory that can be read where it is.
        assert without > (60 if name.endswith("_init") else 120) * ranks, ways


@pytest.mark.parametrize("each", [True, False])
def test_collectives_pack_short_blocks_for_another_gpu(passes, each, tmp_path):
    report = tmp_path / "report.json"
    gpus = {"CONTRACT_GPU_EACH": "1"} if each else {}
    settings = {"DUNNAGE_NEIGHBOURS": "on", "DUNNAGE_REPORT": str(report), "CONTRACT_SHORT_BLOCKS": "1", **gpus}
    passes("mpich", "contract_gpu_lines", ranks=2, mode="always", limit=200, **settings)
    ways = json.loads(report.read_text())["calls"]["MPI_Neighbor_alltoallw"]["device memory"]
    packed = sum(n for way, n in ways.items() if way.startswith("direct, from a packed copy"))
    # All rounds but the first ones.
    assert packed >= 3 if each else packed == 0, ways


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
    told = json.loads(report.read_text())
    sends = told["calls"]["MPI_Send_init"]
    found = sends["device memory"]
    direct = sum(n for way, n in found.items() if way.startswith("direct"))
    assert direct > 0.7 * (sum(found.values()) - 4), found
    assert sum(pair["bytes"] for pair in told["peers"]) == sends["bytes"], told["peers"]


@pytest.mark.all_cores
@pytest.mark.parametrize(
    "flavour, ranks, variant",
    [
        ("openmpi", 2, ""),
        ("mpich", 2, ""),
        ("openmpi", 3, "slow device"),
        ("mpich", 3, "small arena"),
        ("mpich", 4, ""),
        ("mpich5", 2, ""),
    ],
)
def test_messages_without_messages(passes, flavour, ranks, variant, tmp_path):
    """Most come in the order that MPI asks for without the MPI; none do if that is switched off."""
    without = {"off": {}}
    for channels in ("on", "off") if (flavour, ranks) == ("openmpi", 2) else ("on",):
        report = tmp_path / f"{channels}.json"
        settings = {"DUNNAGE_CHANNELS": channels, "DUNNAGE_REPORT": str(report), **CHANNELS[variant]}
        if flavour == "mpich5":  # its MPI_Request_get_status ends persistent requests, without Dunnage too
            settings["CONTRACT_ASKS_NO_STATUS"] = "1"
        passes(flavour, "contract_gpu_channels", ranks=ranks, limit=200, **settings)
        calls = json.loads(report.read_text())["calls"]
        without[channels] = {
            name: without_messages(calls[name]["device memory"])
            for name in ("MPI_Send", "MPI_Ssend", "MPI_Isend")
        }
    assert min(without["on"].values()) > 20 and not any(without["off"].values()), without


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
@pytest.mark.parametrize("wait", ["all", "some", "any", "test all", "test any"])
def test_handles_serve_again(launch, flavour, wait):
    """Of 60 exchanges, each with 52 requests, some of which go by the MPI."""
    words = ["--memory", "device", "--cells", 8, "--ghost", 1, "--ways", "^isend$", "--rounds", 1, "--each", 50]
    preloaded = [BUILD / "lib" / "libdunnage.so"]
    preloaded += [BUILD / "tests" / f"lib{name}.so" for name in ("count_handles", "kernels_on_host")]
    settings = simulated(flavour, LD_PRELOAD=":".join(map(str, preloaded)))
    done = launch(flavour, "bench_halo", *words, "--wait", wait, ranks=2, mode="dunnage", **settings)
    assert done.code == 0, done
    made = [int(n) for n in re.findall(r"generalized requests: (\d+)", done.errors)]
    assert len(made) == 2 and max(made) < 200, made


@pytest.mark.parametrize("way", ["isend", "persistent"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich", "mpich5"])
def test_a_rank_alone_needs_no_messages(launch, flavour, way, tmp_path):
    """Of 50 exchanges with 26 messages to itself most go by channels, in one launch each."""
    report = tmp_path / "report.json"
    words = ["--memory", "device", "--cells", 8, "--ghost", 1, "--ways", f"^{way}$", "--rounds", 1, "--each", 50]
    preloaded = [BUILD / "lib" / "libdunnage.so", BUILD / "tests" / "libkernels_on_host.so"]
    settings = simulated(flavour, LD_PRELOAD=":".join(map(str, preloaded)), DUNNAGE_REPORT=str(report))
    done = launch(flavour, "bench_halo", *words, ranks=1, mode="dunnage", **settings)
    assert done.code == 0, done
    told = json.loads(report.read_text())
    call = told["calls"]["MPI_Isend" if way == "isend" else "MPI_Send_init"]
    sends = call["device memory"]
    assert without_messages(sends) > 0.9 * sum(sends.values()), sends
    # Each message is counted once.
    assert call["accelerated"] == sum(sends.values()) == sum(size["accelerated"] for size in call["by size"]), call
    assert told["device work"]["groups"] < 100, told["device work"]


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
