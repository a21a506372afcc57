"""dunnage.triggered: exchanges that streams start, from Python, on the simulated device."""

import pytest
import suite

PROGRAM = suite.ROOT / "tests" / "mpi4py" / "triggered_ring.py"


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
@pytest.mark.parametrize("through", [False, True], ids=["plain", "dunnage"])
def test_the_ring(mpi, through):
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists():
        pytest.skip(f"no wheel of {mpi}")
    variables = {
        "LD_LIBRARY_PATH": str(suite.BUILD / "lib" / "dunnage" / "sim"),
        "PYTHONPATH": str(suite.ROOT / "python"),
        "DNG_API_LIBRARY": str(suite.BUILD / "lib" / "libdunnage-api.so"),
        "DUNNAGE_SIM_DEVICES": "2",
        "DUNNAGE_TRIGGER": "kernels",
        "DUNNAGE_SIM_REACHABLE": "" if through else "1",
    }
    words = ["mpiexec", "-n", "2", "python", PROGRAM, "KERNELS" if through else "MPI"]
    done = suite.launch(mpi, words, through=through, variables=variables)
    assert done.returncode == 0 and done.stdout.count("right") == 2, done.stdout
