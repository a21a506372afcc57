"""examples/python on this machine's kind of memory: NumPy's where there is no GPU, which is what
they say then."""
import pytest

import suite

EXAMPLE = suite.ROOT / "examples" / "python" / "cupy_ring.py"


@pytest.mark.parametrize("mpi", suite.MPIS)
@pytest.mark.parametrize("through", [False, True], ids=["plain", "dunnage"])
def test_the_ring(mpi, through):
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists():
        pytest.skip(f"no wheel of {mpi}")
    done = suite.launch(mpi, ["mpiexec", "-n", "2", "python", EXAMPLE], through=through)
    assert done.returncode == 0, done.stdout
    assert "2 ranks, " in done.stdout and done.stdout.rstrip().endswith(": right")
