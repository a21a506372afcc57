"""`bench_bcast_simulated` on small networks."""

import json
import subprocess

import pytest

from dunnage.bench.home import find_home

program = find_home().path / "bench" / "bench_bcast_simulated"
pytestmark = pytest.mark.skipif(not program.exists(), reason=f"{program} is not built")


def results(*arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return [one for one in map(json.loads, run.stdout.splitlines()) if one["record"] == "result"]


def test_every_rank_gets_every_byte_once():
    found = results("--ranks", "32,48", "--bytes", "1000,100000", "--ranks-per-host", "8")
    assert {one["platform"] for one in found} == {"fat tree", "dragonfly"}
    assert {one["algorithm"] for one in found} >= {"binomial", "scatter-open-ring", "chain", "binary-tree", "circulant"}
    for one in found:
        assert one["simulated"] and one["seconds"] > 0
        needed = (one["ranks"] - 1) * one["bytes"]
        if one["algorithm"] == "scatter-ring":  # which sends again what is there
            assert one["bytes_sent"] > needed
        else:
            assert one["bytes_sent"] == needed, one


def test_rings_among_many_are_left_out():
    found = results("--ranks", "64", "--bytes", "1000", "--ranks-per-host", "8", "--most-in-ring", "32")
    names = {one["algorithm"] for one in found}
    assert "binomial" in names and not {"scatter-ring", "scatter-open-ring", "chain"} & names
