"""What holds for all tests that drive programs."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_model_file(tmp_path_factory):
    """What somebody has measured on this machine must not decide what a test finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def cores(request):
    """If tests run beside each other, all ranks of a test share one core: that of the worker.

    A rank that waits polls. On several cores it can keep a core busy that a rank of another test
    needs. The tests take a quarter less time with this. The mark `all_cores` is for tests of what
    ranks or threads do at one time, for which they need cores of their own.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker.startswith("gw"):
        return
    available = sorted(ALL_CORES)
    alone = request.node.get_closest_marker("all_cores") is None
    os.sched_setaffinity(0, {available[int(worker[2:]) % len(available)]} if alone else ALL_CORES)


ALL_CORES = os.sched_getaffinity(0)
