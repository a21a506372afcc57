"""An installation works from where it is put, through CMake and through pkg-config."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int data[4] = {1, 2, 3, 4}, back[4] = {0};
    MPI_Datatype column;
    MPI_Type_vector(2, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Sendrecv(data, 1, column, 0, 1, back, 1, column, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    printf("%d %d %d %d\\n", back[0], back[1], back[2], back[3]);
    MPI_Type_free(&column);
    return MPI_Finalize();
}
"""

PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(dunnage 0.1 REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
add_executable(app app.c)
target_link_libraries(app dunnage::dunnage MPI::MPI_C)
file(WRITE "${CMAKE_BINARY_DIR}/tool" "${DUNNAGE_EXECUTABLE}")
"""


def output(*command, **options):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed") / "first"
    output("cmake", "--install", build, "--prefix", folder)
    return folder.rename(folder.parent / "moved")  # nothing may remember the place


@pytest.fixture(scope="module")
def mpicc(build):
    cache = (build / "CMakeCache.txt").read_text()
    wrappers = re.search(r"^DUNNAGE_MPICC:[^=]*=(.*)$", cache, re.M).group(1).split(";")
    return next(filter(None, map(shutil.which, wrappers)))


@pytest.fixture
def source(tmp_path):
    (tmp_path / "app.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    return tmp_path


def environment():
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def check(app, prefix):
    """It ran through the installed library, which says so in its report."""
    loaded = output("ldd", app)
    assert f"{prefix}/lib/libdunnage.so" in loaded.replace("/moved/lib/pkgconfig/../..", "/moved")
    assert loaded.index("libdunnage.so") < loaded.index("libmpi")
    result = subprocess.run([app], env={**environment(), "DUNNAGE_REPORT": "1"}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "1 0 3 0\n"
    assert "MPI_Sendrecv" in result.stderr


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="there is no pkg-config")
def test_pkg_config(prefix, mpicc, source):
    env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = output("pkg-config", "--libs", "dunnage", env=env).split()
    output(mpicc, source / "app.c", "-o", source / "app", *flags)
    check(source / "app", prefix)


def test_cmake_package(prefix, mpicc, source):
    output("cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMPI_C_COMPILER={mpicc}")
    output("cmake", "--build", source / "build")
    check(source / "build" / "app", prefix)
    assert (source / "build" / "tool").read_text() == str(prefix / "bin" / "dunnage")


def test_tool_finds_its_parts(prefix, dunnage):
    info = dunnage("info", program=prefix / "bin" / "dunnage").stdout
    assert f"{prefix}/lib/libdunnage.so" in info
    assert "missing" not in info
    run = dunnage("run", "env", program=prefix / "bin" / "dunnage")
    assert f"LD_PRELOAD={prefix}/lib/libdunnage.so" in run.stdout


def test_brings_manual_pages_and_completion(prefix):
    share = prefix / "share"
    assert (share / "man" / "man1" / "dunnage-run.1").read_text().startswith(".TH DUNNAGE")
    for file in ("man/man7/dunnage-settings.7", "bash-completion/completions/dunnage", "zsh/site-functions/_dunnage",
                 "fish/vendor_completions.d/dunnage.fish"):
        assert (share / file).is_file(), file


def test_brings_what_it_needs(prefix, build):
    """No installed file is linked against the build folder, nor against Highway's library, which is
    slow to load."""
    for file in [prefix / "bin" / "dunnage", *pathlib.Path(prefix / "lib").rglob("*.so")]:
        assert str(build) not in output("readelf", "-d", file), file
        for line in output("ldd", file).splitlines():
            assert "not found" not in line, f"{file}: {line}"
            assert "libhwy" not in line, file


def library_paths(file):
    """The folders that the loader searches for what a file needs; none if it is no ELF file."""
    shown = subprocess.run(["readelf", "-d", file], capture_output=True, text=True).stdout
    return [entry for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", shown) for entry in path.split(":")]


def test_nothing_is_loaded_from_the_current_directory(prefix, build):
    """Neither by installed files nor by those of the build folder. The loader takes an empty entry
    for the current directory."""
    folders = [root / name for root in (prefix, build) for name in ("bin", "lib", "libexec", "mpi")]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    paths = {file: library_paths(file) for file in files}
    assert paths[build / "bin" / "dunnage"] and paths[prefix / "bin" / "dunnage"]
    for file, entries in paths.items():
        assert all(entry.startswith(("/", "$ORIGIN")) for entry in entries), f"{file}: {entries}"
