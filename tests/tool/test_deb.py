"""The recipe of packaging/debian fits an installation. `make deb` builds packages; no test does."""
import fnmatch
import os
import pathlib
import re
import subprocess

import pytest

RECIPE = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "debian"
OWN_FOLDER = "x86_64-linux-gnu"  # any one: the recipe has a star for it


@pytest.fixture(scope="module")
def installed(build, tmp_path_factory):
    """The files of an installation, with the paths that they have while the package is built."""
    folder = tmp_path_factory.mktemp("deb") / "usr"
    subprocess.run(["cmake", "--install", build, "--prefix", folder], check=True, capture_output=True, timeout=60)
    return {re.sub("^lib/", f"lib/{OWN_FOLDER}/", str(file.relative_to(folder))): file
            for file in folder.rglob("*") if file.is_symlink() or not file.is_dir()}


def patterns(file):
    """The first word of each line: files and folders to take."""
    lines = (RECIPE / file).read_text().splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def takes(pattern, path):
    """A pattern takes a path or a folder above it. Its stars do not cross a slash."""
    parts, wanted = ("usr/" + path).split("/"), pattern.split("/")
    return len(wanted) <= len(parts) and all(map(fnmatch.fnmatchcase, parts, wanted))


def paragraphs():
    """control as a list of dictionaries: the source, then each package."""
    text = re.sub(r"\n +", " ", (RECIPE / "control").read_text())
    return [dict(line.split(": ", 1) for line in part.splitlines() if ": " in line) for part in text.split("\n\n")]


def names(dependencies):
    return set(re.findall(r"(?:^|[,|])\s*([a-z][\w.+-]*)", dependencies))


def lists():
    return sorted(file.name for file in RECIPE.glob("*.install"))


def version(root):
    return re.search(r"project\(dunnage VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]


def test_every_file_is_in_one_package(installed):
    assert len(installed) > 50
    for path in installed:
        packages = [file for file in [*lists(), "not-installed"] for pattern in patterns(file) if takes(pattern, path)]
        assert len(packages) == 1, f"{path} is in {packages}"


@pytest.mark.parametrize("file", lists())
def test_every_pattern_takes_a_file(installed, file):
    for pattern in patterns(file):
        assert any(takes(pattern, path) for path in installed), f"nothing fits {pattern}"


def test_every_list_is_of_a_package():
    assert {file.removesuffix(".install") for file in lists()} == {one["Package"] for one in paragraphs()[1:]}


def test_packages_require_each_other_and_no_mpi():
    packages = {one["Package"]: one["Depends"] for one in paragraphs()[1:]}
    own = "{} (= ${{binary:Version}})".format
    assert own("libdunnage0") in packages["dunnage"] and "${python3:Depends}" in packages["dunnage"]
    assert own("libdunnage0") in packages["libdunnage-dev"] and own("dunnage") in packages["libdunnage-dev"]
    assert all("${misc:Depends}" in depends for depends in packages.values())
    assert not re.search("mpi", " ".join(packages.values()))


def test_the_build_has_what_the_set_up_installs(root):
    libraries = re.search(r"^libraries=\((.*)\)", (root / "scripts" / "setup.sh").read_text(), re.M)[1]
    wanted = {pair.split(":")[1] for pair in libraries.split()}
    assert wanted and wanted <= names(paragraphs()[0]["Build-Depends"])


def test_an_mpi_that_a_file_needs_is_not_required(installed):
    """What is linked with an MPI is excluded from the search for packages that it needs."""
    excluded = re.findall(r"-X(\S+)", re.search(r"^\tdh_shlibdeps (.*)", (RECIPE / "rules").read_text(), re.M)[1])
    linked = []
    for path, file in installed.items():
        if not any(takes(pattern, path) for pattern in patterns("libdunnage0.install")):
            continue
        dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True).stdout
        if re.search(r"NEEDED.*\[lib(mpi|cuda)", dynamic):
            linked.append(path)
            assert any(part in "/" + path for part in excluded), path
    assert linked


def test_the_version_is_that_of_cmake(root):
    for file in filter(pathlib.Path.is_file, RECIPE.rglob("*")):
        assert version(root) not in file.read_text(), file
    changelog = subprocess.run([root / "scripts" / "deb.sh", "changelog"], capture_output=True, text=True, check=True)
    lines = changelog.stdout.splitlines()
    assert lines[0] == f"dunnage ({version(root)}-1) unstable; urgency=medium"
    assert re.fullmatch(r" -- .+ <\S+@\S+>  \w{3}, \d+ \w{3} \d{4} [\d:]{8} [+-]\d{4}", lines[-1])


def test_missing_packages_are_named(root, tmp_path):
    check = tmp_path / "dpkg-checkbuilddeps"
    check.write_text("#!/bin/sh\necho 'dpkg-checkbuilddeps: error: Unmet build dependencies: build-essential:native"
                     " debhelper-compat (= 13) one | two' >&2\nexit 1\n")
    check.chmod(0o755)
    run = subprocess.run([root / "scripts" / "deb.sh"], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert run.stderr.endswith("apt-get install --no-install-recommends build-essential debhelper-compat one\n")
