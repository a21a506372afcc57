"""The recipes of packaging/ speak of the version that CMake has, and of files that exist."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(dunnage VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
PLACES = {
    "CHANGELOG.md": r"^## ([\d.]+)",
    "CITATION.cff": r"^version: ([\d.]+)",
    "packaging/conda/meta.yaml": r'set version = "([\d.]+)"',
    "packaging/modulefiles/dunnage": r"^set prefix /opt/dunnage/([\d.]+)",
    "packaging/spack/packages/dunnage/package.py": r'^    version\("([\d.]+)"',
}


@pytest.mark.parametrize("file", PLACES)
def test_the_version_is_that_of_cmake(file):
    found = re.search(PLACES[file], (ROOT / file).read_text(), re.M)
    assert found and found[1] == VERSION


def test_recipes_of_spack_are_python():
    files = sorted((ROOT / "packaging" / "spack").rglob("package.py"))
    assert files
    for file in files:
        compile(file.read_text(), str(file), "exec")


def test_cmake_knows_the_options_of_the_recipes():
    cmake = "\n".join(path.read_text() for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
    for recipe in ("packaging/conda/meta.yaml", "packaging/debian/rules", "packaging/spack/packages/dunnage/package.py",
                   "pyproject.toml"):
        names = set(re.findall(r"DUNNAGE_[A-Z_]+", (ROOT / recipe).read_text()))
        assert names and all(re.search(rf"\b{name}\b", cmake) for name in names), f"{recipe}: {names}"
