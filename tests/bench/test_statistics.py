"""dunnage.bench.statistics"""

import pytest

from dunnage.bench.statistics import geometric_mean, summarize


def test_summary_of_an_even_spread():
    summary = summarize([5, 1, 2, 4, 3])
    assert summary == pytest.approx({"median": 3, "trimean": 3, "p10": 1.4, "p90": 4.6})


def test_one_sample_is_every_statistic():
    assert set(summarize([7.0]).values()) == {7.0}


def test_an_outlier_does_not_move_the_median():
    assert summarize([1, 1, 1, 1, 1000])["median"] == 1


def test_geometric_mean_of_reciprocals_is_reciprocal():
    ratios = [0.5, 3.0, 7.0]
    assert geometric_mean(ratios) * geometric_mean([1 / ratio for ratio in ratios]) == pytest.approx(1)


def test_geometric_mean_of_nothing_is_an_error():
    with pytest.raises(ValueError):
        geometric_mean([])
