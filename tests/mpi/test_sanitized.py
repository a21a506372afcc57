"""Contract programs on a Dunnage with AddressSanitizer and UndefinedBehaviorSanitizer
(scripts/build.sh asan preload), and with ThreadSanitizer (scripts/build.sh tsan preload)."""

import re
import subprocess

import pytest
from chosen import ALL
from installed import SANITIZED, SANITIZED_THREADS, YIELDING, sanitized, sanitized_threads
from test_contract import judge

# scripts/build.sh builds for one family with sanitizers.
FLAVOURS = [f for f in ("openmpi", "mpich") if (SANITIZED.parent / "dunnage" / f"libdunnage-{f}.so").exists()]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    "program, ranks",
    [("blocking", 2), ("nonblocking", 2), ("persistent", 2), ("large", 3), ("pack", 1), ("communicators", 2)],
)
def test_nothing_is_found(launch, tmp_path, flavour, program, ranks):
    settings = {"DUNNAGE_FORCE": "always", "DUNNAGE_TICKETS": "always", "DUNNAGE_EXPLAIN": str(tmp_path / "types.json")}
    run = run_sanitized(launch, flavour, program, ranks, **settings)
    judge(run, lambda: launch(flavour, f"contract_{program}", ranks=ranks))


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", [{}, {"CONTRACT_SEED": "44499155"}], ids=["any", "44499155"])
def test_nothing_is_found_on_devices(launch, flavour, seed):
    sim = SANITIZED.parent / "dunnage" / "sim"
    if not sim.exists():
        pytest.skip("built without CUDA's header")
    run = run_sanitized(launch, flavour, "gpu_pack", 1, LD_LIBRARY_PATH=str(sim), DUNNAGE_SIM_DELAY="20", **seed)
    assert run.finished and not run.failures, run


def run_sanitized(launch, flavour, program, ranks, **variables):
    backend = SANITIZED.parent / "dunnage" / f"libdunnage-{flavour}.so"
    if not backend.exists():  # without it the program would run plain
        pytest.skip(f"{backend} is not built")
    run = launch(
        flavour,
        f"contract_{program}",
        ranks=ranks,
        mode="plain",
        limit=300,
        **sanitized(),
        **variables,
    )
    found = re.findall(r"ERROR: AddressSanitizer.*|.*runtime error:.*", run.errors)
    assert not found, "\n".join(found[:5]) + str(run)
    return run


# With all: whatever starts threads or works beside them.
THREADS = [("threads", 2), ("bcast_threads", 2), ("gpu_staged", 2)]
if ALL:
    THREADS += [("ibcast", 3), ("large", 2), ("rings", 2), ("gpu_bcast", 2), ("gpu_channels", 2), ("gpu_chain", 2)]
    THREADS += [("gpu_lines", 2), ("gpu_messages", 2), ("gpu_progress", 2), ("gpu_reductions", 2), ("gpu_windows", 2)]

# The first call waits for a second thread. So no lock of the MPI lies between their writes, which
# would put them in order for the sanitizer.
RACE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
long calls;
int inside;
int MPI_Waitall(int n, void* requests, void* statuses) {
  __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
  for (int ms = 0; __atomic_load_n(&inside, __ATOMIC_RELAXED) < 2 && ms < 20000; ++ms) usleep(1000);
  calls = calls * 3 + 1;
  return ((int (*)(int, void*, void*))dlsym(RTLD_NEXT, "MPI_Waitall"))(n, requests, statuses);
}
"""


@pytest.mark.parametrize("program, ranks", THREADS)
def test_no_race_is_found(launch, program, ranks):
    if not (SANITIZED_THREADS.parent / "dunnage" / "libdunnage-mpich.so").exists():
        pytest.skip(f"{SANITIZED_THREADS} is not built")
    device = {}
    if program.startswith("gpu_"):
        sim = SANITIZED_THREADS.parent / "dunnage" / "sim"
        if not sim.exists():
            pytest.skip("built without CUDA's header")
        device = {"LD_LIBRARY_PATH": str(sim), "DUNNAGE_SIM_DELAY": "20"}
    if program == "gpu_staged":
        device["DUNNAGE_ROSTER"] = "none"  # it expects what holds where nobody knows that all ranks have Dunnage
    run = with_threads(launch, program, ranks, sanitized_threads(), **device)
    assert "WARNING: ThreadSanitizer" not in run.errors, run
    assert run.finished and run.code == 0 and not run.failures, run


def test_no_race_is_found_in_the_proxy(launch):
    sim = SANITIZED_THREADS.parent / "dunnage" / "sim"
    if not sim.exists():
        pytest.skip("built without CUDA's header")
    settings = {"DUNNAGE_TRIGGER": "proxy", "DUNNAGE_PARTITIONED": "on", "DUNNAGE_SIM_DEVICES": "2"}
    run = with_threads(
        launch, "gpu_triggered", 2, sanitized_threads(), "proxy", LD_LIBRARY_PATH=str(sim), **settings
    )
    assert "WARNING: ThreadSanitizer" not in run.errors, run
    assert run.finished and run.code == 0 and not run.failures, run


def test_a_race_is_found(launch, tmp_path):
    """Or the test above would prove nothing."""
    source, library = tmp_path / "race.c", tmp_path / "librace.so"
    source.write_text(RACE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-fsanitize=thread", "-o", library, source], check=True)
    run = with_threads(launch, "threads", 2, sanitized_threads(library))
    assert "WARNING: ThreadSanitizer: data race" in run.errors, run


def with_threads(launch, program, ranks, variables, *arguments, **more):
    """The sanitizer of GCC 12 does not start with the address randomisation of newer kernels. So
    `setarch` turns that off, and is not preloaded itself."""
    if subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode != 0:
        pytest.skip("address randomisation cannot be turned off here")
    preloaded = f"LD_PRELOAD={variables.pop('LD_PRELOAD')}:{YIELDING}"
    return launch(
        "mpich",
        f"contract_{program}",
        *arguments,
        ranks=ranks,
        limit=300,
        through=("setarch", "-R", "env", preloaded),
        DUNNAGE_FORCE="always",
        DUNNAGE_TICKETS="always",
        DUNNAGE_NEIGHBOURS="on",
        CONTRACT_OUR_NEIGHBOURS="1",
        **variables,
        **more,
    )
