"""dunnage.triggered: exchanges that streams start, from Python, on the simulated device."""

import pytest
import suite

PROGRAM = suite.ROOT / "tests" / "mpi4py" / "triggered_ring.py"
EXAMPLE = suite.ROOT / "examples" / "python" / "cupy_stream.py"
CUPY = f"{PROGRAM.parent / 'simulated_cupy'}:{PROGRAM.parent}"  # the stand-in, and what it imports


def run(mpi, *words, through=True, cupy="", devices=2):
    """Runs two ranks of a Python program."""
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists():
        pytest.skip(f"no wheel of {mpi}")
    variables = {
        "LD_LIBRARY_PATH": str(suite.BUILD / "lib" / "dunnage" / "sim"),
        "PYTHONPATH": f"{suite.ROOT / 'python'}:{cupy}",
        "DNG_API_LIBRARY": str(suite.BUILD / "lib" / "libdunnage-api.so"),
        "DUNNAGE_SIM_DEVICES": str(devices),
        "DUNNAGE_TRIGGER": "kernels",
        "DUNNAGE_SIM_REACHABLE": "" if through else "1",
    }
    return suite.launch(mpi, ["mpiexec", "-n", "2", "python", *words], through=through, variables=variables)


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
@pytest.mark.parametrize("through", [False, True], ids=["plain", "dunnage"])
def test_the_ring(mpi, through):
    done = run(mpi, PROGRAM, "KERNELS" if through else "MPI", through=through)
    assert done.returncode == 0 and done.stdout.count("right") == 2, done.stdout


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
@pytest.mark.parametrize("through", [False, True], ids=["plain", "dunnage"])
def test_the_example(mpi, through):
    """With the stand-in for CuPy, which waits for the stream in each step."""
    done = run(mpi, EXAMPLE, through=through, cupy=CUPY)
    assert done.returncode == 0 and "2 ranks, CuPy arrays on 2 GPU(s): right" in done.stdout, done.stdout


@pytest.mark.parametrize("cupy", ["", CUPY], ids=["no CuPy", "no GPU"])
def test_the_example_without_a_gpu(cupy):
    done = run("mpich5", EXAMPLE, cupy=cupy, devices=0)
    assert done.returncode == 0 and "skipped: no GPU, or no CuPy" in done.stdout, done.stdout
