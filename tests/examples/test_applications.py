"""examples/c/md_halo.c and examples/c/amr_fill_boundary.cpp: programs with the messages of GROMACS
and AMReX. Their output depends on no MPI and on no number of ranks, and they compare it with a run
without messages.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from chosen import in_turns  # noqa: E402
from installed import BUILD, MPIS, command, launched, yielding  # noqa: E402

LIBRARY = BUILD / "lib" / "libdunnage.so"
SIMULATOR = BUILD / "lib" / "dunnage" / "sim"
MD, AMR = "md_halo", "amr_fill_boundary"
STEPS = 6
# Boxes of 5 cells leave a rest in each dimension, so the boxes have different sizes.
SIZES = {MD: ["--box", "8,8,8", "--every", "3"], AMR: ["--mesh", "12,17,8", "--box", "5", "--every", "2"]}
ALL = ["openmpi", "mpich", "openmpi5", "mpich5", "mpi_abi", "impi"]


def run(name, program, ranks, *arguments, preload=(), device=False, sized=True, **variables):
    mpi = MPIS.get(name)
    if not mpi or not (BUILD / "mpi" / mpi.programs / program).exists():
        pytest.skip(f"{program} is not built for {name}")
    if device:
        if not (SIMULATOR / "libcuda.so.1").exists():
            pytest.skip("there is no simulated device")
        arguments = (*arguments, "--memory", "device")
        variables["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(SIMULATOR), mpi.libraries]))
        variables["DUNNAGE_SIM_DELAY"] = "20"
    if preload:
        variables["LD_PRELOAD"] = ":".join(map(str, preload))
    words = [*command(mpi, ranks, yielding(mpi, variables)), str(BUILD / "mpi" / mpi.programs / program)]
    words += [*(SIZES[program] if sized else []), *(["--steps", str(STEPS)] if sized else []), *arguments]
    return launched(words)


def results(done):
    """What a run without errors says, without the times."""
    assert done.returncode == 0, done
    return [line for line in done.stdout.splitlines() if not line.startswith("time ")]


@pytest.fixture(scope="module")
def expected():
    """expected(program): the results of one rank in host memory, without Dunnage."""
    known = {}

    def of(program, *arguments):
        name = next(name for name in ALL if name in MPIS)
        key = program, *arguments
        if key not in known:
            known[key] = results(run(name, program, 1, *arguments))
            assert known[key][-1] == "right"
        return known[key]

    return of


def in_device_memory(lines):
    return [lines[0].replace("in host memory", "in device memory"), *lines[1:]]


def with_report(tmp_path, *arguments, **options):
    """The results of a run with Dunnage, and the calls of its report."""
    report = tmp_path / "report.json"
    done = run(*arguments, preload=[LIBRARY], DUNNAGE_REPORT=str(report), **options)
    return results(done), json.loads(report.read_text())["calls"]


def ways(calls):
    """How many sends of data in device memory went which way."""
    count = {}
    for call in calls.values():
        for way, messages in call.get("device memory", {}).items():
            count[way] = count.get(way, 0) + messages
    return count


RANKS = {"openmpi": 3, "mpich": 4, "openmpi5": 2, "mpich5": 4, "mpi_abi": 3, "impi": 2}


@pytest.mark.parametrize("program", [MD, AMR])
@pytest.mark.parametrize("name", ALL)
def test_without_dunnage(name, program, expected):
    assert results(run(name, program, RANKS[name])) == expected(program)


@pytest.mark.parametrize("name", ALL)
def test_particles_with_dunnage(name, expected, tmp_path):
    found, calls = with_report(tmp_path, name, MD, RANKS[name], DUNNAGE_FORCE="always")
    assert found == expected(MD)
    # In each step and each divided dimension, a rank sends some positions and receives some forces.
    dimensions = 2 if RANKS[name] == 4 else 1
    assert calls["MPI_Irecv"]["accelerated"] == RANKS[name] * STEPS * dimensions, calls
    assert calls["MPI_Sendrecv"]["accelerated"] >= RANKS[name] * STEPS * dimensions, calls


@pytest.mark.parametrize("name", ALL)
def test_boxes_with_dunnage(name, expected, tmp_path):
    found, calls = with_report(tmp_path, name, AMR, RANKS[name], DUNNAGE_FORCE="always")
    assert found == expected(AMR)
    for call in ("MPI_Isend", "MPI_Irecv"):  # each rank has a neighbour box of each rank, also of itself
        assert calls[call]["accelerated"] == RANKS[name] ** 2 * STEPS, calls


@pytest.mark.parametrize("name, ranks", in_turns([2, 4, 3, 1], ["openmpi", "mpich", "openmpi5", "mpich5"]))
def test_particles_on_the_simulated_device(name, ranks, expected, tmp_path):
    found, calls = with_report(tmp_path, name, MD, ranks, device=True)
    assert found == in_device_memory(expected(MD))
    dimensions = {1: 0, 4: 2}.get(ranks, 1)
    assert sum(ways(calls).values()) >= 2 * ranks * STEPS * dimensions, calls


# For each MPI: ranks, and whether all boxes of a rank are in one allocation.
DEVICE_CASES = [(2, "yes"), (3, "no"), (1, "no"), (4, "yes"), (2, "no"), (3, "yes")]


@pytest.mark.parametrize("name, case", in_turns(DEVICE_CASES, ALL))
def test_boxes_on_the_simulated_device(name, case, expected, tmp_path):
    ranks, arena = case
    found, calls = with_report(tmp_path, name, AMR, ranks, "--arena", arena, device=True)
    assert found == in_device_memory(expected(AMR))
    sends = calls["MPI_Isend"]  # the program also makes a collective, whose messages are ours
    went = ways({"MPI_Isend": sends})
    assert sum(went.values()) == sends["accelerated"] == ranks**2 * STEPS, went
    assert went["self: one copy or one kernel from layout to layout"] >= ranks, went
    several = sum(n for way, n in went.items() if way.startswith("staged in host memory: in several allocations"))
    assert (several > 0) == (ranks > 1 and arena == "no"), went
    # What else decides is the size of a message: those of two ranks are the largest.
    assert (ranks, arena) != (2, "yes") or any(way.startswith("direct") for way in went), went


def test_options_of_the_boxes(expected):
    """Three boxes for four ranks: each step, another rank has none."""
    others = ["--components", "3", "--ghosts", "3", "--mesh", "3,9,4", "--box", "3", "--every", "1", "--owners"]
    one = results(run("mpich", AMR, 1, *others, "curve"))
    assert one[-1] == "right" and one != expected(AMR)
    for owners in ("curve", "turns"):
        assert results(run("mpich", AMR, 4, *others, owners, preload=[LIBRARY])) == one


@pytest.mark.parametrize("ranks, grid", [(4, "1,1,4"), (2, "1,2,1"), (8, "2,2,2")])
def test_the_grid_of_the_particles(ranks, grid, expected):
    assert results(run("mpich", MD, ranks, "--grid", grid, preload=[LIBRARY])) == expected(MD)


def test_particles_without_an_mpi_that_takes_device_memory(expected):
    found = results(run("mpich", MD, 2, device=True))
    assert found == [expected(MD)[0] + ", as this MPI takes no device memory", *expected(MD)[1:]]


def test_boxes_without_an_mpi_that_takes_device_memory():
    done = run("mpich", AMR, 2, device=True)
    # The program ends with 3. MPICH's mpirun seldom gives 1 for it.
    assert done.returncode in (1, 3) and "this MPI says that it takes no device memory" in done.stderr, done


# Stand-ins for a library that sends data one number too far. In MPICH, handles are integers. The
# positions of particles have tag 1.
DAMAGE = {
    "MPI_Sendrecv": """
