"""scripts/check_prose.py on small trees."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_prose  # noqa: E402

WORDS = "word " * 40


def text(columns):
    return WORDS[:columns - 1] + "x"


@pytest.fixture
def long_lines(tmp_path):
    """long_lines(path, text): the (line, limit) of each line of this file that is too long."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def call(path, content):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
        return [(number, limit) for found, number, _, limit in check_prose.too_long(tmp_path, []) if found == path]

    return call


@pytest.mark.parametrize("path, begin", [
    ("a/b.cpp", "// "), ("a/b.hpp", "  /// "), ("a/b.py", "# "), ("b.sh", "# "), ("CMakeLists.txt", "# "),
    ("b.md", "- "),
])
def test_prose_ends_at_100(long_lines, path, begin):
    fits, over = (begin + text(columns - len(begin)) for columns in (100, 101))
    assert long_lines(path, f"{fits}\n{over}\n") == [(2, 100)]


def test_code_ends_at_120(long_lines):
    assert long_lines("b.cpp", f"{text(120)}\n{text(121)}\n") == [(2, 120)]


def test_docstrings_are_prose(long_lines):
    long = text(110)
    assert long_lines("b.py", f'"""One line."""\n{long}\n"""Two\n{long}\n"""\n{long}\n') == [(4, 100)]


def test_markdown_layout_is_not_prose(long_lines):
    long = text(130)
    assert long_lines("b.md", f"# {long}\n| {long} |\n```\n{long}\n```\n    {long}\n{long}\n") == [(7, 100)]


def test_an_address_is_not_counted(long_lines):
    assert long_lines("b.md", f"See {'x' * 81} and {text(60)}\nSee {'x' * 80} and {text(60)}\n") == [(2, 100)]


def test_exit_status(long_lines, tmp_path, capsys):
    long_lines("src/a/b/c/d.cpp", "int a;\n")
    assert check_prose.main(["--root", str(tmp_path)]) == 0
    long_lines("src/a/b/c/d.cpp", f"// {text(100)}\n")
    assert check_prose.main(["--root", str(tmp_path), "--list"]) == 1
    out = capsys.readouterr().out
    assert "src/a/b/c/d.cpp:1: 103 columns, at most 100 for prose" in out
    assert "src/a/b  " in out


def test_this_tree():
    assert check_prose.main([]) == 0
