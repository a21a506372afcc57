"""MPI_Bcast by a window that the ranks of a host share (DUNNAGE_BCAST=window)."""
import json

import pytest
from installed import MPIS
from test_sanitized import sanitized

CASES = [(flavour, ranks) for flavour in MPIS for ranks in ((1, 2, 3, 5) if flavour in ("openmpi", "mpich") else (3,)) if flavour != "mpi_abi_on_impi"]


@pytest.mark.parametrize("flavour, ranks", CASES)
def test_broadcasts(launch, flavour, ranks):
    run = launch(flavour, "contract_bcast", ranks=ranks, mode="dunnage", limit=300, DUNNAGE_BCAST="window")
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", [flavour for flavour in MPIS if flavour != "mpi_abi_on_impi"])
def test_they_are_ours_from_the_fourth_on(launch, flavour, tmp_path):
    """And none is where that is switched off, which it is by itself."""
    counts = {}
    for how in ("window", "off", None):
        report = tmp_path / f"{how}.json"
        run = launch(flavour, "contract_bcast", ranks=2, mode="dunnage", limit=300, DUNNAGE_REPORT=str(report), **({"DUNNAGE_BCAST": how} if how else {}))
        assert run.code == 0, run
        counts[how] = json.loads(report.read_text())["calls"]["MPI_Bcast"]["accelerated"]
    assert counts["window"] > 300 and counts["off"] == counts[None] == 0


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_collectives_among_others(launch, flavour):
    """All forms of all collectives, broadcasts among them, with every kind of communicator."""
    plain = launch(flavour, "contract_collectives", ranks=3)
    run = launch(flavour, "contract_collectives", ranks=3, mode="dunnage", limit=300, DUNNAGE_BCAST="window")
    assert run.finished and run.failures <= plain.failures, run


def test_without_devices(launch):
    """Where nothing else is to be done about collectives."""
    run = launch("mpich", "contract_bcast", ranks=2, mode="dunnage", limit=300, DUNNAGE_BCAST="window", DUNNAGE_DEVICE="off", DUNNAGE_TICKETS="off")
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_nothing_is_found_by_sanitizers(launch, flavour):
    run = sanitized(launch, flavour, "bcast", 3, DUNNAGE_BCAST="window")
    assert run.finished and not run.failures, run
