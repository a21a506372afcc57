"""examples/fortran/higrad against a serial reference, by each Fortran interface of each MPI, with
the mesh in host memory and on the simulated device.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installed import BUILD, MPIS, command, launched, yielding  # noqa: E402

INTERFACES = ["mpif", "mpi_module", "f08"]
LIBRARY = BUILD / "lib" / "libdunnage.so"
SIMULATOR = BUILD / "lib" / "dunnage" / "sim"
MESH, STEPS, VARIABLES = (13, 12, 14), 3, 3


def reference(ghost):
    """The checksum that the program must print, whatever it is run with: the program's own formulas
    (mesh.F90, host.F90) on the whole mesh."""
    nx, ny, nz = MESH
    v, z, y, x = numpy.ogrid[1:VARIABLES + 1, 1:nz + 1, 1:ny + 1, 1:nx + 1]
    u = ((x * (x + 3 * y + 7) + y * (y + 5 * z + 11) + z * (z + 13) + 17 * v) % 251) / 256.0
    for _ in range(STEPS):
        around = numpy.zeros_like(u)
        for c in (-ghost, 0, ghost):
            for b in (-ghost, 0, ghost):
                for a in (-ghost, 0, ghost):
                    around += numpy.roll(u, (-c, -b, -a), axis=(1, 2, 3)) - u
        lower = [numpy.roll(u, 1, axis=axis) for axis in (3, 2, 1)]
        u = u - 0.125 * (u - lower[0]) - 0.0625 * (u - lower[1]) - 0.03125 * (u - lower[2]) + 0.00390625 * around
    bits = numpy.ascontiguousarray(u).view(numpy.uint64).ravel()
    turn = (numpy.arange(bits.size) % 61).astype(numpy.uint64)
    turned = (bits << turn) | (bits >> ((numpy.uint64(64) - turn) % numpy.uint64(64)))
    return f"{numpy.bitwise_xor.reduce(turned):016X}"


def run(name, interface, ranks, *arguments, preload=(), **variables):
    program = BUILD / "mpi" / name / f"higrad_{interface}"
    if name not in MPIS or not program.exists():
        pytest.skip(f"{program} is not built")
    if preload:
        variables["LD_PRELOAD"] = ":".join(map(str, preload))
    words = command(MPIS[name], ranks, yielding(MPIS[name], variables))
    return launched([*words, program, *arguments])


def checksums(done):
    """The checksum of each option of a run with --json."""
    assert done.returncode in (0, 1), done
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {one["option"]: one["checksum"] for one in records if one["record"] == "result"}


def options(ghost, steps=STEPS, **others):
    given = {"mesh": ",".join(map(str, MESH)), "variables": VARIABLES, "ghost": ghost, "warm-up": 1,
             "steps": steps - 1, **others}
    return ["--json", *(str(word) for name, value in given.items() for word in (f"--{name}", value))]


def all_right(ghost):
    return dict.fromkeys((0, 1, 2), reference(ghost))


def test_the_reference_knows_how_deep_the_ghost_cells_are():
    assert len({reference(ghost) for ghost in (1, 2, 3)}) == 3


@pytest.mark.parametrize("ranks, ghost, messages", [(1, 1, "face"), (2, 3, "variable"), (4, 2, "face")])
@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_every_option_is_right_with_dunnage(name, interface, ranks, ghost, messages):
    done = run(name, interface, ranks, *options(ghost, messages=messages), preload=[LIBRARY])
    assert checksums(done) == all_right(ghost), done


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("name", ["openmpi", "mpich", "impi"])
def test_every_option_is_right_without(name, interface):
    done = run(name, interface, 2, *options(2, grid="1,2,1"))
    assert checksums(done) == all_right(2), done


def test_dunnage_does_the_exchange(tmp_path):
    report = tmp_path / "report.json"
    done = run("mpich", "f08", 2, *options(1, option="1"), preload=[LIBRARY], DUNNAGE_FORCE="always",
               DUNNAGE_REPORT=str(report))
    assert checksums(done) == {1: reference(1)}, done
    for name in ("MPI_Isend", "MPI_Irecv"):  # both ranks, six faces
        assert json.loads(report.read_text())["calls"][name]["accelerated"] == 2 * 6 * STEPS


def test_wrong_bytes_are_found(tmp_path):
    """A stand-in for a library sends every face one cell too far."""
    library, source = tmp_path / "damaging.so", tmp_path / "damaging.c"
    source.write_text("""
void pmpi_isend_(char*, int*, int*, int*, int*, int*, int*, int*);
void mpi_isend_(char* b, int* n, int* type, int* to, int* tag, int* comm, int* request, int* error) {
  pmpi_isend_(b + (*n == 1) * sizeof(double), n, type, to, tag, comm, request, error);
}
""")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    done = run("mpich", "mpif", 2, *options(1), preload=[library])
    found = checksums(done)
    assert done.returncode == 1 and found[2] == reference(1), done
    assert reference(1) not in (found[0], found[1])


@pytest.mark.parametrize("name, interface, ranks, ghost, messages", [
    ("openmpi", "f08", 2, 2, "face"), ("mpich", "mpif", 2, 3, "variable"), ("openmpi", "mpi_module", 1, 1, "face"),
])
def test_on_the_simulated_device(name, interface, ranks, ghost, messages):
    if not (SIMULATOR / "libcuda.so.1").exists():
        pytest.skip("there is no simulated device")
    done = run(name, interface, ranks, *options(ghost, memory="device", messages=messages),
               preload=[LIBRARY, BUILD / "tests" / "libkernels_on_host.so"], LD_LIBRARY_PATH=str(SIMULATOR))
    assert checksums(done) == all_right(ghost), done


@pytest.mark.parametrize("arguments, said", [
    (["--mesh", "3,3"], "--mesh needs three numbers"),
    (["--mesh", "3,,3"], "a wrong value of --mesh: 3,,3"),
    (["--ghost", "4"], "a wrong value of --ghost: 4"),
    (["--memory", "gpu"], "--memory is host or device, not gpu"),
    (["--steps"], "a wrong value of --steps"),
    (["--fast"], "there is no option --fast"),
    (["--mesh", "5,1,5", "--ghost", "2"], "the mesh is too small"),
])
def test_wrong_options(arguments, said):
    done = run("mpich", "mpif", None, *arguments)
    assert done.returncode == 2 and f"higrad: {said}" in done.stderr, done


def test_the_table():
    done = run("openmpi", "f08", 2, "--mesh", "8,8,8", "--steps", "2", "--variables", "1")
    lines = done.stdout.splitlines()
    assert lines[0] == "higrad: use mpi_f08, host memory, 2 ranks (2x1x1)", done
    assert [line[:28].strip() for line in lines[4:]] == [
        "0  copies through host memor", "1  derived datatypes", "2  packing kernels"], done
    assert len({line.split()[-1] for line in lines[4:]}) == 1
