"""dunnage bench: what the Python package is handed."""
import json


def test_hands_over_everything(dunnage, tmp_path):
    package = tmp_path / "share" / "dunnage" / "python" / "dunnage"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "bench.py").write_text(
        "import json, os, sys\n"
        "print(json.dumps([sys.argv[1:], os.environ['DUNNAGE_HOME'], os.environ['PYTHONPATH']]))\n")
    result = dunnage("bench", "pack", "--memory", "host", "--help", DUNNAGE_HOME=tmp_path, PYTHONPATH="/else")
    assert result.returncode == 0, result.stderr
    arguments, home, path = json.loads(result.stdout)
    assert arguments == ["pack", "--memory", "host", "--help"]
    assert home == str(tmp_path)
    assert path == f"{package.parent}:/else"


def test_a_missing_package_is_named(dunnage, tmp_path):
    result = dunnage("bench", "pack", DUNNAGE_HOME=tmp_path)
    assert result.returncode == 2
    assert f"{tmp_path}/share/dunnage/python/dunnage does not exist" in result.stderr
