"""bench_collectives: every operation's bytes are verified, in host memory and on the simulated
device."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from bench_runs import run_program  # noqa: E402
from installed import BUILD, MPIS  # noqa: E402

OPERATIONS = {"alltoall", "alltoall in place", "ialltoall", "alltoall, pieces of 128", "alltoallw",
              "alltoallv, one peer", "allgather", "iallgather", "gather", "scatter", "allreduce", "iallreduce",
              "allreduce in place", "reduce", "reduce_scatter_block", "scan"}


def run_bench(*arguments, **variables):
    return run_program("bench_collectives", *arguments, **variables)


@pytest.mark.parametrize("flavour, ranks", [("openmpi", 2), ("mpich", 3)])
def test_in_host_memory(flavour, ranks):
    run, results = run_bench(flavour, ranks, "--memory", "host", preload=[BUILD / "lib" / "libdunnage.so"])
    assert run.returncode == 0, run
    assert {one["operation"] for one in results} == OPERATIONS
    assert all(one["verified"] and one["seconds"]["median"] > 0 for one in results), results


@pytest.mark.parametrize("flavour, ranks", [("openmpi", 1), ("mpich", 2)])
def test_on_the_simulated_device(flavour, ranks):
    simulator = BUILD / "lib" / "dunnage" / "sim"
    if not (simulator / "libcuda.so.1").exists():
        pytest.skip("built without CUDA's header")
    run, results = run_bench(flavour, ranks, preload=[BUILD / "lib" / "libdunnage.so"], DUNNAGE_COLLECTIVES="on",
                             LD_LIBRARY_PATH=str(simulator))
    assert run.returncode == 0 and {one["operation"] for one in results} == OPERATIONS, run
    assert all(one["verified"] for one in results), results


def test_wrong_bytes_are_found(tmp_path):
    """A stand-in for Dunnage damages the last byte of every block of one operation, and the last
    element of one reduction."""
    if "mpich" not in MPIS:
        pytest.skip("no mpich")
    library, source = tmp_path / "damaging.so", tmp_path / "damaging.c"
    source.write_text("""#include <mpi.h>
int MPI_Allgather(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c) {
  MPI_Aint lb, extent;
  PMPI_Type_get_extent(u, &lb, &extent);
  int rc = PMPI_Allgather(a, n, t, b, m, u, c);
  ((char*)b)[extent - 1] ^= 1;
  return rc;
}
int MPI_Scan(const void* a, void* b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  int rc = PMPI_Scan(a, b, n, t, op, c);
  ((double*)b)[n - 1] += 1;
  return rc;
}
""")
    subprocess.run(["mpicc.mpich", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    run, results = run_bench("mpich", 2, "--memory", "host", preload=[library])
    assert run.returncode == 1
    assert {one["operation"] for one in results if not one["verified"]} == {"allgather", "scan"}
