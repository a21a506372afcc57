"""Contract programs on a Dunnage with AddressSanitizer and UndefinedBehaviorSanitizer
(scripts/build.sh asan preload)."""

import re
import subprocess
from pathlib import Path

import pytest
from installed import BUILD
from test_contract import judge

PRELOAD = BUILD.parent / "build-asan" / "lib" / "libdunnage.so"
SUPPRESSIONS = Path(__file__).with_name("asan.supp")
# scripts/build.sh builds for one family with sanitizers.
FLAVOURS = [f for f in ("openmpi", "mpich") if (PRELOAD.parent / "dunnage" / f"libdunnage-{f}.so").exists()]
# The MPIs leak, and the programs are not built with sanitizers.
OPTIONS = f"detect_leaks=0:verify_asan_link_order=0:suppressions={SUPPRESSIONS}"


def runtime():
    """The library that must be loaded first."""
    return subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    "program, ranks",
    [("blocking", 2), ("nonblocking", 2), ("persistent", 2), ("large", 3), ("pack", 1), ("communicators", 2)],
)
def test_nothing_is_found(launch, flavour, program, ranks):
    run = sanitized(launch, flavour, program, ranks, DUNNAGE_FORCE="always", DUNNAGE_TICKETS="always")
    judge(run, lambda: launch(flavour, f"contract_{program}", ranks=ranks))


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", [{}, {"CONTRACT_SEED": "44499155"}], ids=["any", "44499155"])
def test_nothing_is_found_on_devices(launch, flavour, seed):
    sim = PRELOAD.parent / "dunnage" / "sim"
    if not sim.exists():
        pytest.skip("built without CUDA's header")
    run = sanitized(launch, flavour, "gpu_pack", 1, LD_LIBRARY_PATH=str(sim), DUNNAGE_SIM_DELAY="20", **seed)
    assert run.finished and not run.failures, run


def sanitized(launch, flavour, program, ranks, **variables):
    if not PRELOAD.exists():
        pytest.skip(f"{PRELOAD} is not built")
    run = launch(
        flavour,
        f"contract_{program}",
        ranks=ranks,
        mode="plain",
        limit=300,
        ASAN_OPTIONS=OPTIONS,
        LD_PRELOAD=f"{runtime()}:{PRELOAD}",
        **variables,
    )
    found = re.findall(r"ERROR: AddressSanitizer.*|.*runtime error:.*", run.errors)
    assert not found, "\n".join(found[:5]) + str(run)
    return run
