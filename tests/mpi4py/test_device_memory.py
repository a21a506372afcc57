"""Programs in Python with device memory, on the simulated device."""

import json

import pytest
import suite


def ways(mpi, program, report, names, **variables):
    """Runs a program with two ranks. Returns how its calls of these names went."""
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists():
        pytest.skip(f"no wheel of {mpi}")
    variables |= {"LD_LIBRARY_PATH": str(suite.BUILD / "lib" / "dunnage" / "sim"), "DUNNAGE_REPORT": str(report)}
    path = suite.ROOT / "tests" / "mpi4py" / program
    done = suite.launch(mpi, ["mpiexec", "-n", "2", "python", path], through=True, variables=variables)
    assert done.returncode == 0 and done.stdout.count("right") == 2, done.stdout
    calls = json.loads(report.read_text())["calls"]
    return next(calls[name] for name in names if name in calls)["device memory"]


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
def test_a_driver_that_is_loaded_after_persistent_requests_were_made(mpi, tmp_path):
    found = ways(mpi, "late_driver.py", tmp_path / "report.json", ("MPI_Isend", "MPI_Isend_c"))
    by_channel = sum(number for way, number in found.items() if way.startswith("direct, without a message"))
    # Of 2 * 60; those with the tag of the persistent requests never do. A message goes so if its
    # receive has begun.
    assert 5 < by_channel <= 2 * 60, found


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
def test_threads_that_reduce_on_two_communicators(mpi, tmp_path):
    """A rank takes part in one handshake at a time."""
    found = ways(
        mpi,
        "allreduce_threads.py",
        tmp_path / "report.json",
        ("MPI_Allreduce", "MPI_Allreduce_c"),
        DUNNAGE_COLLECTIVES="on",
        DUNNAGE_SIM_DEVICES="2",
    )
    assert any(way.startswith("direct, reduced over the data") for way in found), found
    assert any(way.startswith("direct, reduced in parts") for way in found), found
