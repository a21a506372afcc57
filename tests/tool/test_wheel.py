"""The wheel of dist/ in a fresh environment. `make wheel` builds it; no test does."""
import os
import re
import subprocess
import sys

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib


@pytest.fixture(scope="module")
def wheel(root):
    found = sorted((root / "dist").glob("dunnage-*.whl"))
    if not found:
        pytest.skip("there is no wheel in dist/: run `make wheel`")
    return found[-1]


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A virtual environment with nothing but the wheel."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check",
                    "--ignore-installed", "--prefix", folder, wheel], check=True)
    return folder


def call(*words, **variables):
    return subprocess.run(list(map(str, words)), env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True,
                          text=True, timeout=60)


def test_command_and_module(environment, root):
    version = re.search(r"project\(dunnage VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    for words in ([environment / "bin" / "dunnage"], [environment / "bin" / "python", "-m", "dunnage"]):
        assert call(*words, "--version").stdout == f"dunnage {version}\n"
    info = call(environment / "bin" / "dunnage", "info").stdout
    assert f"{environment}/lib/libdunnage.so\n" in info
    assert all(re.search(rf"backends .*{family} \(", info) for family in ("openmpi", "mpich", "abi"))
    assert (environment / "share" / "man" / "man1" / "dunnage-run.1").exists()


def test_a_strided_program(environment, build, tmp_path):
    """An example that sends columns runs preloaded, and the report of its run becomes a page."""
    programs = sorted((build / "mpi").glob("*mpi*/columns"))
    if not programs:
        pytest.skip("the example columns is not built")
    report = tmp_path / "run.json"
    run = call(environment / "bin" / "dunnage", "run", "--force=always", f"--report={report}", programs[0], 256)
    assert run.returncode == 0, run.stderr
    assert "verified" in run.stdout
    page = call(environment / "bin" / "dunnage", "report", report)
    assert page.returncode == 0, page.stderr
    assert int(re.search(r"accelerated +(\d+) calls", page.stdout)[1]) > 0
    assert report.with_suffix(".html").exists()


def test_library_paths_are_of_the_installation(environment):
    """The loader finds the files by their own place, wherever the wheel was built."""
    files = [environment / "bin" / "dunnage", *(environment / "lib").glob("*.so"),
             *(environment / "lib" / "dunnage").glob("*.so*")]
    assert len(files) > 5
    for file in files:
        dynamic = call("readelf", "-d", os.path.realpath(file)).stdout
        for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic):
            assert all(entry.startswith("$ORIGIN") for entry in path.split(":")), f"{file}: {path}"


def test_the_pins_are_alike(root):
    """What the build needs is pinned in python/build.txt, and again where pip looks for it."""
    requires = tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
    pins = [line.replace('"', "'") for line in (root / "python" / "build.txt").read_text().splitlines()
            if not line.startswith("#")]
    assert pins and set(pins) <= set(requires)
