"""Contract programs on a Dunnage with AddressSanitizer and UndefinedBehaviorSanitizer
(scripts/build.sh asan preload)."""

import re

import pytest
from installed import SANITIZED, sanitized
from test_contract import judge

# scripts/build.sh builds for one family with sanitizers.
FLAVOURS = [f for f in ("openmpi", "mpich") if (SANITIZED.parent / "dunnage" / f"libdunnage-{f}.so").exists()]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(
    "program, ranks",
    [("blocking", 2), ("nonblocking", 2), ("persistent", 2), ("large", 3), ("pack", 1), ("communicators", 2)],
)
def test_nothing_is_found(launch, flavour, program, ranks):
    run = run_sanitized(launch, flavour, program, ranks, DUNNAGE_FORCE="always", DUNNAGE_TICKETS="always")
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
    if not SANITIZED.exists():
        pytest.skip(f"{SANITIZED} is not built")
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
