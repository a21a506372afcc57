"""`dunnage bench triggered`: the report from canned records, and bench_triggered on the simulated
device."""

import json

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.bcast.run import cores
from dunnage.bench.experiment import Experiment
from dunnage.bench.home import find_home
from dunnage.bench.runner import Run, launch_program
from dunnage.bench.triggered import report, summarize_trips, trips

PROGRAM = "bench_triggered"
home = find_home()
mpis = home.mpis(PROGRAM)
needs_program = pytest.mark.skipif(not mpis or not home.library.exists(), reason=f"{PROGRAM} is not built")


def half_trip(way, microseconds, right=True, **more):
    return "mpich5", {"record": "result", "ranks": 2, "shape": "8 B", "way": way, "microseconds": microseconds,
                      "verified": right, "trigger": "kernels", **more}


def overlap(senders, hidden):
    return "mpich5", {"record": "overlap", "ranks": 2, "shape": "256 MiB", "partitions": 4096, "blocks": 256,
                      "senders": senders, "hidden": hidden, "verified": True, "trigger": "kernels"}


def timeline():
    return "mpich5", {"record": "timeline", "ranks": 2, "shape": "256 MiB", "partitions": 4096, "blocks": 256,
                      "senders": 1, "times": [[0, 0.0, 2.0, 2.0, 3.5], [16, 0.1, 2.1, 2.2, 3.6]], "trigger": "kernels"}


def canned(*more):
    return Run(records=[half_trip("graph, kernels", 2.5), half_trip("graph, kernels", 2.9),
                        half_trip("graph, kernels", 2.7), half_trip("kernel", 3.1),
                        half_trip("stream, kernels", 6.6), half_trip("bare kernels", 6.0),
                        half_trip("bare memory operations", 7.0), overlap(0, 0.5), overlap(1, 0.82),
                        timeline(), *more],
               headers={"mpich5": {"dunnage": True, "library_version": "MPICH"}})


def test_the_summary_is_of_medians():
    criteria = {"short": {"graph": 3.0, "kernel": 2.9, "stream": 1.15}, "hidden": {"most": 80}}
    found = summarize_trips(*trips(canned()), Experiment("triggered", "", PROGRAM, 1, criteria))
    assert {figure.name: (pytest.approx(figure.value), figure.met) for figure in found} == {
        "8 B by a graph, us": (2.7, True), "8 B by a kernel, us": (3.1, False),
        "8 B by a stream, over bare operations": (1.1, True), "hidden at most, %": (82, True)}
    assert "a warp of each block sends" in found[-1].pattern


@pytest.mark.parametrize(
    "more, lost, said", [((), (), None), ((half_trip("host", 9.0, right=False),), (), "WRONG BYTES"),
                         ((), ("mpich5, 2 ranks, proxy: died",), "lost: mpich5")])
def test_the_report(tmp_path, capsys, more, lost, said):
    run = canned(*more)
    run.lost += lost
    assert report(Experiment("triggered", "Triggered", PROGRAM, 1, {}), run, {}, tmp_path) is (said is None)
    assert said is None or said in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"triggered.json", "triggered.png", "triggered_timeline.png"}


@needs_program
def test_on_the_simulated_device(tmp_path, monkeypatch):
    if not (home.simulator / "libcuda.so.1").exists() or cores() < 2:
        pytest.skip("there is no simulated device, or one core only")
    monkeypatch.setenv("LD_LIBRARY_PATH", "")  # the command changes it
    mpi = "mpich" if "mpich" in mpis else mpis[0]
    assert main(["triggered", "--quick", "--simulated", "--mpi", mpi, "--output", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "triggered.json").read_text())
    ways = {one["way"] for one in document["results"]}
    assert {"host", "stream, kernels", "stream, memory-operations", "stream, proxy", "graph, kernels",
            "bare memory operations"} <= ways
    assert all(one["verified"] for one in document["results"])


def by_nvshmem(library):
    """What one rank prints of NVSHMEM's way."""
    if not (home.simulator / "libcuda.so.1").exists():
        pytest.skip("there is no simulated device")
    mpi = "mpich" if "mpich" in mpis else mpis[0]
    settings = {"DUNNAGE_TRIGGER": "memory-operations", "LD_LIBRARY_PATH": str(home.simulator)}
    arguments = ["--rounds", "2", "--overlap", "0", "--nvshmem", str(library)]
    records = launch_program(home, PROGRAM, mpi, arguments, 1, settings=settings, limit=60)
    return [one for one in records if one.get("way", "").startswith("NVSHMEM")]


@needs_program
def test_nvshmem_beside(monkeypatch):
    """By a stand-in for NVSHMEM. Blocks with gaps are left out."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    found = by_nvshmem(home.path / "tests" / "libnvshmem_alone.so")
    assert {(one["shape"], one["way"]) for one in found if "filled" not in one["way"]} == {
        (shape, f"NVSHMEM, {way}") for shape in ("8 B", "8 KiB", "1 MiB") for way in ("stream", "kernel")}
    assert all(one["verified"] for one in found)


@needs_program
@pytest.mark.parametrize("library, said", [("missing.so", "missing.so: cannot open"), (None, "has no bench_nvshmem")])
def test_a_library_that_is_not_nvshmems(monkeypatch, library, said):
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    found = by_nvshmem(library or home.simulator / "libcuda.so.1")
    assert [one["record"] for one in found] == ["skipped"] and said in found[0]["why"], found
