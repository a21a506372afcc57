"""The report by size, by peer and by call site, on a program that sends to both neighbours in a
ring."""
import json
import os
import shutil

import pytest

from dunnage.report.reports import read
from dunnage.report.sites import names
from installed import BUILD, MPIS

pytestmark = pytest.mark.family_in_turns

ROWS = {16: 256, 4096: 65536}  # rows of the matrix, and the bytes of a message
RANKS = 3
FLAVOURS = [name for name in MPIS if (BUILD / "mpi" / name / "columns").exists()]
CASES = [(flavour, "always") for flavour in FLAVOURS] + [(flavour, mode) for flavour in FLAVOURS[:1]
                                                         for mode in ("dunnage", "staged")]


@pytest.mark.parametrize("flavour, mode", CASES)
def test_sizes_and_peers(launch, tmp_path, flavour, mode):
    file = tmp_path / "report.json"
    run = launch(flavour, "columns", *ROWS, ranks=RANKS, mode=mode, DUNNAGE_REPORT=str(file))
    assert run.code == 0, run
    report = json.loads(file.read_text())
    assert report["ranks"] == RANKS
    sends = report["calls"]["MPI_Isend"]
    for name in ("MPI_Isend", "MPI_Irecv"):
        call = report["calls"][name]
        sizes = call["by size"]
        assert {one["up to"] for one in sizes} == set(ROWS.values()), name
        assert sum(one["accelerated"] for one in sizes) == call["accelerated"]
        assert sum(one["declined"] for one in sizes) == sum(call["declined"].values())
        assert sum(one["bytes"] for one in sizes) == call["bytes"]
        assert sum(one["seconds"] for one in sizes) == pytest.approx(call["seconds"], abs=1e-8)

    peers = report["peers"]
    assert {(one["from"], one["to"]) for one in peers} == {(a, b) for a in range(RANKS) for b in range(RANKS) if a != b}
    assert sum(one["accelerated"] for one in peers) == sends["accelerated"]
    assert sum(one["declined"] for one in peers) == sum(sends["declined"].values())
    assert sum(one["bytes"] for one in peers) == sends["bytes"]
    assert len({one["accelerated"] + one["declined"] for one in peers}) == 1, "every pair has as many messages"
    if mode != "dunnage":
        assert sends["accelerated"] > 0


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_call_sites(launch, tmp_path, flavour):
    """Of the first rank: all its calls that are counted, at the places that make them."""
    file = tmp_path / "report.json"
    run = launch(flavour, "columns", *ROWS, ranks=RANKS, mode="always", DUNNAGE_REPORT=str(file))
    assert run.code == 0, run
    report = json.loads(file.read_text())
    sites = report["call sites"]
    program = BUILD / "mpi" / MPIS[flavour].programs / "columns"
    for name in ("MPI_Isend", "MPI_Irecv"):
        call, there = report["calls"][name], [site for site in sites if site["call"] == name]
        assert {site["file"] for site in there} == {str(program)}
        assert sum(site["accelerated"] for site in there) * RANKS == call["accelerated"]
        assert sum(sum(site["declined"].values()) for site in there) * RANKS == sum(call["declined"].values())
        assert sum(site["bytes"] for site in there) * RANKS == call["bytes"]
        assert 0 < sum(site["seconds"] for site in there) < call["seconds"]
    assert len({(site["file"], site["offset"]) for site in sites}) == len(sites)
    assert [site["seconds"] for site in sites] == sorted((site["seconds"] for site in sites), reverse=True)
    assert any(place.startswith("exchange, ") for place in names(read(file).sites))  # the program's function


FORTRAN = [(name, interface) for name in MPIS for interface in ("mpif", "mpi_module", "f08")
           if (BUILD / "mpi" / MPIS[name].programs / f"higrad_{interface}").exists()]


@pytest.mark.parametrize("flavour, interface", FORTRAN)
def test_call_sites_of_a_fortran_program(launch, tmp_path, flavour, interface):
    """Its own places, not those of the MPI's Fortran library, which calls the hooks."""
    file = tmp_path / "report.json"
    program = BUILD / "mpi" / MPIS[flavour].programs / f"higrad_{interface}"
    run = launch(flavour, program.name, "--mesh", "8,8,8", "--steps", "3", mode="always", DUNNAGE_REPORT=str(file))
    assert run.code == 0, run
    report = json.loads(file.read_text())
    sites = report["call sites"]
    assert {site["file"] for site in sites} == {str(program)}
    assert len({site["offset"] for site in sites if site["call"] == "MPI_Isend"}) > 1
    for name in ("MPI_Isend", "MPI_Irecv"):
        assert sum(site["bytes"] for site in sites if site["call"] == name) * 2 == report["calls"][name]["bytes"]


def test_a_program_whose_path_is_no_text(launch, tmp_path):
    """A byte that is no UTF-8 in the path of the program does not cost the report."""
    flavour, file = FLAVOURS[0], tmp_path / "report.json"
    program = BUILD / "mpi" / MPIS[flavour].programs / "columns"
    copy = tmp_path / os.fsdecode(b"program-\xe9")
    shutil.copy(program, copy)
    started = ("sh", "-c", 'shift; exec "$0"-* "$@"', str(tmp_path / "program"))
    run = launch(flavour, "columns", 16, 256, ranks=2, mode="always", through=started, DUNNAGE_REPORT=str(file))
    assert run.code == 0, run
    assert {site["file"] for site in json.loads(file.read_text())["call sites"]} == {str(tmp_path / "program-\ufffd")}
