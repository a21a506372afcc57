"""`python -m dunnage.bench` on the built tree, quickly."""

import json

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.home import find_home
from dunnage.bench.pack.report import load_results

PATTERNS = {"vector double 1/16", "NAS MG z"}

home = find_home()
needs_build = pytest.mark.skipif(
    not home.mpis("bench_pack"), reason=f"bench_pack is not built in {home.path}; build it, or set DUNNAGE_HOME"
)


@needs_build
def test_two_patterns_are_measured_and_reported(tmp_path, capsys):
    pattern = "|".join(f"^{name}$" for name in sorted(PATTERNS))
    assert main(["pack", "--quick", "--pattern", pattern, "--output", str(tmp_path)]) == 0

    results = load_results(tmp_path / "pack_host.json")
    assert {result.pattern for result in results} == PATTERNS
    assert {result.mpi for result in results} == set(home.mpis("bench_pack"))
    assert {(result.mode, result.operation) for result in results} == {
        (mode, operation) for mode in ("cold", "warm") for operation in ("pack", "unpack")
    }
    for result in results:
        assert result.series["plain"]["verified"]
        assert 0 < result.limit and 0 < result.time("hand")
        assert result.has("dunnage") == home.library.exists()

    document = json.loads((tmp_path / "pack_host.json").read_text())
    assert {"date", "cpu", "git_commit", "command", "mpis", "summary"} <= set(document)
    assert (tmp_path / "pack_host.png").stat().st_size > 0
    assert (tmp_path / "pack_host.csv").read_text().startswith("mpi,pattern")
    assert "geometric mean, plain" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["message", "commit"])
def test_plain_and_dunnage_are_compared(name, tmp_path, capsys):
    mpis = home.mpis(f"bench_{name}")
    if not mpis or not home.library.exists():
        pytest.skip(f"bench_{name} or the library is not built in {home.path}; build it, or set DUNNAGE_HOME")
    if name == "message" and not all(home.launcher(mpi) for mpi in mpis):
        pytest.skip("an MPI has no launcher")
    assert main([name, "--quick", "--output", str(tmp_path)]) == 0

    document = json.loads((tmp_path / f"{name}.json").read_text())
    assert {"date", "cpu", "git_commit", "command", "mpis", "summary"} <= set(document)
    assert {result["mpi"] for result in document["results"]} == set(mpis) == set(document["mpis"])
    assert all(result["series"]["dunnage"]["verified"] for result in document["results"])
    assert all(header["dunnage"] for header in document["mpis"].values())
    assert (tmp_path / f"{name}.png").stat().st_size > 0
    assert "asked" in capsys.readouterr().out


@needs_build
def test_an_mpi_that_is_not_built_is_named(capsys):
    assert main(["pack", "--mpi", "nompi"]) == 2
    assert "nompi" in capsys.readouterr().err


def test_an_unknown_experiment_is_named_with_those_that_exist(capsys):
    assert main(["nothing"]) == 2
    assert "pack --memory host" in capsys.readouterr().err
