"""dunnage.bench.regressions, from canned records as bench_regressions writes them."""

import pytest

from dunnage.bench.experiment import Experiment
from dunnage.bench.home import find_home
from dunnage.bench.regressions import points, report, slower
from dunnage.bench.runner import Run, launch_program
from dunnage.bench.statistics import median_interval

CALLS = ("pack", "unpack", "send", "isend", "sendrecv", "persistent", "bsend", "bcast")
ASKED = {"least": 0.97, "call_ns": 15}


def record(name, ratios, time="first", seconds=1e-3, right=True):
    """The records of as many launches."""
    return [("mpich", {"record": "result", "pattern": name, "call": name.split()[0], "bytes": 64, "time": time,
                       "series": {"plain": {"samples": [seconds] * 3},
                                  "dunnage": {"samples": [seconds / ratio] * 3, "verified": right}}})
            for ratio in ratios]


def test_the_interval_of_five_has_all_and_more_launches_narrow_it():
    assert median_interval([3, 1, 2, 5, 4]) == (1, 5)
    assert median_interval(list(range(20))) == (5, 14)
    assert median_interval([7]) == (7, 7)


def test_a_launch_counts_once():
    one, = points(Run(records=record("send a", [0.9, 0.5, 0.95, 0.96, 0.8])))
    assert one.ratio == pytest.approx(0.9) and one.interval == (pytest.approx(0.5), pytest.approx(0.96))
    assert slower([one], ASKED) == [one]


def test_one_launch_that_is_fast_leaves_doubt():
    assert not slower(points(Run(records=record("send a", [0.9, 0.5, 0.95, 1.0, 0.8]))), ASKED)


def test_the_second_time_decides():
    run = Run(records=record("send a", [0.9] * 5) + record("send a", [1.0] * 5, "again"))
    assert not slower(points(run), ASKED)
    run = Run(records=record("send a", [0.9] * 5) + record("send a", [0.95] * 5, "again"))
    assert len(slower(points(run), ASKED)) == 1


def test_what_being_called_costs_is_no_regression():
    assert not slower(points(Run(records=record("pack a", [0.7] * 5, seconds=20e-9))), ASKED)
    assert slower(points(Run(records=record("pack a", [0.5] * 5, seconds=20e-9))), ASKED)


@pytest.mark.parametrize("ratio, right, fine", [(1.0, True, True), (0.9, True, False), (1.0, False, False)])
def test_the_report_fails_if_a_point_is_slower_or_wrong(tmp_path, capsys, ratio, right, fine):
    experiment = Experiment("regressions", "title", "bench_regressions", 5, {"slower": ASKED})
    run = Run(records=record("send a", [ratio] * 5, right=right))
    assert report(experiment, run, {}, tmp_path) is fine
    assert ("WRONG BYTES" in capsys.readouterr().out) is not right


def test_the_program_measures_the_points_it_is_asked_for():
    home = find_home()
    mpi = next((name for name in home.mpis("bench_regressions") if name in ("openmpi", "mpich")), None)
    if not mpi:
        pytest.skip("bench_regressions is not built")
    names = [f"{call} of double 1/2, 4096 bytes, {cache}" for call in CALLS for cache in ("warm", "cold")]
    names.append("send of NAS MG x, small, warm")
    records = launch_program(home, "bench_regressions", mpi, ["--repetitions", "1", "--points", *names], 2)
    measured = [one for one in records if one["record"] == "result"]
    assert sorted(one["pattern"] for one in measured) == sorted(names)
    assert all(one["series"]["dunnage"]["verified"] for one in measured)
