"""`dunnage bench higrad`: the report from canned records, and runs in host memory and on the
simulated device. tests/examples holds the program itself against a serial reference."""

import json
import os

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.experiment import Experiment
from dunnage.bench.higrad.document import MACHINES, document_table
from dunnage.bench.higrad.plot import bars, document_bars
from dunnage.bench.higrad.report import report, tables
from dunnage.bench.higrad.results import cases, summarize_cases
from dunnage.bench.home import find_home
from dunnage.bench.runner import Run

PROGRAM = "higrad_mpi_module"
home = find_home()
mpis = home.mpis(PROGRAM)
needs_program = pytest.mark.skipif(not mpis or not home.library.exists(), reason=f"{PROGRAM} is not built")


def record(option, variant, exchange, checksum="00AB", launch=0, compute=6e-3, ghost=1):
    return "mpich", {"record": "result", "option": option, "memory": "device", "ranks": 2, "mesh": [8, 8, 10],
                     "variables": 5, "ghost": ghost, "checksum": checksum, "variant": variant, "launch": launch,
                     "compute": {"median": compute, "samples": [compute]},
                     "communication": {"median": exchange, "samples": [exchange]}}


def canned(*more):
    return Run(records=[
        record(0, "plain", 8e-3), record(0, "dunnage", 4e-3),
        record(1, "plain", 6e-3), record(1, "dunnage", 2e-3),
        record(1, "plain", 20e-3, launch=1), record(1, "dunnage", 4e-3, launch=1),
        record(1, "plain", 3e-3, launch=2), record(1, "dunnage", 3e-3, launch=2),
        record(2, "dunnage", 1e-3), *more,
    ], headers={"mpich": {"dunnage": True}})


def figures(run):
    criteria = {"plain": {"least": 4}, "packed": {"most": 3}}
    return {figure.name: figure
            for figure in summarize_cases(cases(run), Experiment("higrad_device", "", PROGRAM, 1, criteria))}


def wrong(run):
    return [(one.option, variant) for one in cases(run) for variant, right in one.right.items() if not right]


def test_launches_that_took_turns_are_compared():
    found = figures(canned())
    assert found["option 0, exchange, plain/Dunnage"].value == pytest.approx(2)
    one = found["option 1, exchange, plain/Dunnage"]
    assert (one.value, one.met) == (pytest.approx(3), False)  # the median of 3, 5 and 1
    assert "option 2, exchange, plain/Dunnage" not in found


def test_datatypes_are_held_against_packing_kernels():
    found = figures(canned())
    over = found["exchange, option 1 over option 2, Dunnage"]
    assert (over.value, over.met) == (pytest.approx(3), True)
    assert "exchange, option 1 over option 2, plain" not in found
    slower = figures(canned(record(1, "dunnage", 9e-3), record(1, "dunnage", 9e-3), record(1, "dunnage", 9e-3)))
    assert not slower["exchange, option 1 over option 2, Dunnage"].met


def test_checksums_are_compared_with_plain_option_0():
    assert not wrong(canned())
    assert wrong(canned(record(2, "dunnage", 1e-3, "00AC"))) == [(2, "dunnage")]
    # Another depth has another result, and needs a reference of its own.
    assert not wrong(canned(record(0, "plain", 1e-3, "00AC", ghost=3), record(1, "dunnage", 1e-3, "00AC", ghost=3)))
    assert wrong(canned(record(1, "dunnage", 1e-3, "00AB", ghost=3))) == [(1, "dunnage")]
    assert len(wrong(canned(record(0, "plain", 8e-3, "00AC")))) == 5


def test_the_table_shows_what_was_not_measured_and_what_is_wrong():
    lines = tables(cases(canned(record(2, "dunnage", 1e-3, "00AC")))).splitlines()
    assert "8x8x10 cells, 5 variables, device memory" in lines[0]
    assert lines[3].split()[-6:] == ["8", "4", "2", "57.1", "40.0", "yes"]
    assert lines[5].split()[-1] == "NO" and " - " in lines[5]


def test_the_table_shows_the_way_of_what_a_stream_starts():
    mpi, by_stream = record(3, "dunnage", 1e-3)
    own = cases(canned((mpi, {**by_stream, "way": "kernels"}), (mpi, {**by_stream, "way": "kernels", "launch": 1})))
    lines = tables(own).splitlines()
    assert lines[6].split()[-2:] == ["kernels", "yes"] and "3 a stream starts the messages" in lines[6]
    assert not wrong(canned(record(3, "dunnage", 1e-3))) and wrong(canned(record(3, "dunnage", 1e-3, "00AC")))


