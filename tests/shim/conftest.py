"""Where the build is, for the black-box tests of the preloaded library."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]
from installed import MPIS  # noqa: E402


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def build():
    folder = pathlib.Path(os.environ.get("DUNNAGE_HOME", ROOT / "build"))
    if not (folder / "lib/libdunnage.so").exists():
        pytest.skip(f"no build in {folder}")
    return folder


@pytest.fixture(scope="session", params=["openmpi", "mpich", "mpi_abi"])
def flavour(request, build):
    """One MPI of each family."""
    if request.param not in MPIS:
        pytest.skip(f"no {request.param} here")
    return request.param


@pytest.fixture(scope="session")
def root_environment():
    """Open MPI refuses to run as root unless told twice."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith("DUNNAGE")},
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
