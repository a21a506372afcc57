"""Exchanges that streams start and wait for (include/dunnage.h), on the simulated device."""

import pytest

from conftest import PRELOAD, execute  # noqa: F401
from installed import BUILD, MPIS, command, yielding
from simulated import simulated

pytestmark = pytest.mark.family_in_turns

# Which way the exchanges must take, and the settings that lead there.
KERNELS = ("kernels", {"DUNNAGE_TRIGGER": "kernels"})
OPERATIONS = ("memory-operations", {"DUNNAGE_TRIGGER": "memory-operations"})
BY_MPI = ("mpi", {"DUNNAGE_TRIGGER": "mpi"})
# As graphs that are recorded when the exchange is matched.
GRAPHS = {"DUNNAGE_LAUNCH": "graphs"}
# A thread of the host does the messages with other ranks, as between hosts.
PROXY = ("proxy", {"DUNNAGE_TRIGGER": "proxy"})
# Kernels or memory operations: each rank measures, so ranks may differ.
AUTO = ("auto", {"DUNNAGE_TRIGGER": "auto", "DUNNAGE_SIM_KERNEL_TIME": "200"})


def run(flavour, ranks, way, *arguments, contract="gpu_triggered", preload=True, launcher=(), wrapper=(), **variables):
    """Runs a contract program, and returns what it says."""
    mpi = MPIS.get(flavour)
    program = BUILD / "mpi" / (mpi.programs if mpi else "") / "contracts_triggered"
    if not mpi or not program.exists():
        pytest.skip(f"no {flavour} here, or not built for it")
    settings = {
        **simulated(flavour, DUNNAGE_SIM_DELAY="5", DUNNAGE_SIM_DEVICES="4", **variables),
        **({"LD_PRELOAD": str(PRELOAD), "DUNNAGE_PARTITIONED": "on"} if preload else {}),
    }
    words = command(mpi, ranks, yielding(mpi, settings))
    words = [words[0], *launcher, *words[1:]]
    return execute([*words, *wrapper, program, contract, way, *map(str, arguments)], 200)


def right(done):
    assert done.finished and done.code == 0 and not done.failures, done


@pytest.mark.parametrize("flavour, ranks", [("mpich", 1), ("mpich", 2), ("mpich", 4), ("openmpi", 3)])
def test_kernels(flavour, ranks):
    right(run(flavour, ranks, *KERNELS[:1], **KERNELS[1]))


@pytest.mark.parametrize("flavour, ranks", [("mpich", 1), ("mpich", 4), ("openmpi", 2)])
def test_memory_operations(flavour, ranks):
    right(run(flavour, ranks, OPERATIONS[0], **OPERATIONS[1]))


@pytest.mark.parametrize("flavour, ranks", [("mpich", 4), ("openmpi", 2)])
def test_the_faster_way(flavour, ranks):
    right(run(flavour, ranks, AUTO[0], **AUTO[1]))


@pytest.mark.parametrize("flavour, ranks", [("mpich", 1), ("mpich", 3), ("openmpi", 2)])
def test_the_proxy(flavour, ranks):
    right(run(flavour, ranks, PROXY[0], **PROXY[1]))


def test_the_proxy_where_ranks_share_a_gpu():
    right(run("mpich", 2, PROXY[0], **PROXY[1], CONTRACT_SHARED_DEVICE="1"))


def test_without_threads_there_is_no_proxy():
    right(run("mpich", 2, BY_MPI[0], **PROXY[1]))


def test_one_rank_by_the_proxy(tmp_path):
    """As if it were on another host. The exchanges of the others are direct."""
    script = tmp_path / "rank_2.sh"
    script.write_text('[ "$PMI_RANK" != 2 ] || export DUNNAGE_TRIGGER=proxy\nexec "$@"\n')
    right(run("mpich", 4, "mixed", wrapper=["sh", script]))


@pytest.mark.parametrize("fault", ["cuMemAllocHost", "cuMemcpyAsync"])
@pytest.mark.parametrize("trigger", ["proxy", "kernels"])
def test_what_fails_on_one_rank(tmp_path, fault, trigger):
    """The messages go by the MPI, or both ranks get an error, and no stream waits for ever."""
    script = tmp_path / "rank_1.sh"
    script.write_text('[ "$PMI_RANK" = 0 ] || export DUNNAGE_SIM_FAIL=$1\nshift\nexec "$@"\n')
    for after in range(8):
        right(run("mpich", 2, "fails", wrapper=["sh", script, f"{fault}:{after}:2"], DUNNAGE_TRIGGER=trigger))


