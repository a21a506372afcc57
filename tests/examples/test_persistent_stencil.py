"""examples/cuda/persistent_stencil.cpp on the simulated device. Its threads are threads of the
host, so the grids are small."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installed import BUILD, MPIS, command, launched, yielding  # noqa: E402

LIBRARY = BUILD / "lib" / "libdunnage.so"
SIMULATOR = BUILD / "lib" / "dunnage" / "sim"
KERNEL = BUILD / "tests" / "libstencil_on_host.so"


def run(name, ranks, *arguments, preload=(LIBRARY, KERNEL), **variables):
    mpi = MPIS.get(name)
    program = BUILD / "mpi" / (mpi.programs if mpi else "") / "persistent_stencil"
    if not mpi or not program.exists() or not KERNEL.exists():
        pytest.skip(f"persistent_stencil is not built for {name}")
    variables = {
        "LD_LIBRARY_PATH": ":".join(filter(None, [str(SIMULATOR), mpi.libraries])),
        "LD_PRELOAD": ":".join(map(str, preload)),
        "DUNNAGE_SIM_DEVICES": "4",
        "DUNNAGE_PARTITIONED": "on",
        "DUNNAGE_TRIGGER": "kernels",
        **variables,
    }
    return launched([*command(mpi, ranks, yielding(mpi, variables)), program, *arguments])


@pytest.mark.parametrize("ranks, steps, rows, columns, blocks, threads", [
    (2, 6, 6, 40, 2, 4),
    (3, 5, 5, 24, 2, 2),
    (2, 4, 2, 13, 2, 3),  # no inner rows, and a partition of the whole row
    (2, 4, 3, 8, 2, 2),  # partitions of one cell
    (1, 3, 4, 16, 20, 2),  # a rank that sends to itself, and more blocks than partitions
])
def test_the_plane_is_right(ranks, steps, rows, columns, blocks, threads):
    done = run("mpich", ranks, steps, rows, columns, blocks, threads)
    assert done.returncode == 0 and f"{ranks} ranks, {steps} steps, " in done.stdout, done
    assert done.stdout.rstrip().endswith(" us per step: right"), done


def test_stores_that_are_held_back():
    """The simulated device may show what was sent only after the next fence."""
    done = run("mpich", 2, 6, 6, 40, 2, 4, DUNNAGE_SIM_HOLD_STORES="1")
    assert done.returncode == 0 and done.stdout.rstrip().endswith(": right"), done


def test_without_dunnage():
    done = run("mpich", None, 2, 4, 16, 2, 4, preload=[KERNEL], DUNNAGE_SIM_REACHABLE="1")
    assert done.returncode == 3 and "kernels cannot send by themselves: Dunnage is not preloaded" in done.stderr, done


def test_an_mpi_without_partitioned_communication():
    done = run("openmpi", None)
    assert done.returncode == 3 and "no partitioned communication" in done.stderr, done


def test_without_a_gpu():
    done = run("mpich", None, DUNNAGE_SIM_DEVICES="0")
    assert done.returncode == 3 and "no GPU" in done.stderr, done


def test_wrong_arguments():
    done = run("mpich", None, 0)
    assert done.returncode == 2 and "STEPS" in done.stderr, done
