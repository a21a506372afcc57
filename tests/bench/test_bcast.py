"""`dunnage bench bcast`: what it makes of its measurements, and one run of it."""

import json
import os
import subprocess
import sys

import pytest
from dunnage.bench.bcast import report as bcast
from dunnage.bench.bcast import run as bcast_run
from dunnage.bench.bcast.results import (
    LOOP,
    SYNCHRONISED,
    broadcasts,
    miscounted,
    saved,
    slower_broadcasts,
    summarize_broadcasts,
)
from dunnage.bench.experiment import load
from dunnage.bench.home import ROOT, find_home
from dunnage.bench.runner import Run

EXPERIMENT = ROOT / "bench" / "experiments" / "bcast.toml"


def series(times, **more):
    """Samples in microseconds."""
    measured = {"samples": [1e-6 * time for time in times]}
    return {SYNCHRONISED: measured, LOOP: measured, "verified": True, "late": 1, **more}


def record(ranks=8, bytes_=1024, **ways):
    return {"record": "result", "ranks": ranks, "bytes": bytes_, "buffers": "warm", "roots": "0", "series": ways}


def run_of(*records, mpi="mpich5"):
    return Run(
        records=[(mpi, one) for one in records], headers={mpi: {"core": 0, "library_version": "x", "dunnage": True}}
    )


def counted(ranks, bytes_, tuned_messages=None, received=None):
    native = ranks * (ranks - 1) + ranks - 1
    return record(
        ranks,
        bytes_,
        native=series([4.0], messages=native, bytes_received=0),
        tuned=series(
            [2.0],
            messages=native - saved(ranks) if tuned_messages is None else tuned_messages,
            bytes_received=(ranks - 1) * bytes_ if received is None else received,
        ),
    )


def test_the_documents_savings():
    assert (saved(8), saved(10), saved(2), saved(1)) == (12, 15, 1, 0)


def test_launches_are_joined():
    (one,) = broadcasts(run_of(record(plain=series([10.0, 20.0])), record(plain=series([30.0]))))
    assert one.time("plain") == pytest.approx(20e-6) and one.series["plain"]["late"] == 2
    assert one.time("dunnage") is None and one.ratio("dunnage", "plain") is None


def test_counts_are_checked():
    assert not miscounted(broadcasts(run_of(counted(8, 1024), counted(10, 4096))))
    assert "messages" in miscounted(broadcasts(run_of(counted(8, 1024, tuned_messages=63))))[0]
    assert "received" in miscounted(broadcasts(run_of(counted(8, 1024, received=7 * 1024 + 1))))[0]


def test_slower_ones_are_named():
    results = broadcasts(
        run_of(
            record(plain=series([10.0]), dunnage=series([5.0])),
            record(bytes_=2048, plain=series([10.0]), dunnage=series([12.0])),
        )
    )
    ((ratio, worst, _, _),) = slower_broadcasts(results, 0.97)
    assert worst.bytes == 2048 and ratio == pytest.approx(10 / 12)
    figures = {
        figure.name: figure
        for figure in summarize_broadcasts(results, {"dunnage": {"least": 0.97, "mean": {"mpich5": 3}}})
    }
    assert figures["plain over dunnage, synchronised: worst"].met is False
    assert figures["plain over dunnage, synchronised: geometric mean"].value == pytest.approx((2 * 10 / 12) ** 0.5)
    assert figures["plain over dunnage, loop: worst"].threshold is None


def test_what_is_measured_depends_on_the_cores():
    experiment = load(EXPERIMENT)
    found = bcast_run.points(experiment, 64)
    assert {9, 16, 17, 33, 48, 64, 65, 129, 256} == set(found)
    assert 12288 in found[17] and 33554432 in found[16] and set(experiment.sweeps["B"]["bytes"]) < set(found[129])


def test_the_report_says_what_is_wrong(tmp_path, capsys):
    broken = series([5.0])
    broken["verified"] = False
    run = run_of(record(plain=series([10.0]), dunnage=broken))
    run.skipped.append({"ranks": 64, "reason": "2 cores"})
    assert not bcast.report(load(EXPERIMENT), run, {}, tmp_path)
    said = capsys.readouterr().out
    assert (
        "WRONG BYTES: mpich5, 8 ranks, 1 KiB, warm, root 0, dunnage" in said
        and "64 ranks, since there are 2 cores" in said
    )
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".txt", ".png"}


def test_a_run_of_it(tmp_path):
    home = find_home()
    mpi = next((name for name in home.mpis("bench_bcast") if name in ("mpich", "openmpi")), None)
    if mpi is None:
        pytest.skip("bench_bcast is not built")
    words = [sys.executable, "-m", "dunnage.bench", "bcast", "--quick", "--mpi", mpi, "--output", str(tmp_path)]
    done = subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "bcast.json").read_text())
    assert all(way["verified"] for one in found["results"] for way in one["series"].values())
    assert {"plain", "dunnage", "plain-ibcast", "dunnage-ibcast", "native", "tuned", "copy"} == set(
        found["results"][0]["series"]
    )
