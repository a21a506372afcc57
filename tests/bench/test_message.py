"""dunnage.bench.message, from canned records as bench_message writes them."""

import pytest

from dunnage.bench.message import exchanges, slower_exchanges, summarize_exchanges
from dunnage.bench.runner import Run

CRITERIA = {"contiguous": {"added_ns": 50, "ping_pong": 0.98}}


def record(pattern, size, plain, dunnage, right=True):
    series = {"plain": {"samples": plain}, "dunnage": {"samples": dunnage, "verified": right}}
    return "mpich", {"record": "result", "pattern": pattern, "bytes": size, "series": series}


def canned():
    spread = [1.0 + 0.1 * i for i in range(20)]
    return exchanges(Run(records=[
        record("call", 8, [10e-9] * 3, [70e-9] * 3),
        record("contiguous", 8, [1.0] * 20, [1.01] * 20),
        record("send strided", 64, spread, [1.05 * time for time in spread]),
        record("both strided", 64, spread, [1.01 * spread[0], *spread[:0:-1]]),
        record("both strided", 4096, [4.0], [2.0]),
    ]))


def figures():
    return {figure.name: figure for figure in summarize_exchanges(canned(), CRITERIA)}


def test_what_a_call_costs_more_has_an_upper_bound():
    added = figures()["added to a contiguous call, ns"]
    assert (added.value, added.met) == (pytest.approx(60), False)


def test_the_smallest_ping_pong_has_a_lower_bound():
    ping_pong = figures()["8-byte ping-pong, plain/Dunnage"]
    assert (ping_pong.value, ping_pong.met) == (pytest.approx(1 / 1.01), True)


def test_the_slowest_is_named_with_its_size():
    assert figures()["slowest, plain/Dunnage"].pattern == "send strided, 64 bytes"


def test_pairs_and_not_spreads_decide_what_is_noise():
    slower = {one.name: one.within_noise for one in slower_exchanges(canned())}
    assert slower["send strided, 64 bytes"] is False
    assert slower.get("both strided, 64 bytes", True) is True
    assert "call, 8 bytes" not in slower


def test_one_wrong_round_is_enough():
    rounds = [record("contiguous", 8, [1.0], [1.0], right) for right in (True, False)]
    [result] = exchanges(Run(records=rounds))
    assert result.series["dunnage"]["verified"] is False
    assert len(result.series["plain"]["samples"]) == 2