@pytest.mark.parametrize(
    "contract, ways", [("gpu_triggered", "kernels memory-operations"), ("gpu_kernels", "kernels auto")]
)
def test_ranks_that_wait_in_different_ways(tmp_path, contract, ways):
    """Even ranks wait in the first way, odd ranks in the second."""
    script = tmp_path / "by_rank.sh"
    script.write_text(
        f"set -- {ways} \"$@\"\n"
        "way=$1; [ $((${PMI_RANK:-$OMPI_COMM_WORLD_RANK} % 2)) = 0 ] || way=$2\n"
        'DUNNAGE_TRIGGER=$way exec "$3" "$4" "$way"\n'
    )
    right(run("mpich", 3, "", contract=contract, wrapper=["sh", script]))


@pytest.mark.parametrize(
    "flavour, ranks, way, contract",
    [("mpich", 3, KERNELS, "gpu_triggered"), ("openmpi", 2, AUTO, "gpu_triggered"),
     ("mpich", 2, PROXY, "gpu_triggered"), ("mpich", 2, KERNELS, "gpu_kernels")],
)
def test_recorded_exchanges(flavour, ranks, way, contract):
    right(run(flavour, ranks, way[0], contract=contract, **way[1], **GRAPHS))


@pytest.mark.parametrize("fault", ["cuStreamBeginCapture:0", "cuStreamEndCapture:1", "cuGraphInstantiate:18",
                                   "cuGraphUpload:2", "cuGraphGetNodes:3"])
def test_recordings_that_fail(fault):
    """The exchange then launches kernels."""
    right(run("mpich", 2, KERNELS[0], **KERNELS[1], **GRAPHS, DUNNAGE_SIM_FAIL=f"{fault}:99"))


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_by_the_mpi(flavour):
    right(run(flavour, 2, BY_MPI[0], **BY_MPI[1]))


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_without_dunnage(flavour):
    """The MPIs of the test machines know no GPUs, but here they reach device memory."""
    right(run(flavour, 2, "mpi", preload=False, DUNNAGE_SIM_REACHABLE="1"))


@pytest.mark.parametrize("flavour, ranks", [("mpich", 1), ("mpich", 3), ("openmpi5", 2)])
def test_kernels_that_send_by_themselves(flavour, ranks):
    right(run(flavour, ranks, KERNELS[0], contract="gpu_kernels", **KERNELS[1]))


@pytest.mark.parametrize("way, settings", [OPERATIONS, AUTO, BY_MPI])
def test_streams_that_send_partitions(way, settings):
    right(run("mpich", 2, way, contract="gpu_kernels", **settings))


def test_partitions_without_dunnage():
    """Open MPI takes strided partitions from the wrong places."""
    right(run("mpich", 2, "mpi", contract="gpu_kernels", preload=False, DUNNAGE_SIM_REACHABLE="1"))


def test_ranks_that_share_a_gpu_do_not_poll():
    right(run("mpich", 2, "memory-operations", DUNNAGE_TRIGGER="kernels", CONTRACT_SHARED_DEVICE="1"))


def test_ranks_that_share_a_gpu_by_mps_poll():
    right(run("mpich", 2, "kernels", DUNNAGE_TRIGGER="kernels", CONTRACT_SHARED_DEVICE="1", DUNNAGE_SIM_MPS="1"))


@pytest.mark.parametrize("way, settings", [KERNELS, OPERATIONS])
@pytest.mark.parametrize("seed", [1, 2])
def test_many_exchanges_with_random_delays(way, settings, seed):
    """scripts/gpu/contracts.sh does a million on GPUs."""
    right(run("mpich", 3, way, "600", str(seed), contract="triggered_soak", **settings))


def test_blocking_launches_are_refused():
    right(run("mpich", 2, "mpi", CUDA_LAUNCH_BLOCKING="1"))


@pytest.mark.parametrize("way, settings, blocks", [(*KERNELS, 2), (*OPERATIONS, 1), (*PROXY, 2)])
def test_a_late_rank_holds_up_one_stream_alone(way, settings, blocks):
    """A kernel that waits for few bytes is one block, and memory operations need none. Starts and
    waits hang here if the match has not loaded all kernels."""
    device = {"DUNNAGE_SIM_BLOCKS": str(blocks), "DUNNAGE_SIM_BLOCKING": "1"}
    right(run("mpich", 2, way, "late", **settings, **device))


def test_moves_that_wait_leave_room_for_others():
    """All blocks of a move may wait, but not if the device has too few multiprocessors."""
    for blocks in (4, 1024):
        right(run("mpich", 2, KERNELS[0], "late", "12000", **KERNELS[1], DUNNAGE_SIM_BLOCKS=str(blocks)))


def test_a_recorded_exchange_waits_for_nobody_else():
    """Starts and waits make no graph, which would wait for the kernels that run."""
    device = {"DUNNAGE_SIM_BLOCKS": "2", "DUNNAGE_SIM_BLOCKING": "1"}
    right(run("mpich", 2, KERNELS[0], "late", **KERNELS[1], **GRAPHS, **device))


