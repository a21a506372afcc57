"""Programs that load CUDA's driver after they have made their communicators."""

import json
import shutil
import subprocess

import pytest

from installed import MPIS, command

# The simulated device has no device file.
DEVICE_FILE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
int access(const char* path, int how) {
  int (*next)(const char*, int) = (int (*)(const char*, int))dlsym(RTLD_NEXT, "access");
  return strcmp(path, "/dev/nvidiactl") == 0 ? 0 : next(path, how);
}
"""


@pytest.fixture(scope="module")
def with_device_file(build, tmp_path_factory):
    if not (build / "lib/dunnage/sim").exists():
        pytest.skip("built without the simulated device")
    folder = tmp_path_factory.mktemp("device-file")
    (folder / "file.c").write_text(DEVICE_FILE)
    subprocess.run(["cc", "-shared", "-fPIC", folder / "file.c", "-o", folder / "file.so", "-ldl"], check=True)
    return folder / "file.so"


@pytest.mark.parametrize("flavour, ranks", [("openmpi", 2), ("mpich", 1), ("mpich", 2), ("mpich", 3)])
def test_neighbour_collectives(build, root, root_environment, with_device_file, flavour, ranks, tmp_path):
    """Also on rings of one and of two ranks, where two edges lead to one rank."""
    wrapper = shutil.which(f"mpicc.{flavour}")
    if not wrapper or flavour not in MPIS:
        pytest.skip(f"no mpicc.{flavour} here")
    program, report = tmp_path / "program", tmp_path / "report.json"
    source = root / "tests/shim/late_driver.c"
    subprocess.run([wrapper, "-I", root / "src", source, "-o", program, "-ldl"], check=True)
    variables = {
        "LD_LIBRARY_PATH": str(build / "lib/dunnage/sim"),
        "LD_PRELOAD": f"{with_device_file}:{build / 'lib/libdunnage.so'}",
        "DUNNAGE_NEIGHBOURS": "on",
        "DUNNAGE_COLLECTIVES": "on",  # so that the ranks share memory without a roster
        "DUNNAGE_REPORT": str(report),
    }
    run = subprocess.run([*command(MPIS[flavour], ranks, variables), program], env=root_environment,
                         capture_output=True, text=True, timeout=120, cwd=tmp_path)
    answers = dict(line.split(": ", 1) for line in run.stdout.splitlines() if ": " in line)
    assert run.returncode == 0 and answers["wrong"] == "0" and int(answers["right"]) > 0, run.stdout + run.stderr
    call = json.loads(report.read_text())["calls"]["MPI_Ineighbor_alltoall"]
    assert call["accelerated"] > 0 and not call.get("declined"), call
