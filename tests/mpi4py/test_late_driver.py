"""A driver that is loaded after persistent requests were made, on the simulated device."""

import json

import pytest
import suite

PROGRAM = suite.ROOT / "tests" / "mpi4py" / "late_driver.py"


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
def test_messages_go_by_channels_all_the_same(mpi, tmp_path):
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists():
        pytest.skip(f"no wheel of {mpi}")
    report = tmp_path / "report.json"
    variables = {"LD_LIBRARY_PATH": str(suite.BUILD / "lib" / "dunnage" / "sim"), "DUNNAGE_REPORT": str(report)}
    done = suite.launch(mpi, ["mpiexec", "-n", "2", "python", PROGRAM], through=True, variables=variables)
    assert done.returncode == 0 and done.stdout.count("right") == 2, done.stdout
    calls = json.loads(report.read_text())["calls"]
    ways = next(calls[name] for name in ("MPI_Isend", "MPI_Isend_c") if name in calls)["device memory"]
    by_channel = sum(number for way, number in ways.items() if way.startswith("direct, without a message"))
    # Of 2 * 60; those with the tag of the persistent requests never do. A message goes so if its
    # receive has begun.
    assert 5 < by_channel <= 2 * 60, ways
