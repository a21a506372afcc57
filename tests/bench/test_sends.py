"""dunnage.bench.noncontiguous_send, from canned records as bench_noncontiguous_send writes them."""

import pytest

from dunnage.bench.noncontiguous_send.results import references, sends, slowdown, slower_sends, summarize_sends
from dunnage.bench.runner import Run
from dunnage.bench.statistics import without_outliers
from dunnage.bench.units import size

CRITERIA = {
    "strided sender": {"schemes": ["vector type", "isend"], "from_bytes": 1 << 19, "slowdown": 1.3},
    "both strided": {"schemes": ["both strided"], "from_bytes": 1 << 19},
    "slower": {"share": 0.03},
}
MIB = 1 << 20


def record(scheme, nbytes, plain, dunnage, right=True, mpi="mpich", samples=20):
    series = {"plain": {"samples": [plain] * samples, "verified": True},
              "dunnage": {"samples": [dunnage] * samples, "verified": right}}
    return mpi, {"record": "result", "pattern": scheme, "bytes": nbytes, "series": series}


def canned():
    return sends(Run(records=[
        record("contiguous", 1024, 1.0, 1.0),
        record("vector type", 1024, 9.0, 9.0),
        record("contiguous", MIB, 2.0, 1.0),
        record("vector type", MIB, 8.0, 2.2),
        record("isend", MIB, 6.0, 2.8),
        record("both strided", MIB, 10.0, 3.0),
        record("contiguous", MIB, 1.0, 1.0, mpi="impi"),
        record("isend", MIB, 1.0, 1.05, mpi="impi"),
    ]))


def figure(name, mpi="mpich"):
    [found] = [one for one in summarize_sends(canned(), CRITERIA) if one.name == name and one.mpi == mpi]
    return found


def test_samples_beyond_one_standard_deviation_are_dropped():
    assert without_outliers([1.0] * 9 + [11.0]) == [1.0] * 9
    assert without_outliers([1.0, 2.0, 3.0]) == [2.0]
    assert without_outliers([1.0, 1.0]) == [1.0, 1.0]
    assert without_outliers([5.0]) == [5.0]


def test_the_time_is_the_mean_of_what_is_left_and_what_is_dropped_is_counted():
    one = record("contiguous", 1024, 1.0, 1.0)
    one[1]["series"]["plain"]["samples"] = [1.0, 1.2] * 5 + [100.0]
    [send] = sends(Run(records=[one]))
    assert send.time("plain") == pytest.approx(1.1)
    assert (send.dropped("plain"), send.dropped("dunnage")) == (1, 0)
    assert send.spread("plain") == pytest.approx(0.1 / 1.1)


def test_of_several_launches_outliers_are_those_of_each():
    [send] = sends(Run(records=[record("contiguous", 1024, time, 1.0) for time in (1.0, 5.0, 6.0)]))
    assert (send.time("plain"), send.dropped("plain")) == (5.0, 0)


def test_slowdown_is_against_the_contiguous_send_of_plain_mpi():
    contiguous = references(canned())
    [vector] = [send for send in canned() if (send.pattern, send.bytes) == ("vector type", MIB)]
    assert slowdown(vector, "plain", contiguous) == pytest.approx(4)
    assert slowdown(vector, "dunnage", contiguous) == pytest.approx(1.1)
    assert slowdown(vector, "plain", {}) is None


def test_the_worst_of_the_large_sends_is_held_to_its_bound():
    worst = figure("strided sender: worst slowdown from 512 KiB, dunnage")
    assert (worst.value, worst.met, worst.pattern) == (pytest.approx(1.4), False, "isend, 1 MiB")
    assert figure("strided sender: worst slowdown from 512 KiB, dunnage", "impi").met is True
    assert figure("strided sender: worst slowdown from 512 KiB, plain").met is None
    assert figure("both strided: worst slowdown from 512 KiB, dunnage").met is None  # none asked


def test_losses_of_more_than_three_percent_are_counted():
    lost = figure("slower than plain by more than 3%, beyond noise", "impi")
    assert (lost.value, lost.met, lost.pattern) == (1, False, "isend, 1 MiB")
    assert figure("slower than plain by more than 3%, beyond noise").met is True
    [slower] = slower_sends(canned(), 0.03)
    assert (slower.pattern, slower.slower, slower.within_noise) == ("isend", pytest.approx(0.05), False)
    assert not slower_sends(canned(), 0.06)


def test_losses_in_few_of_many_samples_are_noise():
    one = record("isend", MIB, 1.0, 1.0)
    one[1]["series"]["dunnage"]["samples"] = [1.1] * 12 + [0.9] * 8
    [slower] = slower_sends(sends(Run(records=[one])), 0.03)
    assert slower.within_noise


def test_sizes_read_well():
    assert [size(n) for n in (24, 1024, 1536, 524288, 1 << 28)] == ["24 B", "1 KiB", "1536 B", "512 KiB", "256 MiB"]
