"""Nonblocking messages in host memory that come again need no message of the MPI (decision 50)."""

import json

import pytest

pytestmark = pytest.mark.family_in_turns


def sent_by_channel(report):
    calls = json.loads(report.read_text())["calls"]
    return {name: call["by channel"] for name, call in calls.items() if "by channel" in call}


def run_traffic(launch, flavour, *arguments, ranks=2, **settings):
    """Random messages between the same ranks with the same tags; each must come to the receive that
    MPI's order gives it."""
    done = launch(flavour, "contract_gpu_channels", *arguments, ranks=ranks, mode="dunnage", limit=200,
                  CONTRACT_HOST_MEMORY="1", **settings)
    assert done.finished and done.code == 0 and not done.failures, done


@pytest.mark.all_cores
@pytest.mark.parametrize(
    "flavour, ranks, force",
    [("openmpi", 2, "always"), ("mpich", 2, "always"), ("openmpi", 3, "auto"), ("mpich", 4, "always"),
     ("mpich5", 2, "always")],
)
def test_traffic(launch, flavour, ranks, force, tmp_path):
    """Ranks find their channels by names, and learn which receive gets which message
    (decision 50)."""
    report = tmp_path / "report.json"
    settings = {"DUNNAGE_CHANNELS": "always", "DUNNAGE_FORCE": force, "DUNNAGE_REPORT": str(report)}
    if flavour == "mpich5":
        settings["CONTRACT_ASKS_NO_STATUS"] = "1"
    run_traffic(launch, flavour, ranks=ranks, **settings)
    sent = sent_by_channel(report)
    assert min(sent.get(name, 0) for name in ("MPI_Send", "MPI_Isend", "MPI_Send_init")) > 5, sent


@pytest.mark.parametrize("flavour, seed", [("openmpi", 1), ("openmpi", 22), ("mpich", 107)])
def test_seeds_that_hung(launch, flavour, seed):
    """Seed 1: a receive was cancelled while its rank learnt. Seed 107: 32 later messages came
    before a message was looked at."""
    settings = {"DUNNAGE_CHANNELS": "always", "DUNNAGE_FORCE": "always"}
    run_traffic(launch, flavour, seed, 25, **settings)


@pytest.mark.all_cores
@pytest.mark.parametrize("channels", ["always", "on"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich", "mpich5"])
def test_orders_that_could_mislead(launch, flavour, channels):
    settings = {"DUNNAGE_CHANNELS": channels}
    if flavour.startswith("mpich"):
        settings["CONTRACT_MPI_BUFFERS"] = "1"
    done = launch(flavour, "contract_host_channels", ranks=2, mode="dunnage", **settings)
    assert done.finished and done.code == 0 and not done.failures, done


@pytest.mark.all_cores
@pytest.mark.parametrize("way", ["isend", "persistent"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_ghost_cells(launch, flavour, way, tmp_path):
    """Once the ranks have learnt, the messages of a face go by channels."""
    report = tmp_path / "report.json"
    words = ["--memory", "host", "--cells", 64, "--ghost", 1, "--ways", f"^{way}$", "--rounds", 1, "--each", 100]
    settings = {"DUNNAGE_CHANNELS": "always", "DUNNAGE_REPORT": str(report)}
    done = launch(flavour, "bench_halo", *words, ranks=2, mode="dunnage", **settings)
    assert done.code == 0, done
    sent = sent_by_channel(report)
    # Two ranks with two faces each that are worth it. They learn late if others have the cores.
    assert sent.get("MPI_Isend" if way == "isend" else "MPI_Send_init", 0) > 2 * 2 * 25, sent
