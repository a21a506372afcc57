"""Ranges for NVIDIA's tools, told to a tool of our own."""

import re
import subprocess
from pathlib import Path

import pytest

from installed import BUILD
from simulated import SIM, simulated

pytestmark = pytest.mark.family_in_turns

TOOL = Path(__file__).resolve().parents[1] / "shim/nvtx_tool.c"


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    include = re.search(r"^DUNNAGE_CUDA_INCLUDE:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    if not SIM.exists() or not include or not (Path(include[1]) / "nvtx3/nvToolsExt.h").exists():
        pytest.skip("built without NVTX")
    library = tmp_path_factory.mktemp("nvtx") / "tool.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-isystem", include[1], TOOL, "-o", library], check=True
    )
    return library


def ranges(launch, tool, folder, flavour, **variables):
    out = folder / "ranges"
    out.unlink(missing_ok=True)
    run = launch(
        flavour,
        "contract_gpu_direct",
        ranks=2,
        mode="dunnage",
        limit=300,
        CONTRACT_FEW_LAYOUTS="1",
        **simulated(flavour, NVTX_INJECTION64_PATH=str(tool), NVTX_TOOL_OUTPUT=str(out), **variables),
    )
    assert run.finished and run.code == 0 and not run.failures, run
    return out.read_text().splitlines() if out.exists() else []


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_ranges(launch, tool, tmp_path, flavour):
    lines = ranges(launch, tool, tmp_path, flavour, DUNNAGE_NVTX="on")
    assert lines[0] == "domain Dunnage"
    begun = [line.split(None, 1) for line in lines if line[0].isdigit() and " " in line]
    names = {name.rsplit(None, 1)[0] for depth, name in begun if depth == "0"}
    assert {"MPI_Send", "MPI_Isend", "MPI_Recv"} <= names
    inner = {name.rsplit(None, 1)[0] for depth, name in begun if depth == "1"}
    assert {"pack", "unpack", "wait for the receiver"} <= inner and any("fetch" in name for name in inner | names)
    assert any(re.fullmatch(r"MPI_Send [1-9]\d{3,}", name) for _, name in begun)  # with its bytes
    assert "-1" not in {depth for depth, _ in begun} and lines[-1] == "end at 0"


def test_off_unless_asked_for(launch, tool, tmp_path):
    assert ranges(launch, tool, tmp_path, "openmpi") == []
