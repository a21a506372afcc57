"""higrad_triggered on two simulated devices: the host, a stream, a graph and kernels do the
exchange of one program. tests/examples holds higrad's other options against a serial reference."""

import json

import pytest

from installed import BUILD, MPIS, command, launched, yielding

LIBRARY = BUILD / "lib" / "libdunnage.so"
SIMULATOR = BUILD / "lib" / "dunnage" / "sim"
KERNELS = BUILD / "tests" / "libkernels_on_host.so"
pytestmark = pytest.mark.skipif(not (SIMULATOR / "libcuda.so.1").exists(), reason="there is no simulated device")


def run(*arguments, name="mpich", ranks=2, preload=True, memory="device", **variables):
    program = BUILD / "mpi" / name / "higrad_triggered"
    if name not in MPIS or not program.exists():
        pytest.skip(f"{program} is not built")
    variables = {
        "LD_LIBRARY_PATH": str(SIMULATOR), "DUNNAGE_SIM_DEVICES": "2", "DUNNAGE_SIM_DELAY": "5",
        "LD_PRELOAD": ":".join(map(str, [LIBRARY, KERNELS] if preload else [KERNELS])), **variables,
    }
    if preload:  # as `dunnage run` tells the ranks
        variables.update(DUNNAGE_PARTITIONED="on", DUNNAGE_NEIGHBOURS="on")
    words = command(MPIS[name], ranks, yielding(MPIS[name], variables))
    sizes = ["--mesh", "9,8,10", "--variables", "3", "--steps", "3", "--warm-up", "2"]
    return launched([*words, program, "--memory", memory, *sizes, *arguments])


def results(done):
    """The record of each option of a run with --json. All must have one checksum."""
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = {one["option"]: one for one in found if one["record"] == "result"}
    assert len({one["checksum"] for one in found.values()}) == 1, done
    return found


def ways(done):
    return {option: one.get("way") for option, one in results(done).items()}


@pytest.mark.parametrize("ranks, arguments", [
    (1, []), (2, ["--messages", "variable"]), (2, ["--grid", "1,2,1", "--ghost", "3"]),
])
def test_by_the_host_by_a_stream_by_a_graph_and_by_kernels(ranks, arguments):
    done = run("--json", "--option", "1,3,4,5", *arguments, ranks=ranks, DUNNAGE_TRIGGER="kernels")
    assert done.returncode == 0, done
    assert ways(done) == {1: None, 3: "kernels", 4: "kernels", 5: "kernels"}
    assert "DUNNAGE_TRIGGER=kernels" in results(done)[3]["why"]


def test_stores_that_are_held_back():
    """The kernel that sends has the fences that it needs."""
    done = run("--json", "--option", "1,5", DUNNAGE_TRIGGER="kernels", DUNNAGE_SIM_HOLD_STORES="1",
               DUNNAGE_SIM_BLOCKING="1")
    assert done.returncode == 0 and ways(done) == {1: None, 5: "kernels"}, done


def test_by_memory_operations():
    """A graph and kernels need an exchange by kernels."""
    done = run("--json", "--option", "1,3,4,5", DUNNAGE_TRIGGER="memory-operations")
    assert done.returncode == 4, done
    assert ways(done) == {1: None, 3: "memory-operations"}
    for option in (4, 5):
        assert f"higrad: option {option} cannot run here: " in done.stderr, done


def test_a_graph_makes_exchanges_go_by_kernels():
    done = run("--json", "--option", "1,3,4,5", DUNNAGE_TRIGGER="auto")
    assert done.returncode == 0, done
    found = ways(done)
    assert (found[4], found[5]) == ("kernels", "kernels")
    assert set(found[3].split(", ")) <= {"kernels", "memory-operations"}


def test_by_a_thread_of_the_host():
    """As between hosts. Partitioned messages go by the MPI there."""
    done = run("--json", "--option", "1,3,4,5", "--grid", "2,1,1", DUNNAGE_TRIGGER="proxy")
    assert done.returncode == 4 and set(ways(done)) == {1, 3, 4}, done
    assert "proxy" in ways(done)[3] and "proxy" in ways(done)[4]
    assert "higrad: option 5 cannot run here: " in done.stderr, done


def test_without_dunnage():
    """The library of dunnage.h by itself: the host waits for the stream and calls the MPI."""
    done = run("--json", "--option", "1,3,4,5", preload=False, DUNNAGE_SIM_REACHABLE="1")
    assert done.returncode == 4, done
    assert ways(done) == {1: None, 3: "mpi"}
    for option in (4, 5):
        assert f"higrad: option {option} cannot run here: Dunnage is not preloaded" in done.stderr, done


def test_an_mpi_without_partitioned_messages():
    done = run("--json", name="openmpi", DUNNAGE_TRIGGER="kernels")
    assert done.returncode == 0 and set(ways(done)) == {0, 1, 2, 3, 4}, done
    done = run("--option", "5", name="openmpi", ranks=None)
    assert done.returncode == 2 and "option 5 needs an MPI whose Fortran interface has partitioned" in done.stderr, done


@pytest.mark.parametrize("option", "345")
def test_host_memory_is_refused(option):
    done = run("--option", option, ranks=None, memory="host")
    assert done.returncode == 2 and "higrad: options 3, 4 and 5 need --memory device" in done.stderr, done


def test_the_table_names_the_way():
    done = run(DUNNAGE_TRIGGER="kernels")
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert lines[2].split()[-2:] == ["checksum", "way"]
    assert [line.split()[0] for line in lines[4:]] == list("012345")
    assert [line.split()[-1] for line in lines[7:]] == ["kernels"] * 3
    assert [line[:32].strip() for line in lines[7:]] == [
        "3  a stream starts the messages", "4  a graph", "5  kernels send"]


def test_in_host_memory_the_options_are_those_of_higrad():
    done = run("--json", memory="host")
    assert done.returncode == 0 and set(results(done)) == {0, 1, 2}, done
