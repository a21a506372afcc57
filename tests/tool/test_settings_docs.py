"""The page of the settings is the one that the table gives."""
import subprocess
import sys


def test_page_is_up_to_date(root, tmp_path):
    page = tmp_path / "settings.md"
    subprocess.run([sys.executable, root / "generate" / "settings.py", root / "api" / "settings.toml", "--docs", page],
                   check=True)
    assert page.read_text() == (root / "docs" / "reference" / "settings.md").read_text(), "run `make docs`"


def test_a_bad_table_is_refused(root, tmp_path):
    table = tmp_path / "settings.toml"
    table.write_text('[[setting]]\nname = "DUNNAGE_X"\nfield = "x"\ntype = "colour"\ndefault = "red"\ndoc = "x"\n')
    result = subprocess.run([sys.executable, root / "generate" / "settings.py", table], capture_output=True, text=True)
    assert result.returncode != 0
    assert "DUNNAGE_X is of unknown type colour" in result.stderr
