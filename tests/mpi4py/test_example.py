"""examples/python on this machine's kind of memory: NumPy's where there is no GPU, which is what
they say then."""
import pytest

import suite

EXAMPLES = suite.ROOT / "examples" / "python"


@pytest.mark.parametrize("mpi", suite.MPIS)
@pytest.mark.parametrize("through", [False, True], ids=["plain", "dunnage"])
@pytest.mark.parametrize("example", ["cupy_ring.py", "spectral.py", "torch_training.py"])
def test_an_example(mpi, through, example):
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists():
        pytest.skip(f"no wheel of {mpi}")
    done = suite.launch(mpi, ["mpiexec", "-n", "2", "python", EXAMPLES / example], through=through)
    assert done.returncode == 0, done.stdout
    assert "2 ranks, " in done.stdout and done.stdout.rstrip().endswith(": right")
