"""Which times are known, and how launches are joined."""

import numpy
import pytest

from dunnage.tune.known import interval, join, known, lower_quartile, places, repeated


@pytest.mark.parametrize(
    "count, low, high",  # as in tests/bench/known_test.cpp
    [(1, 1, 1), (3, 1, 3), (9, 1, 5), (11, 1, 6), (14, 1, 7), (40, 6, 16), (100, 18, 33), (500, 109, 142)],
)
def test_the_ends_are_those_of_the_binomial_distribution(count, low, high):
    assert interval(list(range(count, 0, -1))) == (low, high)


def of(**samples):
    return {name: {"samples": list(values)} for name, values in samples.items()}


def test_a_time_is_the_lower_quartile():
    assert lower_quartile([4, 1, 3, 2, 100]) == 2


def test_slow_samples_do_not_count_unless_they_are_most():
    assert known(of(plain=[1] * 12 + [50] * 8), 1.1)
    assert not known(of(plain=[1] * 2 + list(range(2, 20))), 1.1)


def test_few_samples_say_nothing():
    assert not known(of(plain=[1] * 8), 1.1) and known(of(plain=[1] * 9), 1.1)
    assert not known(of(plain=[1] * 20, dunnage=[1] * 8), 1.1)


def test_who_is_faster_may_be_known_before_the_prices():
    about_100, about_110, about_200 = ([base + 4 * k for k in range(9)] for base in (100, 110, 200))
    assert not known(of(plain=about_100), 1.1)
    assert not known(of(plain=about_100, dunnage=about_110), 1.1)
    assert known(of(plain=about_100, dunnage=about_200), 1.1)
    assert known(of(plain=about_200, dunnage=about_100), 1.1)


def case(size, *samples, kind="pack"):
    return {"kind": kind, "direction": "pack", "bytes": size, "block": 8, "far": False, "series": of(plain=samples)}


def test_launches_are_joined_by_case():
    first, second = [case(1, *[1] * 5), case(2, *[1] * 5)], [case(1, *[1] * 5), case(2, *[9] * 5), case(3, 1)]
    one, two, three = join([first, second], 1.1)
    assert [one["bytes"], two["bytes"], three["bytes"]] == [1, 2, 3]
    assert one["known"] and one["series"]["plain"]["low"] == 1 and len(one["series"]["plain"]["samples"]) == 10
    assert not two["known"], "launches that differ make a time unknown"
    assert not three["known"]
    assert len(first[0]["series"]["plain"]["samples"]) == 5, "the launches stay as they were"


def test_places_of_what_is_known():
    assert places([]) == "" and places([{"known": False}]) == ""
    assert places([{"known": known} for known in (1, 1, 1, 0, 1, 0, 1, 1)]) == "0-2,4,6-7"


def test_repeated_measurements_differ_as_the_samples_do():
    [record] = join([[case(1, *range(100, 200), kind="copy")]], 1.1)
    lows = [one["series"]["plain"]["low"] for [one] in repeated([record], 50, numpy.random.default_rng(1))]
    assert len(set(lows)) > 10 and 110 < min(lows) < 125 < max(lows) < 140
    assert record["series"]["plain"]["low"] == pytest.approx(124.75)