def test_the_document_has_the_figures_of_its_summary():
    over = [machine.communication[1] / machine.communication[2] for machine in MACHINES]
    assert over == [pytest.approx(150, abs=0.5), pytest.approx(184, abs=0.5)]
    shares = [100 * one.communication[1] / one.total[1] for one in MACHINES]
    assert shares == [pytest.approx(77.1754, abs=1e-3), pytest.approx(88.6882, abs=1e-3)]
    assert "Chicama" in document_table() and len(document_bars()) == 6


def test_bars_are_computation_and_exchange_in_milliseconds():
    assert bars(cases(canned()), "mpich")[2] == ("2 ranks, 1 deep, 1 plain", pytest.approx(6), pytest.approx(6))


@pytest.mark.parametrize("break_it, said", [
    (lambda run: None, None),
    (lambda run: run.records.append(record(1, "dunnage", 1e-3, "FFFF")), "WRONG CHECKSUM: mpich, option 1"),
    (lambda run: run.lost.append("mpich, 2 ranks, dunnage: died"), "lost: mpich, 2 ranks, dunnage: died"),
    (lambda run: run.headers["mpich"].update(dunnage=False), "DUNNAGE WAS NOT LOADED: mpich"),
])
def test_the_report_fails_if_something_is_wrong(tmp_path, capsys, break_it, said):
    run = canned()
    run.skipped.append({"mpi": "mpich", "options": "1, 2", "reason": "not CUDA-aware"})
    break_it(run)
    experiment = Experiment("higrad_device", "Higrad", PROGRAM, 1, {})
    assert report(experiment, run, {}, tmp_path) is (said is None)
    printed = capsys.readouterr().out
    assert (said or "") in printed and "skipped: mpi mpich, options 1, 2, reason not CUDA-aware" in printed
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".png"}


def results_of(tmp_path, mpi, name, *words):
    assert main(["higrad", "--quick", "--mpi", mpi, "--output", str(tmp_path), *words]) == 0
    document = json.loads((tmp_path / f"{name}.json").read_text())
    assert {"date", "cpu", "git_commit", "command", "mpis", "summary"} <= set(document)
    assert document["mpis"][mpi]["dunnage"] and (tmp_path / f"{name}.png").stat().st_size > 0
    assert not document["lost"] and all(all(one["right"].values()) for one in document["results"])
    return document


@needs_program
@pytest.mark.parametrize("mpi", [name for name in mpis if name in ("openmpi", "mpich")])
def test_the_command_in_host_memory(tmp_path, mpi):
    found = results_of(tmp_path, mpi, "higrad_host")["results"]
    cores = len(os.sched_getaffinity(0))
    assert {(one["ranks"], one["option"]) for one in found} == {
        (ranks, option) for ranks in (1, 2) if ranks <= cores for option in (0, 1, 2)}
    assert all(set(one["exchange"]) == {"plain", "dunnage"} for one in found)


@needs_program
def test_the_command_on_the_simulated_device(tmp_path, monkeypatch):
    if not (home.simulator / "libcuda.so.1").exists():
        pytest.skip("there is no simulated device")
    monkeypatch.setenv("LD_LIBRARY_PATH", "")  # the command changes it
    document = results_of(tmp_path, mpis[0], "higrad_device", "--memory", "device", "--simulated")
    # The MPI by itself ends on device memory, so plain has the option that copies.
    assert "cannot send from device memory" in document["skipped"][0]["reason"]
    found = {(one["option"], *sorted(one["exchange"])) for one in document["results"]}
    by_host = {(0, "dunnage", "plain"), (1, "dunnage"), (2, "dunnage")}
    assert {one for one in found if one[0] < 3} == by_host
    # What a stream starts is there if its program is. Where options 4 and 5 cannot run, it says so.
    triggered = home.program(mpis[0], "higrad_triggered").exists()
    left_out = {int(one["options"]) for one in document["skipped"] if "cannot run" in one["reason"] or
                "option 5 needs" in one["reason"]}
    assert found - by_host == {(option, "dunnage") for option in (3, 4, 5) if triggered and option not in left_out}
    assert all(one["ways"] for one in document["results"] if one["option"] >= 3)


@needs_program
def test_without_a_gpu_the_command_says_so(capsys):
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("there is a GPU")
    assert main(["higrad", "--memory", "device", "--quick", "--mpi", mpis[0]]) == 2
    assert "libcuda" in capsys.readouterr().err
