"""`dunnage bench halo`: the report from canned records, and bench_halo on every way that it has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.experiment import Experiment
from dunnage.bench.halo.report import tables
from dunnage.bench.halo.results import halos, summarize_halos
from dunnage.bench.home import find_home
from dunnage.bench.runner import Run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installed import BUILD, MPIS, command, environment  # noqa: E402

home = find_home()
WAYS = {"direct", "isend", "persistent", "implicit", "neighbour", "packed by a kernel each", "packed by one kernel",
        "packed, one message a peer"}


def record(way, variant, seconds, right=True, launch=0):
    return "mpich", {"record": "result", "way": way, "memory": "host", "ranks": 2, "cells": 32, "ghost": 1,
                     "variables": 1, "bytes": 100, "verified": right, "variant": variant, "launch": launch,
                     "seconds": {"median": seconds, "samples": [seconds]}, "phases": {"wait": seconds}}


def canned():
    return halos(Run(records=[
        record("direct", "plain", 1e-6, None), record("direct", "dunnage", 2e-6, None),
        record("isend", "plain", 8e-6), record("isend", "dunnage", 4e-6),
        record("isend", "plain", 20e-6, launch=1), record("isend", "dunnage", 5e-6, launch=1),
        record("isend", "plain", 9e-6, launch=2), record("isend", "dunnage", 3e-6, launch=2),
        record("neighbour", "plain", 5e-6), record("neighbour", "dunnage", 10e-6, right=False),
    ]))


def figures():
    criteria = {"plain": {"mean": 2, "least": 0.97}, "limit": {"isend": 3}}
    found = summarize_halos(canned(), Experiment("halo_host", "", "bench_halo", 1, criteria))
    return {figure.name: figure for figure in found}


def test_launches_that_took_turns_are_compared():
    assert figures()["isend, geometric mean, plain/Dunnage"].value == pytest.approx(3)
    assert figures()["isend, geometric mean, plain/Dunnage"].met


def test_the_slowest_is_named():
    slowest = figures()["slowest, plain/Dunnage"]
    assert (slowest.value, slowest.met) == (pytest.approx(0.5), False)
    assert slowest.pattern == "neighbour, 2 ranks, 32 cells, 1 deep"


def test_the_limit_is_the_faster_of_its_launches():
    over = figures()["Dunnage over the limit"]
    assert (over.value, over.met) == (pytest.approx(4), False)


def test_wrong_cells_are_shown():
    lines = tables(canned()).splitlines()
    assert [line.split()[-1] for line in lines if "neighbour" in line] == ["NO"]
    assert [line.split()[-1] for line in lines if " isend" in line] == ["yes"]


def ways_that_ran(name, ranks, *arguments, preload=(), **variables):
    program = BUILD / "mpi" / name / "bench_halo"
    if name not in MPIS or not program.exists():
        pytest.skip(f"{program} is not built")
    given = {**variables, **({"LD_PRELOAD": ":".join(map(str, preload))} if preload else {})}
    run = subprocess.run(
        [*map(str, command(MPIS[name], ranks, given)), str(program), *arguments, "--rounds", "1", "--each", "2"],
        env=environment(), capture_output=True, text=True, timeout=200, check=False,
    )
    records = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return run, [one for one in records if one["record"] == "result"]


@pytest.mark.parametrize("mode", ["plain", "dunnage"])
@pytest.mark.parametrize("name, ranks", [("openmpi", 1), ("mpich", 3), ("mpich5", 2)])
def test_every_way_fills_the_ghost_cells(name, ranks, mode):
    preload = [BUILD / "lib" / "libdunnage.so"] if mode == "dunnage" else []
    run, results = ways_that_ran(name, ranks, "--cells", "5", "--ghost", "2", "--variables", "1,2", preload=preload)
    broken = [one["way"] for one in results if one["verified"] is False]
    # Some MPIs confuse the neighbours on periodic rings of one and two ranks: see
    # docs/reference/limits.md.
    assert not [way for way in broken if "neighbour" not in way], run.stderr
    assert WAYS <= {one["way"] for one in results}


@pytest.mark.parametrize("how", ["each", "any", "some", "test all", "test any"])
def test_every_order(how):
    run, results = ways_that_ran("openmpi", 2, "--cells", "4", "--ways", "isend|persistent|implicit", "--wait", how,
                                 "--post", "sends first", "--start-each", "--joined", "--variables", "3")
    assert run.returncode == 0 and len(results) == 3 and all(one["verified"] for one in results), run


def test_wrong_cells_are_found(tmp_path):
    """A stand-in for Dunnage receives every message one cell too far."""
    if "mpich" not in MPIS:
        pytest.skip("no mpich")
    library, source = tmp_path / "damaging.so", tmp_path / "damaging.c"
    source.write_text("""#include <mpi.h>
int MPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  return PMPI_Irecv((char*)b + sizeof(double), n, t, from, tag, c, r);
}
""")
    subprocess.run(["mpicc.mpich", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    run, results = ways_that_ran("mpich", 1, "--cells", "5", "--ways", "^(isend|persistent)$", preload=[library])
    assert run.returncode == 1
    assert {one["way"]: one["verified"] for one in results} == {"isend": False, "persistent": True}


@pytest.mark.parametrize("ranks", [1, 2])
def test_on_the_simulated_device(ranks):
    simulator = BUILD / "lib" / "dunnage" / "sim"
    if not (simulator / "libcuda.so.1").exists():
        pytest.skip("built without CUDA's header")
    run, results = ways_that_ran(
        "openmpi", ranks, "--memory", "device", "--cells", "6", "--ghost", "2", "--variables", "2",
        preload=[BUILD / "lib" / "libdunnage.so", BUILD / "tests" / "libkernels_on_host.so"],
        LD_LIBRARY_PATH=str(simulator),
    )
    assert run.returncode == 0 and WAYS <= {one["way"] for one in results}, run
    assert all(one["verified"] for one in results), results


def test_the_command_compares_and_reports(tmp_path, capsys):
    mpis = home.mpis("bench_halo")
    if not mpis or not home.library.exists():
        pytest.skip(f"bench_halo or the library is not built in {home.path}")
    assert main(["halo", "--quick", "--mpi", mpis[0], "--output", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "halo_host.json").read_text())
    assert {"date", "cpu", "git_commit", "command", "mpis", "summary"} <= set(document)
    assert WAYS <= {one["way"] for one in document["results"]}
    assert (tmp_path / "halo_host.png").stat().st_size > 0
    assert "asked" in capsys.readouterr().out


def test_without_a_gpu_the_command_says_so(capsys):
    if not home.mpis("bench_halo") or os.path.exists("/dev/nvidia0"):
        pytest.skip("bench_halo is not built, or there is a GPU")
    assert main(["halo", "--memory", "device", "--quick", "--mpi", home.mpis("bench_halo")[0]]) == 2
    assert "libcuda" in capsys.readouterr().err
