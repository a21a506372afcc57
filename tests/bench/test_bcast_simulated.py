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


def test_messages_enter_each_host_once_in_two_levels():
    found = results("--ranks", "32,48", "--bytes", "1000,100000", "--ranks-per-host", "8")
    assert {one["platform"] for one in found} == {"fat tree", "dragonfly"}
    assert {one["algorithm"] for one in found} >= {"binomial", "scatter-open-ring", "chain", "binary-tree", "circulant"}
    for one in found:
        assert one["simulated"] and one["seconds"] > 0
        if one["algorithm"] == "scatter-ring":  # which sends again what is there
            assert one["bytes_sent"] > (one["ranks"] - 1) * one["bytes"]
            continue
        assert one["bytes_sent"] == (one["ranks"] - 1) * one["bytes"], one
        if one["levels"] == 2:
            assert one["bytes_between_hosts"] == (one["ranks"] // 8 - 1) * one["bytes"], one


def test_rings_among_many_are_left_out():
    found = results("--ranks", "64", "--bytes", "1000", "--ranks-per-host", "8", "--most-in-ring", "32")
    assert {one["levels"] for one in found if one["algorithm"] == "scatter-open-ring"} == {2}