int PMPI_Sendrecv(const void*, int, int, int, int, void*, int, int, int, int, int, int*);
int MPI_Sendrecv(const void* b, int n, int t, int to, int tag, void* r, int m, int u, int from, int tag2, int c,
                 int* s) {
  if (tag == 1) b = (const char*)b + 4;
  return PMPI_Sendrecv(b, n, t, to, tag, r, m, u, from, tag2, c, s);
}
""",
    "MPI_Isend": """
int PMPI_Isend(const void*, int, int, int, int, int, int*);
int MPI_Isend(const void* b, int n, int t, int to, int tag, int c, int* r) {
  return PMPI_Isend((const char*)b + SHIFT, n, t, to, tag, c, r);
}
""",
    "MPI_Alltoallw": """
int PMPI_Alltoallw(const void*, const int*, const int*, const int*, void*, const int*, const int*, const int*, int);
int MPI_Alltoallw(const void* b, const int* n, const int* d, const int* t, void* r, const int* m, const int* e,
                  const int* u, int c) {
  return PMPI_Alltoallw((const char*)b + SHIFT, n, d, t, r, m, e, u, c);
}
""",
}


@pytest.mark.parametrize("program, call, said", [
    (MD, "MPI_Sendrecv", "md_halo: the checksum of one rank is "),
    (MD, "MPI_Isend", "md_halo: step 0: momentum "),
    (AMR, "MPI_Isend", "amr_fill_boundary: rank 1, component 0, cell "),
    (AMR, "MPI_Alltoallw", "amr_fill_boundary: rank 1, component 0, cell "),
])
def test_wrong_bytes_are_found(program, call, said, tmp_path):
    library, source = tmp_path / "damaging.so", tmp_path / "damaging.c"
    source.write_text(DAMAGE[call].replace("SHIFT", {MD: "4", AMR: "8"}[program]))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    done = run("mpich", program, 2, preload=[library])
    assert done.returncode == 1 and said in done.stderr and "WRONG" in done.stdout, done


@pytest.mark.parametrize("program, arguments, said", [
    (MD, ["--box", "8,8"], "--box needs 3 number(s) of at least 4, with commas between, not 8,8"),
    (MD, ["--box", "8,3,8"], "not 8,3,8"),
    (MD, ["--steps", "3x"], "--steps needs 1 number(s) of at least 1, with commas between, not 3x"),
    (MD, ["--grid", "2,1,1"], "a grid of 2,1,1 is not for 1 ranks"),
    (MD, ["--box", "8,8,129"], "a box edge of 129 is too long: at most 128"),
    (MD, ["--memory", "gpu"], "--memory is one of host|device, not gpu"),
    (AMR, ["--memory"], "--memory needs a value"),
    (AMR, ["--fast", "1"], "there is no option --fast"),
    (AMR, ["--mesh", "8,8,2", "--ghosts", "3"], "3 ghost cells are more than the 2 cells of an edge"),
])
def test_wrong_options(program, arguments, said):
    done = run("mpich", program, None, *arguments, sized=False)
    assert done.returncode == 2 and done.stderr.startswith(f"{program}: ") and said in done.stderr, done


@pytest.mark.parametrize("program", [MD, AMR])
def test_help(program):
    done = run("openmpi", program, 2, "--help", sized=False)
    assert done.returncode == 0 and done.stdout.count("--memory") == 1, done


def test_lists_that_are_too_old():
    done = run("mpich", MD, None, "--every", "100", "--steps", "100", "--box", "4,4,4", sized=False)
    assert done.returncode == 1 and "choose a smaller --every" in done.stderr, done
