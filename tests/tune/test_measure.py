"""How time is shared among launches, and what is made of launches that fail; without an MPI."""

import time
from pathlib import Path

import pytest

from dunnage.bench.home import Home
from dunnage.bench.runner import RunError
from dunnage.tune import measure
from dunnage.tune.__main__ import mpis_of, parse
from dunnage.tune.measure import Budget, WrongBytes, measure_all
from dunnage.tune.progress import Progress
from synthetic import header, messages, packs, references
from test_evaluate import PACK, RECEIVE, SEND


def test_time_is_shared_and_overhead_learnt(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(140, 4, overhead=2)
    assert budget.next() == pytest.approx(8)  # 40 s for four launches that take 2 s more
    now[0] += 14  # 6 s more
    budget.took(8, 14)
    assert budget.another(3) and not budget.another(6)
    assert budget.overhead == pytest.approx(4) and budget.next() == pytest.approx((26 - 12) / 3)
    now[0] += 100
    assert budget.next() == measure.SHORTEST


def launches(monkeypatch, make, seconds=1):
    monkeypatch.setattr(measure, "launch_program", make)
    said = []
    return said, lambda mpis: measure_all(Home(Path("nowhere")), mpis, (), seconds, said.append)


def records(settings, right=True, **changes):
    results = (
        messages("send", SEND)
        if settings["DUNNAGE_TICKETS"] == "always"
        else (packs(*PACK) + references() + messages("send", SEND) + messages("receive", RECEIVE))
    )
    progress = {"record": "progress", "share": 0.5, "cases": len(results), "known": 3}
    return [header(**changes), progress, *results, {"record": "end", "right": right}]


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


def test_launches_are_repeated_as_often_as_the_noise_needs(monkeypatch):
    """What is known has few rounds after the first pass. Further passes are for MPIs with much
    unknown."""
    asked = []

    def launch(home, program, mpi, arguments, ranks, settings, **_):
        asked.append((mpi, settings["DUNNAGE_TICKETS"], arguments[2:]))
        found = records(settings, library=mpi)
        if mpi == "noisy" and settings["DUNNAGE_TICKETS"] == "off":
            for one in found[2:12]:
                one["series"]["plain"]["samples"] = [1e-6 * k for k in range(1, 12)]
        return found

    said, run = launches(monkeypatch, launch, seconds=1000)
    found = run(["quiet", "noisy"])
    assert [mpi for mpi, tickets, _ in asked if tickets == "off"] == ["quiet", "noisy"] * 4 + ["noisy"] * 8
    known = {(mpi, tickets): words for mpi, tickets, words in asked}
    cases = len(found[0].records)
    assert asked[0][2] == [] and known["quiet", "off"] == ["--known", f"0-{cases - 1}"]
    assert known["noisy", "off"] == ["--known", f"10-{cases - 1}"]
    tickets = len(found[0].ticket_records)
    assert known["noisy", "always"] == ["--tickets", "--least", "16384", "--known", f"0-{tickets - 1}"]
    assert [len(one.records[0]["series"]["plain"]["samples"]) for one in found] == [4 * 11, 12 * 11]


def test_there_is_no_second_pass_without_time(monkeypatch):
    now, asked = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def launch(home, program, mpi, arguments, ranks, settings, each, **_):
        asked.append(float(arguments[1]))
        now[0] += 1.5 + asked[-1]
        each({"record": "progress", "share": 1.0, "cases": 9, "known": 3})
        return records(settings)

    said, run = launches(monkeypatch, launch, seconds=21)
    assert len(run(["a", "b", "c"])) == 3
    assert asked == [pytest.approx((21 - 6 * 1.5) / 6, abs=0.02)] * 6, "one pass has all of the time"
    asked.clear()
    said, run = launches(monkeypatch, launch, seconds=70)
    assert len(run(["a", "b", "c"])) == 3
    assert asked == [pytest.approx((70 - 24 * 1.5) / 24, abs=0.1)] * 24
    asked.clear()
    said, run = launches(monkeypatch, launch, seconds=40)
    assert len(run(["a", "b", "c"])) == 3
    assert asked == [pytest.approx((40 - 12 * 1.5) / 12, abs=0.1)] * 12, "two passes, and none beyond the time"


def test_a_launch_that_fails_later_leaves_what_was_measured(monkeypatch):
    asked = []

    def launch(*_, settings, **__):
        asked.append(settings)
        if len(asked) > 2:
            raise RunError("no more")
        return records(settings)

    said, run = launches(monkeypatch, launch, seconds=1000)
    assert len(run(["a"])) == 1 and said == ["a: no more"] and len(asked) == 3


def test_progress_says_how_much_time_is_left(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Progress(120) as progress:
        progress.begin("mpich: tickets")
        now[0] += 50
        progress.show("3 of 9 times known")
        progress.begin("impi: tickets")
        now[0] += 100
        progress.begin("impi: tickets")
    assert capsys.readouterr().err.splitlines() == [
        "  mpich: tickets, at most 120 s left",
        "  impi: tickets, at most 70 s left",
        "  impi: tickets, at most 0 s left",
    ]


def test_an_mpi_that_is_there_twice_is_measured_once(tmp_path):
    def built(*mpis):
        for mpi in mpis:
            (tmp_path / "mpi" / mpi).mkdir(parents=True)
            (tmp_path / "mpi" / mpi / "bench_tune").touch()
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / "libdunnage.so").touch()
        return Home(tmp_path)

    assert mpis_of(built("openmpi", "mpi_abi"), None) == ["mpi_abi", "openmpi"]
    assert mpis_of(built("mpich5", "impi"), None) == ["impi", "mpich5", "openmpi"]
    assert mpis_of(Home(tmp_path), "mpi_abi") == ["mpi_abi"]


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
