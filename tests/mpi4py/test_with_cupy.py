"""mpi4py's own tests with CuPy's arrays, by a stand-in for CuPy on the simulated device.
scripts/gpu/mpi4py-suite.sh runs them with CuPy itself."""

import pytest
import suite

# Those in which Dunnage has most to do, without the slow ones.
MODULES = ["test_p2p_buf", "test_p2p_buf_part", "test_cco_nb_vec", "test_cco_pr_buf", "test_cco_pr_ngh_buf"]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
def test_arrays_of_cupy(mpi, module):
    if not (suite.VENV / suite.MPIS[mpi] / "complete").exists() or not suite.suite_folder():
        pytest.skip(f"no wheel of {mpi}, or no tests of mpi4py")
    variables = {
        "LD_LIBRARY_PATH": str(suite.BUILD / "lib" / "dunnage" / "sim"),
        "PYTHONPATH": str(suite.ROOT / "tests" / "mpi4py" / "simulated_cupy"),
        "DUNNAGE_SIM_DEVICES": "2",
    }
    found, output = suite.outcomes(mpi, 2, [module], through=True, variables=variables, options=["--cupy"])
    assert found and set(found.values()) == {"passed"}, output