def test_kernels_that_wait_starve_others():
    """The trap itself: the device has place for one block only. The job ends with the code `stuck`
    of the program: a launcher may lose the output of a job that is aborted."""
    device = {"DUNNAGE_SIM_BLOCKS": "1", "CONTRACT_PATIENCE": "300"}
    done = run("mpich", 2, KERNELS[0], "late", **KERNELS[1], **device)
    assert done.code == 95, done


def test_streams_that_share_a_hardware_queue_hold_up_each_other():
    """The trap, and that enough queues avoid it."""
    for queues, code in ((1, 95), (16, 0)):
        device = {"CUDA_DEVICE_MAX_CONNECTIONS": str(queues), "CONTRACT_PATIENCE": "300" if code else "60000"}
        for way, settings in (KERNELS, OPERATIONS):
            done = run("mpich", 2, way, "late", **settings, **device)
            assert done.code == code, done


@pytest.mark.parametrize("way, settings", [KERNELS, OPERATIONS, PROXY])
def test_one_hardware_queue(way, settings):
    """Exchanges that all ranks start and await in one order need no more."""
    right(run("mpich", 2, way, **settings, CUDA_DEVICE_MAX_CONNECTIONS="1"))


def test_blocks_of_a_grid_that_wait_for_each_other():
    """The trap of a grid that is larger than what is resident."""
    for blocks, code in ((1, 95), (2, 0)):
        device = {"DUNNAGE_SIM_BLOCKS": str(blocks), "CONTRACT_PATIENCE": "300" if code else "60000"}
        done = run("mpich", 1, KERNELS[0], "fenced", contract="gpu_kernels", **KERNELS[1], **device)
        assert done.code == code, done


def test_a_missing_fence_gives_wrong_bytes():
    """The trap: the flag is seen before the value that it tells of."""
    for holds, fence, wrong in (("1", "unfenced", True), ("1", "fenced", False), ("0", "unfenced", False)):
        device = {"DUNNAGE_SIM_HOLD_STORES": holds}
        done = run("mpich", 1, KERNELS[0], fence, contract="gpu_kernels", **KERNELS[1], **device)
        assert (done.code != 0) == wrong and bool(done.failures) == wrong, (holds, fence, done)


@pytest.mark.parametrize("contract", ["gpu_triggered", "gpu_kernels"])
def test_kernels_whose_stores_are_held_back(contract):
    right(run("mpich", 3, KERNELS[0], contract=contract, **KERNELS[1], DUNNAGE_SIM_HOLD_STORES="1"))


@pytest.mark.parametrize("way, settings", [KERNELS, OPERATIONS, PROXY])
def test_a_rank_that_ends_releases_the_streams_of_others(way, settings):
    done = run("mpich", 2, way, "dies", launcher=["-disable-auto-cleanup"], **settings)
    assert "survived 0" in done.output and not done.failures, done


def test_a_rank_that_ends_releases_the_kernels_of_others():
    done = run("mpich", 2, KERNELS[0], "dies", contract="gpu_kernels", launcher=["-disable-auto-cleanup"], **KERNELS[1])
    assert "survived 0" in done.output and not done.failures, done


COMPAT = ["compat_acx", "compat_acx_repeat", "compat_stream", "compat_stream_repeat"]


@pytest.mark.parametrize("flavour, ranks", [("mpich", 1), ("mpich", 3), ("openmpi", 2)])
@pytest.mark.parametrize("contract", COMPAT)
def test_calls_of_other_interfaces(flavour, ranks, contract):
    """include/compat"""
    right(run(flavour, ranks, "direct" if ranks > 1 else "mpi", contract=contract))


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
@pytest.mark.parametrize("contract", COMPAT)
def test_calls_of_other_interfaces_without_dunnage(flavour, contract):
    right(run(flavour, 2, "mpi", contract=contract, preload=False, DUNNAGE_SIM_REACHABLE="1"))


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
def test_the_example(launch, flavour):
    settings = simulated(flavour, DUNNAGE_PARTITIONED="on")
    done = launch(flavour, "stream_ring", 100, ranks=3, mode="dunnage", **settings)
    assert done.code == 0 and "100 steps, 0 wrong" in done.output, done


@pytest.mark.parametrize("flavour", ["mpich", "openmpi"])
@pytest.mark.parametrize("interface", ["mpif", "mpi_module", "f08"])
def test_fortran(launch, flavour, interface):
    """The module dunnage (include/dunnage.f90)."""
    settings = simulated(flavour, DUNNAGE_PARTITIONED="on", DUNNAGE_SIM_DEVICES="2", **KERNELS[1])
    done = launch(flavour, f"f90_triggered_{interface}", "kernels", ranks=2, mode="dunnage", **settings)
    assert done.code == 0 and "triggered: verified" in done.output, done
