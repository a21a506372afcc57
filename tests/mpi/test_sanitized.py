"""Contract programs on a Dunnage with AddressSanitizer and UndefinedBehaviorSanitizer (scripts/build.sh asan preload)."""
import re
import subprocess

import pytest
from installed import BUILD

PRELOAD = BUILD.parent / "build-asan" / "lib" / "libdunnage.so"
OPTIONS = "detect_leaks=0:verify_asan_link_order=0"  # the MPIs leak, and the programs are not built so


def runtime():
    """The library that must be loaded first."""
    return subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
@pytest.mark.parametrize("program, ranks", [("blocking", 2), ("nonblocking", 2), ("persistent", 2), ("pack", 1), ("communicators", 2)])
def test_nothing_is_found(launch, flavour, program, ranks):
    if not PRELOAD.exists():
        pytest.skip(f"{PRELOAD} is not built")
    plain = launch(flavour, f"contract_{program}", ranks=ranks)
    run = launch(flavour, f"contract_{program}", ranks=ranks, mode="plain", DUNNAGE_FORCE="always", ASAN_OPTIONS=OPTIONS,
                 LD_PRELOAD=f"{runtime()}:{PRELOAD}")
    found = re.findall(r"ERROR: AddressSanitizer.*|.*runtime error:.*", run.errors)
    assert not found, "\n".join(found[:5]) + str(run)
    assert run.finished and run.failures <= plain.failures, run
