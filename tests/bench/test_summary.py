"""dunnage.bench.pack, from canned records as bench_pack writes them."""

import pytest

from dunnage.bench.pack.results import merge
from dunnage.bench.pack.summary import counted, slower_patterns, subject, summarize_results
from dunnage.bench.results import wrong

CRITERIA = {"cold": {"mean": 2.0, "minimum": 0.97, "limit": 0.8, "transpose": 3.0}}


def record(pattern, kind="regular", **times):
    """A cold pack record; every series has three equal samples but for a spread of 1 %."""
    series = {name: {"samples": [0.99 * time, time, 1.01 * time]} for name, time in times.items()}
    for name in ("plain", "dunnage"):
        if name in series:
            series[name]["verified"] = True
    series["copy"], series["streaming copy"] = {"samples": [1.0]}, {"samples": [2.0]}
    return {"pattern": pattern, "kind": kind, "mode": "cold", "operation": "pack", "payload": 1 << 20,
            "traffic": 1 << 22, "series": series}


def canned():
    return merge([
        ("openmpi", record("vector", plain=8.0, dunnage=2.0, hand=4.0)),
        ("mpich", record("vector", plain=4.0, dunnage=2.0, hand=4.0)),
        ("openmpi", record("transpose", "transpose", plain=9.0, dunnage=3.0, hand=9.0)),
        ("mpich", record("transpose", "transpose", plain=6.0, dunnage=4.0, hand=9.0)),
        ("openmpi", record("box", plain=9.0, dunnage=10.0, hand=9.0)),
        ("mpich", record("box", plain=18.0, dunnage=10.0, hand=9.0)),
    ])


def figure(name, mpi, results=None):
    [found] = [f for f in summarize_results(results or canned(), CRITERIA) if f.name == name and f.mpi == mpi]
    return found


def test_mean_against_the_same_mpi():
    assert figure("geometric mean, plain", "openmpi").value == pytest.approx((4 * 3 * 0.9) ** (1 / 3))


def test_mean_against_the_fastest_mpi_of_each_pattern():
    assert figure("geometric mean, fastest plain", "openmpi").value == pytest.approx((2 * 2 * 0.9) ** (1 / 3))


def test_minimum_names_its_pattern_and_misses_its_threshold():
    worst = figure("minimum, plain", "openmpi")
    assert (worst.value, worst.pattern, worst.met) == (pytest.approx(0.9), "box", False)


def test_limit_is_the_better_copy_and_counts_regular_patterns_only():
    assert figure("minimum, limit, regular", "openmpi").value == pytest.approx(0.1)
    assert figure("geometric mean, limit, regular", "openmpi").value == pytest.approx((0.5 * 0.1) ** 0.5)


def test_contiguous_patterns_are_in_one_of_the_two_means():
    results = merge([
        ("mpich", record("vector", plain=4.0, dunnage=1.0, hand=4.0)),
        ("mpich", record("face z", "contiguous", plain=1.0, dunnage=1.0, hand=1.0)),
    ])
    assert figure("geometric mean, plain", "mpich", results).value == pytest.approx(2.0)
    beside = figure("geometric mean, plain, non-contiguous", "mpich", results)
    assert (beside.value, beside.met) == (pytest.approx(4.0), None)


def test_patterns_below_the_payload_asked_are_not_counted():
    small = record("face x", plain=1.0, dunnage=2.0, hand=1.0)
    small["payload"] = (1 << 20) - 1
    results = merge([("mpich", small), ("mpich", record("vector", plain=4.0, dunnage=1.0, hand=4.0))])
    criteria = {"cold": {"payload": 1 << 20, "minimum": 0.97}}
    assert [result.pattern for result in counted(results, criteria)] == ["vector"]
    assert {f.pattern for f in summarize_results(results, criteria)} <= {"vector", None}
    assert [slower.result.pattern for slower in slower_patterns(results)] == ["face x"]


def test_transpose_is_held_against_the_fastest_mpi():
    assert figure("transpose, fastest plain", "openmpi").value == pytest.approx(2.0)


def test_slower_patterns_are_listed():
    [slower] = slower_patterns(canned())
    assert (slower.result.mpi, slower.result.pattern, slower.within_noise) == ("openmpi", "box", False)


def test_without_dunnage_the_hand_written_loops_stand_in_and_nothing_is_asked():
    results = merge([("mpich", record("vector", plain=4.0, hand=2.0))])
    assert subject(results) == "hand"
    found = figure("geometric mean, plain", "mpich", results)
    assert (found.value, found.met) == (pytest.approx(2.0), None)


def test_rounds_join_their_samples_and_one_wrong_round_makes_a_series_wrong():
    bad = record("vector", plain=3.0, dunnage=1.0, hand=1.0)
    bad["series"]["dunnage"]["verified"] = False
    [result] = merge([("mpich", record("vector", plain=1.0, dunnage=1.0, hand=1.0)), ("mpich", bad)])
    assert len(result.series["plain"]["samples"]) == 6
    assert result.time("plain") == pytest.approx(2.0, rel=0.02)
    assert wrong([result], "dunnage") and not wrong([result], "plain")
