"""Fortran's libraries: where they are not where they usually are, and what they are built like."""
import json
import re
import shutil
import subprocess
import sys

import pytest

from dunnage.report.reports import read
from dunnage.report.sites import names


@pytest.fixture
def fortran(flavour, root, tmp_path):
    """fortran(name, *options): the exchange built as that, or the test is skipped."""
    wrapper = shutil.which(f"mpif90.{flavour}") or pytest.skip(f"no mpif90.{flavour} here")

    def build(name, *options):
        made = subprocess.run([wrapper, "-cpp", "-O2", f"-J{tmp_path}", root / "tests/shim/fortran_loading.F90", "-o",
                               tmp_path / name, *options], capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"mpif90.{flavour} does not work here: {made.stderr[-300:]}")
        return tmp_path / name
    return build


def accelerated(command, environment, report):
    run = subprocess.run(command, env={**environment, "DUNNAGE_FORCE": "always", "DUNNAGE_REPORT": str(report)},
                         capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    return {name: call["accelerated"] for name, call in json.loads(report.read_text())["calls"].items()}


def test_in_a_module_of_python(build, fortran, root_environment, tmp_path):
    """MPI and its Fortran interface are loaded late, and in a scope of their own."""
    module = fortran("module.so", "-shared", "-fPIC")
    calls = accelerated([sys.executable, "-c", f"import ctypes; exit(ctypes.CDLL({str(module)!r}).exchange())"],
                        {**root_environment, "LD_PRELOAD": str(build / "lib/libdunnage.so")}, tmp_path / "report.json")
    assert calls == {"MPI_Isend": 1, "MPI_Irecv": 1}


def test_linked_with_the_program(build, fortran, root_environment, tmp_path):
    """Nothing in the program refers to the library itself, so a linker that drops such libraries
    must be told."""
    program = fortran("program", "-DPROGRAM", "-Wl,--no-as-needed", f"-L{build / 'lib'}", "-ldunnage",
                      f"-Wl,-rpath,{build / 'lib'}")
    assert accelerated([program], root_environment, tmp_path / "report.json") == {"MPI_Isend": 1, "MPI_Irecv": 1}


def test_call_sites(build, fortran, root, root_environment, tmp_path):
    """The lines of the program, not the places in the MPI's Fortran library."""
    program, report = fortran("program", "-g", "-DPROGRAM"), tmp_path / "report.json"
    accelerated([program], {**root_environment, "LD_PRELOAD": str(build / "lib/libdunnage.so")}, report)
    lines = (root / "tests/shim/fortran_loading.F90").read_text().splitlines()
    made = {f"exchange, fortran_loading.F90:{number}" for number, line in enumerate(lines, 1)
            if "MPI_Isend" in line or "MPI_Irecv" in line}
    assert len(made) == 2 and set(names(read(report).sites)) == made


def test_the_wrappers_call_and_do_not_jump(build, flavour):
    """A hook under a PMPI name knows its caller by the return address; a jump would leave that of
    the caller's caller."""
    program = build / f"mpi/{flavour}/f90_contract_f08"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    hooked = set(re.findall(r"DUNNAGE_HOOK\((PMPI_\w+)\)", (build / "generated/shim/hook_list.inc").read_text()))
    libraries = re.findall(r"=> (\S*/libmpi\S*(?:fort|mpifh|f08)\S*)", subprocess.run(
        ["ldd", program], capture_output=True, text=True, check=True).stdout)
    assert libraries
    called, jumped = set(), set()
    for library in libraries:
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True,
                              check=True).stdout
        called |= set(re.findall(r"call.*<(PMPI_\w+)@plt>", code))
        jumped |= set(re.findall(r"jmp.*<(PMPI_\w+)@plt>", code))
    assert called & hooked and not jumped & hooked
