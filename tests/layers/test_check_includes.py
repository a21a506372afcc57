"""scripts/check_includes.py on small trees, and on this one."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_includes  # noqa: E402


def violations(root, **files):
    for name, text in files.items():
        (root / "src/a").mkdir(parents=True, exist_ok=True)
        (root / f"src/a/{name}.hpp").write_text(text)
    return list(check_includes.Tree(root).violations())


def test_this_tree():
    assert not list(check_includes.Tree(ROOT).violations())


@pytest.mark.parametrize("text, found", [
    ("#include <vector>\nstd::vector<int> a;\n", []),
    ("// std::vector\n", []),
    ("std::vector<int> a;\nstd::vector<int> b;\n", ["src/a/x.hpp:1: std::vector: include <vector>"]),
    ("#include <cstdint>\nstd::size_t a;\n", []),
    ("int a;\nstd::no_such b;\n", ["src/a/x.hpp:2: std::no_such: add it to HEADERS in scripts/check_includes.py"]),
])
def test_names_without_their_header(tmp_path, text, found):
    assert violations(tmp_path, x=text) == found


def test_a_header_may_come_by_another(tmp_path):
    text = '#include "a/y.hpp"\nstd::map<int, int> a;\n'
    assert not violations(tmp_path, x=text, y='#include "a/z.hpp"\n', z='#include <map>\n#include "a/x.hpp"\n')
    assert violations(tmp_path, x=text, y="", z="")
