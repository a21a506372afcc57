"""dunnage.bench.commit, from canned records as bench_commit writes them."""

import pytest

from dunnage.bench.commit import Cost, growth, lives, summarize_lives
from dunnage.bench.results import join

CRITERIA = {"small": {"beyond_commit_us": 10}, "lists": {"from_entries": 100, "growth": 1.25}}


def records(pattern, kind, entries, commit, first_use=0.0, own=1e-6):
    """`own` is the library's commit; `commit` and `first_use` are what Dunnage adds."""
    for operation, plain, added in (("commit", own, commit), ("first use", 1e-9, first_use), ("free", 1e-7, 1e-8)):
        series = {"plain": {"samples": [plain]}, "dunnage": {"samples": [plain + added], "verified": True}}
        yield "openmpi", {"pattern": pattern, "kind": kind, "entries": entries, "operation": operation,
                          "series": series}


def canned(*groups):
    joined = join([one for group in groups for one in group], ("pattern", "entries", "operation"), ("kind",))
    return lives([Cost(**one) for one in joined])


def test_the_analysis_counts_what_is_put_off_until_the_first_use():
    [life] = canned(records("vector", "small", 100, commit=8e-6, first_use=4e-6))
    assert life.analysis == pytest.approx(12e-6)
    assert life.beyond_commit == pytest.approx(11e-6)


def test_a_first_use_that_is_faster_gives_no_credit():
    [life] = canned(records("vector", "small", 100, commit=8e-6, first_use=-5e-10))
    assert life.analysis == pytest.approx(8e-6)


def test_the_dearest_small_constructor_is_held_to_its_bound():
    found = canned(records("vector", "small", 100, 2e-6), records("struct", "small", 3, 12e-6))
    [figure] = summarize_lives(found, CRITERIA)
    assert (figure.pattern, figure.value, figure.met) == ("struct", pytest.approx(11), False)


def test_growth_is_the_exponent():
    assert growth([(10, 1.0), (100, 10.0), (1000, 100.0)]) == pytest.approx(1)
    assert growth([(10, 1.0), (1000, 10000.0)]) == pytest.approx(2)


def test_a_quadratic_list_is_found_and_short_ones_do_not_count():
    found = canned(
        records("short", "list", 10, 1e-3), records("linear", "list", 100, 1e-6), records("linear", "list", 1000, 1e-5),
        records("square", "list", 100, 1e-6), records("square", "list", 1000, 1e-4),
    )
    figures = {figure.name: figure for figure in summarize_lives(found, CRITERIA)}
    exponent = figures["lists: exponent of growth"]
    assert (exponent.pattern, exponent.value, exponent.met) == ("square", pytest.approx(2), False)
    assert figures["lists: analysis per entry of 1000, ns"].value == pytest.approx(100)
