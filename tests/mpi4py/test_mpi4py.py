"""The part of mpi4py's own tests that is about messages and datatypes, on two of the wheels.
suite.py runs all of it."""

import json

import pytest

import suite
from chosen import ALL

# By the number of ranks: more ranks than cores make some of them slow.
QUICK = ["test_p2p_buf_matched", "test_p2p_obj", "test_request", "test_status", "test_subclass"]
SOME = [*QUICK, "test_cco_ngh_buf", "test_p2p_buf", "test_cco_vec"]
BY_ITSELF = ["test_pack", "test_msgspec"]  # each rank, mostly
MODULES = {
    1: [*SOME, *BY_ITSELF, "test_cco_nb_vec", "test_cco_pr_vec"],
    2: [*SOME, *(BY_ITSELF if ALL else [])],
    3: QUICK,
}

PROGRAM = """
from mpi4py import MPI
import numpy
world = MPI.COMM_WORLD
column = MPI.DOUBLE.Create_vector(480, 1, 2).Commit()
field = numpy.arange(960, dtype="d") + world.rank
other = numpy.zeros(960)
peer = world.rank ^ 1
requests = [world.Irecv([other, 1, column], peer), world.Isend([field, 1, column], peer)]
MPI.Request.Waitall(requests)
assert (other[::2] == numpy.arange(0, 960, 2) + peer).all() and (other[1::2] == 0).all()
world.Bcast([other, 1, column], 0)
"""


@pytest.fixture(scope="module", autouse=True)
def set_up():
    if not suite.suite_folder():
        pytest.skip("mpi4py's tests are not here: they come with MPI_WHEELS=yes scripts/setup.sh")


@pytest.mark.parametrize("mpi", ["openmpi5", "mpich5"])
@pytest.mark.parametrize("ranks", MODULES)
def test_as_without_dunnage(mpi, ranks):
    # A rank alone sends to itself only, which differs less from MPI to MPI.
    one_mpi_will_do = ranks == 1 and mpi == "openmpi5" and not ALL
    result = suite.compare(mpi, ranks, [*QUICK, *BY_ITSELF] if one_mpi_will_do else MODULES[ranks])
    assert not result["differ"], f"{result['differ']}\n{result['output']}"
    assert result["passed"] > 150 * ranks, result


@pytest.mark.parametrize("mpi", suite.MPIS)
def test_numpy_buffers_are_accelerated(mpi, tmp_path):
    """By the command that the guide names; or the comparison would prove nothing."""
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(PROGRAM)
    run = suite.launch(
        mpi, ["mpiexec", "-n", "2", "python", program], through=True,
        variables={"DUNNAGE_REPORT": str(report), "DUNNAGE_TRIALS": "off"},
    )
    assert run.returncode == 0, run.stdout
    calls = json.loads(report.read_text())["calls"]
    sent = calls.get("MPI_Isend_c") or calls["MPI_Isend"]
    received = calls.get("MPI_Irecv_c") or calls["MPI_Irecv"]
    assert sent["accelerated"] == received["accelerated"] == 2, calls
    broadcast = calls.get("MPI_Bcast_c") or calls["MPI_Bcast"]
    assert broadcast["declined"] == {"this call is left to the MPI": 2}, calls


@pytest.mark.parametrize(
    "mpi, call, module",
    [
        ("openmpi5", "MPI_Bcast_init", "test_cco_pr_buf"),
        ("mpich5", "MPI_Ibcast", "test_cco_nb_buf"),
        *([("openmpi5", "MPI_Ibcast", "test_cco_nb_buf")] if ALL else []),
        *([("impi", "MPI_Bcast_init", "test_cco_pr_buf")] if ALL else []),
    ],
)
def test_broadcasts_by_dunnage(mpi, call, module, tmp_path):
    """All of them, however small. On Open MPI 5 the persistent ones are in no header that the
    contract programs are compiled with."""
    report = tmp_path / "report.json"
    result = suite.compare(mpi, 3, [module], {"DUNNAGE_BCAST": "window", "DUNNAGE_REPORT": str(report)})
    assert not result["differ"], f"{result['differ']}\n{result['output']}"
    calls = json.loads(report.read_text())["calls"]
    assert (calls.get(f"{call}_c") or calls[call])["accelerated"] > 1000, calls
