"""Windows in device memory, on the simulated device."""

import json

import pytest

from chosen import ALL
from simulated import needs_simulator

pytestmark = [needs_simulator, pytest.mark.family_in_turns]

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
        ("mpich", 1, "device"),
        ("mpich", 3, "mixed"),
        *([("openmpi", 3, "device"), ("mpich", 3, "pool"), ("mpich", 4, "device")] if ALL else []),
    ],
)
def test_windows_in_two_copies(passes, flavour, ranks, memory):
    """The MPI's window is a copy in host memory."""
    passes(flavour, "contract_gpu_windows", memory, ranks=ranks, limit=150, DUNNAGE_COLLECTIVES="off")


@pytest.mark.parametrize(
    "flavour, ranks, memory",
    [
        ("openmpi", 2, "mixed"),
        ("mpich", 1, "mixed"),
        ("mpich", 2, "pool"),
        ("mpich", 3, "mixed"),
        *([("openmpi", 3, "pool"), ("openmpi", 4, "mixed"), ("mpich", 4, "pool")] if ALL else []),
    ],
)
def test_windows_of_several_kinds(passes, flavour, ranks, memory):
    """Operations on some ranks' memory are the MPI's, on that of others they are not."""
    passes(flavour, "contract_gpu_windows", memory, ranks=ranks, limit=150, DUNNAGE_COLLECTIVES="on")


UNREACHED = [{"DUNNAGE_GPU_PATH": "staged"}, {"DUNNAGE_TICKETS": "off"}]
UNREACHED += [{"DUNNAGE_DEVICE_ARENA": "0"}] if ALL else []  # ten times as long as the others


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
