"""DUNNAGE_DEFAULT_STREAM: programs that do not wait for their device, on the simulated device."""

import json
import re

import pytest
import suite


def right(mpi, how, report):
    """The right messages of both ranks, and how often calls waited."""
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists():
        pytest.skip(f"no wheel of {mpi}")
    variables = {
        "LD_LIBRARY_PATH": str(suite.BUILD / "lib" / "dunnage" / "sim"),
        "DUNNAGE_SIM_DEVICES": "2",
        "DUNNAGE_SIM_DELAY": "20000",  # microseconds: longer than any call of MPI here takes
        "DUNNAGE_REPORT": str(report),
        "DUNNAGE_DEFAULT_STREAM": how,
    }
    program = suite.ROOT / "tests" / "mpi4py" / "forgetful.py"
    done = suite.launch(mpi, ["mpiexec", "-n", "2", "python", program], through=True, variables=variables)
    found = re.findall(r"(\d+) of 12 right", done.stdout)
    assert done.returncode == 0 and len(found) == 2, done.stdout
    return [int(n) for n in found], json.loads(report.read_text())["device work"]["waits for the default stream"]


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
def test_calls_wait_if_they_are_asked_to(mpi, tmp_path):
    found, waits = right(mpi, "wait", tmp_path / "report.json")
    assert found == [12, 12]
    assert waits >= 2 * 12  # each message, on both ranks


def test_calls_do_not_wait_otherwise(tmp_path):
    found, waits = right("mpich5", "ignore", tmp_path / "report.json")
    assert found != [12, 12] and waits == 0
