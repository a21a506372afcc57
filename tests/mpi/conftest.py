"""MPI programs of the build tree, run by the launcher of the MPI that they were built for."""

import collections
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "python")]
from chosen import of_other_turns, share_of  # noqa: E402
from installed import BUILD, MPIS, command, environment, yielding  # noqa: E402
from simulated import simulated  # noqa: E402

PRELOAD = BUILD / "lib" / "libdunnage.so"

ALL_CORES = os.sched_getaffinity(0)


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
    shared = request.node.get_closest_marker("all_cores") is None
    os.sched_setaffinity(0, {available[int(worker[2:]) % len(available)]} if shared else ALL_CORES)


def pytest_collection_modifyitems(items):
    """Skips what another turn of CI runs, in files with the mark `family_in_turns`."""
    tests = collections.defaultdict(list)
    for item in items:
        if item.get_closest_marker("family_in_turns") and hasattr(item, "callspec"):
            tests[item.function].append(item)
    for cases in tests.values():
        left = of_other_turns([item.callspec.params for item in cases])
        for item in cases:
            if item.callspec.params in left:
                item.add_marker(pytest.mark.skip(reason="another turn of CI runs this with another MPI"))


# What a mode adds to the environment of the ranks; the launcher itself is preloaded by `dunnage
# run` only.
MODES = {
    "plain": {},
    "dunnage": {"LD_PRELOAD": str(PRELOAD)},
    "always": {"LD_PRELOAD": str(PRELOAD), "DUNNAGE_FORCE": "always", "DUNNAGE_TICKETS": "always"},
    "tickets": {"LD_PRELOAD": str(PRELOAD), "DUNNAGE_TICKETS": "always"},
    "staged": {"LD_PRELOAD": str(PRELOAD), "DUNNAGE_FORCE": "always", "DUNNAGE_TICKETS": "off"},
}


@dataclasses.dataclass
class Run:
    code: int
    output: str
    errors: str

    @property
    def finished(self):
        return re.search(r"^contract \w+: \d+ checks, \d+ failed$", self.output, re.M) is not None

    @property
    def failures(self):
        """The names of the checks that failed on any rank."""
        return set(re.findall(r'^FAIL .*?check="(.*?)"', self.errors, re.M))

    def __str__(self):
        return f"exit code {self.code}\n{self.output[-3000:]}\n{self.errors[-6000:]}"


def execute(words, limit, **variables):
    """Runs the launcher in a session of its own, so that after a hang no rank is left behind."""
    with subprocess.Popen(
        words,
        env={**environment(), "CONTRACT_TIMEOUT": "150", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                output, errors = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
            errors += f"\nnot finished within {limit} s\n"
    return Run(process.returncode, output, errors)


def executable(mpi, program):
    """The words that start a program; contract_NAME, contract_gpu_NAME, and those about streams are
    in one executable each."""
    folder = BUILD / "mpi" / mpi.programs
    if program in ("contract_gpu_triggered", "contract_gpu_kernels"):
        return [folder / "contracts_triggered", program.removeprefix("contract_")]
    if program.startswith("contract_gpu_"):
        return [folder / "contracts_gpu", program.removeprefix("contract_gpu_")]
    if program.startswith("contract_"):
        return [folder / "contracts", program.removeprefix("contract_")]
    return [folder / program]


@pytest.fixture(scope="session")
def run_words():
    """run_words(words, limit) for what `launch` does not know."""
    return execute


@pytest.fixture(scope="session")
def launch():
    """launch("mpich", "contract_pack", ranks=1, mode="always"); what was run before is not run
    again. `through`: words that start each rank's program."""
    done = {}

    def call(name, program, *arguments, ranks=2, mode="plain", limit=200, through=(), **variables):
        mpi = MPIS.get(name)
        if not mpi:
            pytest.skip(f"no {name} here")
        path, *name_inside = executable(mpi, program)
        if not path.exists():
            pytest.skip(f"{path} is not built")
        if mode != "plain" and not PRELOAD.exists():
            pytest.skip(f"{PRELOAD} is not built")
        key = name, program, arguments, ranks, mode, through, tuple(variables.items())
        if key not in done:
            words = command(mpi, ranks, yielding(mpi, {**MODES[mode], **variables}))
            words += [*through, path, *name_inside, *map(str, arguments)]
            done[key] = execute(words, limit, CONTRACT_SHARE=share_of(name, program))
        return done[key]

    return call


@pytest.fixture
def passes(launch):
    """Runs a program on the simulated device with the settings `variables`; it must pass."""

    def run(flavour, program, *arguments, ranks=2, mode="dunnage", limit=300, **variables):
        done = launch(
            flavour, program, *arguments, ranks=ranks, mode=mode, limit=limit, **simulated(flavour, **variables)
        )
        assert done.finished and done.code == 0 and not done.failures, done
        return done

    return run
