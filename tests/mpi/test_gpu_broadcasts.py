"""Broadcasts of device memory, on the simulated device."""

import json
import os

import pytest

from installed import MPIS
from simulated import exact_or_an_error, needs_simulator, simulated

pytestmark = [needs_simulator, pytest.mark.all_cores, pytest.mark.family_in_turns]


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


@pytest.mark.parametrize("program, path", [("gpu_bcast", "staged"), ("gpu_bcast", "off"), ("gpu_chain", "staged")])
def test_broadcasts_by_other_ways(passes, program, path):
    settings = {"DUNNAGE_GPU_PATH": "staged"} if path == "staged" else {"DUNNAGE_BCAST": "off"}
    passes("openmpi", f"contract_{program}", ranks=3, **{"DUNNAGE_BCAST": "window", **settings})


def test_ranks_that_never_wait_long_answer_too(passes, tmp_path):
    """On one core the data are there when a rank looks, so that it asks and answers in no wait."""
    report = tmp_path / "report.json"
    passes(
        "openmpi",
        "contract_gpu_chain",
        ranks=4,
        through=("taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))),
        DUNNAGE_BCAST="window",
        DUNNAGE_REPORT=str(report),
        DUNNAGE_SIM_DEVICES="4",
    )
    ways = json.loads(report.read_text())["calls"]["MPI_Bcast"]["device memory"]
    assert sum(number for way, number in ways.items() if "same broadcast" in way) >= 8, ways


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
