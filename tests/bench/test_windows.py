"""bench_windows: every operation's bytes are verified, in host memory and on the simulated
device. Open MPI 4.1 makes no windows of one rank."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from bench_runs import run_program  # noqa: E402
from installed import BUILD, MPIS  # noqa: E402

OPERATIONS = {f"{name}{pieces}" for name in ("message", "put, fence", "get, fence", "accumulate, fence")
              for pieces in ("", ", pieces of 128")} | {"put, lock", "get, lock", "put, post and start"}


def run_bench(*arguments, **variables):
    return run_program("bench_windows", *arguments, **variables)


@pytest.mark.parametrize("flavour, ranks", [("openmpi", 2), ("mpich", 1)])
def test_in_host_memory(flavour, ranks):
    run, results = run_bench(flavour, ranks, "--memory", "host", preload=[BUILD / "lib" / "libdunnage.so"])
    assert run.returncode == 0, run
    assert {one["operation"] for one in results} == OPERATIONS
    assert all(one["verified"] and one["seconds"]["median"] > 0 for one in results), results


@pytest.mark.parametrize("collectives", ["on", "off"])  # off: two copies of the window
@pytest.mark.parametrize("flavour, ranks", [("openmpi", 2), ("mpich", 1)])
def test_on_the_simulated_device(flavour, ranks, collectives):
    simulator = BUILD / "lib" / "dunnage" / "sim"
    if not (simulator / "libcuda.so.1").exists():
        pytest.skip("built without CUDA's header")
    run, results = run_bench(flavour, ranks, preload=[BUILD / "lib" / "libdunnage.so"], DUNNAGE_COLLECTIVES=collectives,
                             LD_LIBRARY_PATH=str(simulator))
    assert run.returncode == 0 and {one["operation"] for one in results} == OPERATIONS, run
    assert all(one["verified"] for one in results), results


def test_wrong_bytes_are_found(tmp_path):
    """A stand-in for Dunnage damages what MPI_Get reads, and puts another number."""
    if "openmpi" not in MPIS:
        pytest.skip("no openmpi")
    library, source = tmp_path / "damaging.so", tmp_path / "damaging.c"
    source.write_text("""#include <mpi.h>
static double *got;
int MPI_Get(void* a, int n, MPI_Datatype t, int to, MPI_Aint d, int m, MPI_Datatype u, MPI_Win w) {
  got = a;
  return PMPI_Get(a, n, t, to, d, m, u, w);
}
static int damage(int rc) {
  if (got) got[0] += 1;
  got = 0;
  return rc;
}
int MPI_Win_unlock(int rank, MPI_Win w) { return damage(PMPI_Win_unlock(rank, w)); }
int MPI_Win_fence(int assertion, MPI_Win w) { return damage(PMPI_Win_fence(assertion, w)); }
int MPI_Put(const void* a, int n, MPI_Datatype t, int to, MPI_Aint d, int m, MPI_Datatype u, MPI_Win w) {
  double number = -1;
  return PMPI_Put(&number, 1, MPI_DOUBLE, to, d, 1, MPI_DOUBLE, w);
}
""")
    subprocess.run(["mpicc.openmpi", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    run, results = run_bench("openmpi", 2, "--memory", "host", preload=[library])
    assert run.returncode == 1
    wrong = {one["operation"] for one in results if not one["verified"]}
    assert wrong == {name for name in OPERATIONS if name.startswith(("put", "get"))}
