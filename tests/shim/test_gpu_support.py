"""What programs are told that ask whether they may give device memory to the MPI."""

import os
import shutil
import subprocess

import pytest

from installed import MPIS, command

KINDS = "mpi,system,cuda,cuda:host,cuda:device,cuda:managed"
NAMED = ["MPIX_Query_cuda_support", "MPIX_GPU_query_support"]


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def probe(request, build, root, root_environment, tmp_path_factory):
    """probe("cuda", SETTING="value", preload=True): the answers by question."""
    flavour = request.param
    wrapper = shutil.which(f"mpicc.{flavour}")
    if not wrapper or flavour not in MPIS:
        pytest.skip(f"no mpicc.{flavour} here")
    folder = tmp_path_factory.mktemp(flavour)
    source = root / "tests/shim/gpu_support.c"
    subprocess.run([wrapper, source, "-o", folder / "program", "-ldl"], check=True)

    def ask(*arguments, preload=True, **settings):
        variables = {"LD_LIBRARY_PATH": str(build / "lib/dunnage/sim"), **settings}
        if preload:
            variables["LD_PRELOAD"] = str(build / "lib/libdunnage.so")
        run = subprocess.run(
            [*command(MPIS[flavour], 2, variables), folder / "program", *arguments],
            env=root_environment,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=folder,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return dict(line.split(": ", 1) for line in run.stdout.splitlines() if ": " in line)

    ask.flavour = flavour
    return ask


@pytest.fixture(scope="module")
def sim(build):
    if not (build / "lib/dunnage/sim").exists():
        pytest.skip("built without the simulated device")


def test_yes_with_a_device(probe, sim):
    answers = probe("cuda")
    asked = ["MPIX_Query_cuda_support"] if probe.flavour == "openmpi" else ["MPIX_GPU_SUPPORT_CUDA"]
    for name in asked + [f"{name} by name" for name in NAMED]:
        assert answers[name] == "1", answers
    assert answers["a type that there is not"] == "0"
    # What the MPI's header says stays as it is.
    assert answers.get("compiled in", "0") == "0"
    assert all(answers.get(f"MPIX_GPU_SUPPORT_{kind}", "0") == "0" for kind in ("ZE", "HIP"))


def test_kinds_with_a_device(probe, sim):
    answers = probe("cuda")
    for name in ("MPI_INFO_ENV", "duplicate", "communicator", "window", "file"):
        assert answers[name] == KINDS, answers
    assert answers.get("session", KINDS) == KINDS
    # Memory that is attached to a window must be the host's.
    assert answers["dynamic window"] == probe("cuda", preload=False)["dynamic window"]


@pytest.mark.parametrize(
    "arguments, settings",
    [
        ([], {}),
        (["cuda"], {"DUNNAGE_DEVICE": "off"}),
        (["cuda"], {"DUNNAGE_FORCE": "never"}),
        (["cuda"], {"DUNNAGE": "off"}),
    ],
    ids=["no driver", "device off", "force never", "off"],
)
def test_as_without_dunnage(probe, sim, arguments, settings):
    if not arguments and os.path.exists("/dev/nvidiactl"):
        pytest.skip("this machine has a GPU")
    plain = probe(*arguments, preload=False)
    answers = probe(*arguments, **settings)
    # A function that the MPI lacks is found, and says no.
    for name in NAMED:
        assert answers.pop(f"{name} by name") == plain.pop(f"{name} by name", "0")
    assert answers.pop("a type that there is not") == plain.pop("a type that there is not", answers_for_off(settings))
    assert answers == plain


def answers_for_off(settings):
    """Without hooks nobody looks at the type: the answer is no for all types, and no error."""
    return "1" if settings.get("DUNNAGE") == "off" else "0"


def test_device_is_asked_for_later(probe, sim):
    """A program may ask before it loads the driver, so the driver itself need not be there. Here it
    is loaded by Dunnage."""
    assert probe(DUNNAGE_TEST="sim")["MPIX_Query_cuda_support by name"] == "1"
