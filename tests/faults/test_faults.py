"""A few of the faults of faults.py, and its own tests."""

import os
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import faults  # noqa: E402
import soak  # noqa: E402

FLAVOURS = [name for name in ("openmpi", "mpich") if name in faults.MPIS]
STEPS = [name for name, step in faults.STEPS.items() if step.program == "traffic" or faults.SIM.exists()]
pytestmark = pytest.mark.skipif(not faults.PRELOAD.exists(), reason="the library is not built")


@pytest.fixture(params=FLAVOURS)
def mpi(request):
    return faults.MPIS[request.param]


@pytest.mark.parametrize("how", faults.HOWS)
def test_faults(mpi, how):
    """One step for each kind of fault and MPI. The instants are fixed, as far as they can be."""
    step = STEPS[(faults.HOWS.index(how) + 3 * FLAVOURS.index(mpi.name)) % len(STEPS)]
    verdict = faults.suffer(mpi, step, how, f"{step}:{how}")
    assert not verdict.faults, f"{step}, {how}: {verdict}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make these surroundings")
@pytest.mark.parametrize("name", ["full /dev/shm", "40 open files", "1024 MiB of addresses"])
def test_surroundings(mpi, name):
    _, ours = faults.survive(mpi, name)
    assert not ours.faults, ours


def test_wrong_bytes_and_hangs_are_found(mpi, monkeypatch):
    monkeypatch.setattr(faults, "SECONDS", 2)
    monkeypatch.setattr(faults, "STEPS", {"tickets": faults.Step("no_such_program", "tickets")})
    assert not faults.suffer(mpi, "tickets", "kill sender", 1).completed
    assert "does not end well" in faults.suffer(mpi, "tickets", "stop", 1).faults
    monkeypatch.setattr(faults, "command", lambda *_: ["sh", "-c", "echo WRONG; sleep 60"])
    assert faults.run(mpi, "traffic", [], {}).faults == ["hangs", "wrong bytes"]


def test_soak(mpi):
    well, _, text = soak.examine(mpi, 3, rounds=20000)
    assert well, text


def test_growth_is_told():
    assert soak.growth("memory after 10000 rounds, KiB: 10 20\nmemory after 30000 rounds, KiB: 2000 25\n") == 1990
    assert soak.growth("memory after 300 rounds, KiB: 10 20\n") is None


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb")
@pytest.mark.parametrize("how", faults.HOWS_AT_CALLS)
def test_faults_at_calls(mpi, how):
    """A fault at a call of one of Dunnage's functions, which is told."""
    step = STEPS[(faults.HOWS_AT_CALLS.index(how) + 4 * FLAVOURS.index(mpi.name)) % len(STEPS)]
    verdict = faults.suffer(mpi, step, how, "1", True)
    assert not verdict.faults and "fault in: " in verdict.output, f"{step}, {how}: {verdict}"
