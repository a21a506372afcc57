"""One preload library for every MPI: which backend it takes, by which launcher, beside which other
tool."""

import json
import pathlib
import re
import subprocess

import pytest

from installed import MPIS, command, environment

HERE = pathlib.Path(__file__).parent
OWN_PROGRAMS = [name for name, mpi in MPIS.items() if not mpi.libraries]


def run(words, **variables):
    return subprocess.run(
        [str(word) for word in words], env={**environment(), **variables}, capture_output=True, text=True, timeout=120
    )


def checked(words, **variables):
    result = run(words, **variables)
    assert result.returncode == 0, f"{words}\n{result.stdout}{result.stderr}"
    return result


def compiler(build, name):
    return next(mpi["compiler"] for mpi in json.loads((build / "mpis.json").read_text()) if mpi["name"] == name)


@pytest.fixture(scope="module", params=OWN_PROGRAMS)
def mpi(request):
    return MPIS[request.param]


@pytest.fixture(scope="module")
def column(mpi, build, tmp_path_factory):
    """The program, with its MPI found by rpath."""
    program = tmp_path_factory.mktemp(mpi.name) / "column"
    folder = next(
        entry["libraries"] for entry in json.loads((build / "mpis.json").read_text()) if entry["name"] == mpi.name
    )
    checked([compiler(build, mpi.name), HERE / "column.c", "-o", program, f"-Wl,-rpath,{folder}"])
    return program


@pytest.fixture(scope="module")
def tool(mpi, build, tmp_path_factory):
    library = tmp_path_factory.mktemp(mpi.name) / "libcounting.so"
    checked([compiler(build, mpi.name), "-shared", "-fPIC", HERE / "counting_tool.c", "-o", library])
    return library


def right(result):
    return sorted(line for line in result.stdout.splitlines() if line.startswith("rank")) == [
        "rank 0: 0 wrong",
        "rank 1: 0 wrong",
    ]


def test_the_tool_preloads_the_launcher(build, mpi, column, tmp_path):
    """`dunnage run` sets the variable for the launcher, which hands it on to the ranks of its host
    by itself."""
    report = tmp_path / "report.json"
    result = checked(
        [build / "bin/dunnage", "run", f"--report={report}", "--force=always", "--", *command(mpi, 2, {}), column]
    )
    assert right(result)
    found = json.loads(report.read_text())
    assert found["ranks"] == 2 and found["calls"]["MPI_Send"]["accelerated"] == 3
    assert "dunnage" not in result.stderr


def test_linked_and_not_preloaded(build, mpi, tmp_path):
    program, report = tmp_path / "column", tmp_path / "report.json"
    checked(
        [
            compiler(build, mpi.name),
            HERE / "column.c",
            "-o",
            program,
            f"-L{build}/lib",
            "-Wl,--no-as-needed",
            "-ldunnage",
            f"-Wl,-rpath,{build}/lib",
        ]
    )
    result = checked([*command(mpi, 2, {}), program], DUNNAGE_REPORT=str(report), DUNNAGE_FORCE="always")
    assert right(result)
    assert json.loads(report.read_text())["calls"]["MPI_Send"]["accelerated"] == 3


@pytest.mark.parametrize("order", ["tool first", "dunnage first"])
def test_beside_another_tool(build, mpi, column, tool, tmp_path, order):
    """The tool sees the program's calls or those that we make of them, and none twice."""
    report, library = tmp_path / "report.json", build / "lib/libdunnage.so"
    preload = [tool, library] if order == "tool first" else [library, tool]
    variables = {"LD_PRELOAD": ":".join(map(str, preload)), "DUNNAGE_REPORT": str(report), "DUNNAGE_FORCE": "always"}
    result = checked([*command(mpi, 2, variables), column])
    assert right(result)
    if order == "tool first":  # it calls PMPI_Send, which is not ours to see
        assert "tool: 3 sends, 0 packed" in result.stdout
    else:
        assert "tool: 3 sends, 3 packed" in result.stdout
        assert json.loads(report.read_text())["calls"]["MPI_Send"]["accelerated"] == 3


@pytest.mark.parametrize(
    "built_for, runs_on", [("openmpi", "openmpi5"), ("mpich5", "impi"), ("impi", "mpich5"), ("mpi_abi", "impi")]
)
def test_a_program_of_one_family_on_another_library(build, tmp_path, built_for, runs_on):
    """The backend is that of the family; how it behaves is that of the library which is there."""
    if not {built_for, runs_on} <= set(MPIS):
        pytest.skip("not both here")
    entry = next(mpi for mpi in json.loads((build / "mpis.json").read_text()) if mpi["name"] == runs_on)
    program, report = tmp_path / "column", tmp_path / "report.json"
    checked([compiler(build, built_for), HERE / "column.c", "-o", program, "-Wl,--enable-new-dtags"])
    variables = {
        "LD_PRELOAD": str(build / "lib/libdunnage.so"),
        "DUNNAGE_REPORT": str(report),
        "DUNNAGE_FORCE": "always",
        "LD_LIBRARY_PATH": entry["libraries"],
    }
    assert right(checked([*command(MPIS[runs_on], 2, variables), program]))
    found = json.loads(report.read_text())
    assert entry["version"] in found["mpi"] and found["calls"]["MPI_Send"]["accelerated"] == 3


