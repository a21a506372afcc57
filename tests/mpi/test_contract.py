"""The MPI contract: what these programs may see of Dunnage is nothing.

Each program checks itself. What fails without Dunnage is the MPI's own and may fail with it; nothing else may.
"""
import json
import os

import pytest

FLAVOURS = ["openmpi", "mpich"]
PROGRAMS = [  # with the numbers of ranks that bring something new
    ("blocking", 2), ("blocking", 3), ("communicators", 4), ("mixed", 2), ("nonblocking", 2), ("nonblocking", 4),
    ("pack", 1), ("persistent", 2), ("probe", 2), ("threads", 2),
]
SECONDS = int(os.environ.get("DUNNAGE_RANDOM_SECONDS", "10"))


def judge(run, plain):
    if not plain.finished:
        pytest.skip(f"this MPI does not get through by itself: {sorted(plain.failures)}")
    new = run.failures - plain.failures
    assert not new, f"fails only with Dunnage: {sorted(new)}\n{run}"
    assert run.finished, f"does not finish with Dunnage\n{run}"
    assert run.code == 0 or run.failures, f"fails without saying why\n{run}"


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("program, ranks", PROGRAMS)
class TestContract:
    def test_plain(self, launch, flavour, program, ranks):
        run = launch(flavour, f"contract_{program}", ranks=ranks)
        if run.failures:
            pytest.xfail(f"this MPI's own: {sorted(run.failures)[:5]}")
        assert run.finished and run.code == 0, run

    @pytest.mark.parametrize("mode", ["dunnage", "always"])
    def test_with_dunnage(self, launch, flavour, program, ranks, mode):
        plain = launch(flavour, f"contract_{program}", ranks=ranks)
        judge(launch(flavour, f"contract_{program}", ranks=ranks, mode=mode), plain)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("mode, ranks, share", [("dunnage", 1, 0.2), ("always", 1, 0.4), ("always", 2, 0.4)])
def test_random_types(launch, flavour, mode, ranks, share):
    run = launch(flavour, "contract_random", max(1, round(share * SECONDS)), ranks=ranks, mode=mode, limit=SECONDS + 60)
    print(run.output[:3000])
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", ["openmpi"])  # some MPICHs divide by zero on such types, by themselves
def test_random_types_with_empty_members(launch, flavour):
    run = launch(flavour, "contract_random", "-e", max(1, round(0.2 * SECONDS)), ranks=1, mode="always",
                 limit=SECONDS + 60)
    print(run.output[:3000])
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_quirks_are_told(launch, flavour):
    run = launch(flavour, "contract_quirks", ranks=1)
    assert run.code == 0, run
    families = [json.loads(line) for line in run.output.splitlines()]
    assert families and all(family["wrong"] <= family["of"] for family in families)
    for family in families:
        if any(family[how] for how in ("wrong", "unpack", "send", "receive", "crash")):
            print(family)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_programs_are_preloaded(launch, flavour, tmp_path):
    """Or all of the above would prove nothing."""
    report = tmp_path / "report.json"
    run = launch(flavour, "contract_pack", ranks=1, mode="always", DUNNAGE_REPORT=str(report))
    assert run.finished, run
    calls = json.loads(report.read_text())["calls"]
    assert calls["MPI_Pack"]["accelerated"] > 0 and calls["MPI_Unpack"]["accelerated"] > 0


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("mode", ["plain", "dunnage", "always"])
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_halo_exchange(launch, flavour, mode, ranks):
    run = launch(flavour, "halo3d", 24, 3, ranks=ranks, mode=mode)
    assert run.code == 0 and "verified" in run.output, run
