"""How time is shared among launches, and what is made of launches that fail; without an MPI."""

import time
from pathlib import Path

import pytest

from dunnage.bench.home import Home
from dunnage.bench.runner import RunError
from dunnage.tune import measure
from dunnage.tune.__main__ import mpis_of, parse
from dunnage.tune.measure import Budget, WrongBytes, measure_all
from synthetic import header, messages, packs, references
from test_evaluate import PACK, RECEIVE, SEND


def test_time_is_shared_and_overhead_learnt(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(140, 4, overhead=2)
    assert budget.next() == pytest.approx(8)  # 40 s for four launches that take 2 s more
    now[0] += 14  # 6 s more
    budget.took(8, 14)
    assert budget.overhead == pytest.approx(4) and budget.next() == pytest.approx((26 - 12) / 3)
    now[0] += 100
    assert budget.next() == measure.SHORTEST


def launches(monkeypatch, make):
    monkeypatch.setattr(measure, "launch_program", make)
    said = []
    return said, lambda mpis: measure_all(Home(Path("nowhere")), mpis, (), 1, said.append)


def records(settings, right=True, **changes):
    results = (
        messages("send", SEND)
        if settings["DUNNAGE_TICKETS"] == "always"
        else (packs(*PACK) + references() + messages("send", SEND) + messages("receive", RECEIVE))
    )
    return [header(**changes), {"record": "progress", "share": 0.5}, *results, {"record": "end", "right": right}]


def test_an_mpi_that_fails_is_said_and_the_others_are_measured(monkeypatch):
    def launch(home, program, mpi, arguments, ranks, settings, **_):
        if mpi == "broken":
            raise RunError("mpirun ended with status 3")
        return records(settings, library=mpi)

    said, run = launches(monkeypatch, launch)
    assert [one.header["library"] for one in run(["a", "broken", "b"])] == ["a", "b"]
    assert said == ["broken: mpirun ended with status 3"]


def test_wrong_bytes_are_an_error_of_all(monkeypatch):
    said, run = launches(monkeypatch, lambda *_, settings, **__: records(settings, right=False))
    with pytest.raises(WrongBytes, match="wrong bytes with a"):
        run(["a"])


@pytest.mark.parametrize(
    "damage, says",
    [(lambda all: all[:-1], "did not finish"), (lambda all: [{**all[0], "dunnage": False}, *all[1:]], "not loaded")],
)
def test_a_launch_that_says_too_little_is_left_out(monkeypatch, damage, says):
    said, run = launches(monkeypatch, lambda *_, settings, **__: damage(records(settings)))
    assert run(["a"]) == [] and says in said[0]


def test_no_launch_asks_a_model_file(monkeypatch):
    asked = []
    said, run = launches(monkeypatch, lambda *_, settings, **__: asked.append(settings) or records(settings))
    run(["a"])
    assert [one["DUNNAGE_MODEL"] for one in asked] == ["none", "none"]
    assert [one["DUNNAGE_TICKETS"] for one in asked] == ["off", "always"]


def test_between_hosts_there_is_one_launch(monkeypatch):
    asked = []
    said, run = launches(
        monkeypatch, lambda *_, settings, **__: asked.append(settings) or records(settings, peers="other_host")
    )
    assert len(run(["a", "b"])) == 2 and len(asked) == 2


@pytest.mark.parametrize(
    "words", [["--seconds", "0"], ["--launch", "mpirun -n 2"], ["--launch", "mpirun", "--mpi", "a,b"], ["x"]]
)
def test_wrong_command_lines(words):
    with pytest.raises(SystemExit) as end:
        parse(words)
    assert end.value.code == 2


def test_launch_is_words():
    assert parse(["--mpi", "mpich", "--launch", "mpirun -n 2 --host 'a b'"]).launch == [
        "mpirun",
        "-n",
        "2",
        "--host",
        "a b",
    ]


def test_mpis_that_are_not_built(tmp_path):
    with pytest.raises(RunError, match="not built for mpich"):
        mpis_of(Home(tmp_path), "mpich")
    with pytest.raises(RunError, match="not built for any MPI"):
        mpis_of(Home(tmp_path), None)