FAKE = """\
#include <string.h>
int PMPI_Get_library_version(char* text, int* length) { strcpy(text, VERSION); *length = sizeof VERSION - 1; return 0; }
int PMPI_Send(const void* b, int n, void* t, int d, int g, void* c) { return 42; }
int MPI_Send(const void* b, int n, void* t, int d, int g, void* c) { return 42; }
"""


@pytest.fixture
def fake(build, tmp_path):
    """fake("Some MPI 1.0", "libmpi.so"): a program that calls MPI_Send of an MPI with
    that version text and file name."""

    def make(version, name):
        (tmp_path / "mpi.c").write_text(FAKE)
        (tmp_path / "main.c").write_text(
            "int MPI_Send(const void*, int, void*, int, int, void*);\n"
            "int main(void) { return MPI_Send(0, 0, 0, 0, 0, 0) == 42 && MPI_Send(0, 0, 0, 0, 0, 0) == 42 ? 0 : 1; }\n"
        )
        checked(["cc", "-shared", "-fPIC", f'-DVERSION="{version}"', tmp_path / "mpi.c", "-o", tmp_path / name])
        checked(["cc", tmp_path / "main.c", tmp_path / name, "-o", tmp_path / "main", f"-Wl,-rpath,{tmp_path}"])
        return checked([tmp_path / "main"], LD_PRELOAD=str(build / "lib/libdunnage.so")).stderr.splitlines()

    return make


def test_an_unknown_mpi_is_passed_through_with_one_line(fake):
    [line] = fake("Some MPI 1.0\\nand more", "libmpi.so")
    assert line == (
        "dunnage: unknown MPI 'Some MPI 1.0', of neither the Open MPI, the MPICH nor the standard ABI; "
        "calls are passed through"
    )


@pytest.mark.parametrize(
    "version, name",
    [("Open MPI v9.9", "libmpi.so"), ("MVAPICH2 Version: 2.3.7", "libmpi.so"), ("Some MPI 1.0", "libmpi_abi.so.1")],
)
def test_an_mpi_that_lacks_what_we_need_is_passed_through_with_one_line(build, fake, version, name):
    """The backend is the right one, or the line would be another."""
    family = "abi" if "abi" in name else "openmpi" if "Open" in version else "mpich"
    if not (build / f"lib/dunnage/libdunnage-{family}.so").exists():
        pytest.skip(f"no backend {family}")
    [line] = fake(version, name)
    assert (
        line.startswith("dunnage: ")
        and line.endswith("; calls are passed through")
        or "cannot load the backend" in line
    )
    assert "unknown MPI" not in line


def test_one_rank_speaks_for_all(fake, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "1")
    assert fake("Some MPI 1.0", "libmpi.so") == []


def test_a_wrong_prototype_does_not_conform(build, mpi, tmp_path):
    """What tests/shim/conformance.c asks of an mpi.h is refused where it differs."""
    text = (build / "generated/shim/prototypes.h").read_text()
    wrong = text.replace("int MPI_Send(const void* buf, int count", "int MPI_Send(const void* buf, long count")
    assert wrong != text
    for name, prototypes, conforms in [("right", text, True), ("wrong", wrong, False)]:
        header = tmp_path / name / "shim" / "prototypes.h"
        header.parent.mkdir(parents=True)
        header.write_text(prototypes)
        result = run([compiler(build, mpi.name), "-fsyntax-only", f"-I{tmp_path / name}", HERE / "conformance.c"])
        assert (result.returncode == 0) == conforms, result.stderr


def test_large_counts_on_an_older_library_of_the_family(build, tmp_path):
    """As MPICH 3 is, and what derives from it: the backend has large counts, the library's are
    taken away here."""
    entries = [
        entry
        for entry in json.loads((build / "mpis.json").read_text())
        if entry["kind"] == "mpich" and (pathlib.Path(entry["libraries"]) / "libmpi.so.12").exists()
    ]
    if not entries:
        pytest.skip("no MPICH with a libmpi.so.12 here")
    libraries = pathlib.Path(entries[-1]["libraries"])
    old = (libraries / "libmpi.so.12").read_bytes()
    for _ in range(2):  # neighbours share the zero between them
        old = re.sub(rb"\0(P?MPI_\w+_)c(?=\0)", rb"\0\1q", old)
    (tmp_path / "libmpi.so.12").write_bytes(old)
    program, report = tmp_path / "large_counts", tmp_path / "report.json"
    checked([entries[-1]["compiler"], HERE / "large_counts.c", "-o", program, "-Wl,--enable-new-dtags"])
    variables = {
        "LD_LIBRARY_PATH": f"{tmp_path}:{libraries}:{libraries}/mpich",
        "LD_PRELOAD": str(build / "lib/libdunnage.so"),
        "DUNNAGE_REPORT": str(report),
        "DUNNAGE_FORCE": "always",
    }
    assert checked([program], **variables).stdout == "0 failed\n"
    calls = json.loads(report.read_text())["calls"]
    assert calls["MPI_Pack"]["accelerated"] == 1 and "MPI_Pack_c" not in calls
