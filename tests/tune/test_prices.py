"""Fits of prices to times that are known, quiet and noisy."""

import random

import pytest

from dunnage.tune.prices import Fit, fit, ratio_lost

TRUE = {"call": 40.0, "block": 1.5, "byte": 0.02}


def rows():
    return [
        {"call": 1, "block": size / block, "byte": size}
        for size in (512, 4096, 32768, 262144)
        for block in (8, 64, 512)
    ]


def times(noise=0.0, prices=TRUE):
    random.seed(1)
    return [sum(prices[name] * row[name] for name in prices) * random.uniform(1 - noise, 1 + noise) for row in rows()]


def fitted(measured, tolerance=0.3):
    return fit(rows(), measured, measured, tolerance)


def test_exact_times_give_their_prices():
    found = fitted(times())
    assert found.prices == pytest.approx(TRUE, rel=1e-6) and found.error < 1e-9


def test_noisy_times_give_them_nearly():
    found = fitted(times(0.1))
    assert found.prices == pytest.approx(TRUE, rel=0.25)
    assert 0.005 < found.error < 0.1


def test_a_few_times_that_were_disturbed_hardly_count():
    measured = times(0.02)
    measured[3] *= 10
    measured[8] *= 4
    assert fitted(measured).prices == pytest.approx(TRUE, rel=0.15)


def test_no_price_is_negative():
    """Times that fall as blocks grow in number: least squares alone would pay for blocks."""
    prices = {"call": 4000.0, "block": -0.05, "byte": 0.02}
    found = fitted(times(prices=prices))
    assert min(found.prices.values()) >= 0 and found.prices["block"] == 0


def test_columns_of_which_nothing_was_measured_are_left_out():
    without = [{**row, "far_byte": 0} for row in rows()]
    assert "far_byte" not in fit(without, times(), times(), 0.3).prices


def test_what_choices_lose():
    """Two cases: prices that choose right in both, and those that choose wrong in one."""
    engine = library = [{"call": 1, "block": 0}, {"call": 1, "block": 100}]
    measured = [[100, 100], [50, 200]]  # the engine's, the library's
    right = (Fit({"call": 100, "block": 0}, 0), Fit({"call": 50, "block": 1.5}, 0))
    wrong = (Fit({"call": 0, "block": 0}, 0), Fit({"call": 1, "block": 0}, 0))
    assert ratio_lost(right, engine, library, measured, 1.1) == 0
    assert ratio_lost(wrong, engine, library, measured, 1.1) == pytest.approx(
        0.5
    )  # the first took twice as long, the other not
