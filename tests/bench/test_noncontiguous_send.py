"""bench_noncontiguous_send as built for every MPI, and `python -m dunnage.bench noncontiguous-send`
on some of them."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest

from dunnage.bench import experiment as experiments
from dunnage.bench.__main__ import main
from dunnage.bench.home import Home, find_home
from dunnage.bench.runner import NotHere, launch_program

PROGRAM = "bench_noncontiguous_send"
SCHEMES = [
    "contiguous",
    "copying",
    "vector type",
    "subarray",
    "buffered",
    "one-sided",
    "packing(e)",
    "packing(v)",
    "both strided",
    "strided receive",
    "persistent",
    "isend",
]
LIMITED = {"openmpi5": ["--one-sided-most", "1024"]}  # it takes any amount of memory
PATIENT = ["--seconds", "600", "--element-seconds", "600"]  # nothing is left out, however loaded the machine
SMALL = ["--exchanges", "2", "--least", "1024", "--most", "1048576", "--step", "1024", "--flush", "1000000"]

home = find_home()
built = [mpi for mpi in home.mpis(PROGRAM) if home.launcher(mpi)]
pytestmark = pytest.mark.skipif(
    not built or not home.library.exists(), reason=f"{PROGRAM} or the library is not built in {home.path}"
)


def several_cores():
    siblings = (
        Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in os.sched_getaffinity(0)
    )
    return len({path.read_text() for path in siblings}) > 1


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    monkeypatch.setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")  # there may be fewer cores than ranks


@pytest.mark.parametrize("mpi", built or ["none"])
def test_every_scheme_delivers_the_right_bytes_both_ways(mpi):
    header, *results = launch_program(home, PROGRAM, mpi, SMALL + PATIENT + LIMITED.get(mpi, []), 2)
    results = [one for one in results if one["record"] == "result"]
    assert header["dunnage"] and header["exchanges"] == 2 and len(header["cores"]) == 2
    if several_cores():
        assert -1 < min(header["cores"]) < max(header["cores"])
    expected = [(scheme, n) for n in (1024, 1048576) for scheme in SCHEMES]
    if mpi in LIMITED:
        expected.remove(("one-sided", 1048576))
    assert [(one["pattern"], one["bytes"]) for one in results] == expected
    for one in results:
        for series in ("plain", "dunnage"):
            assert len(one["series"][series]["samples"]) == 2 and min(one["series"][series]["samples"]) > 0
            assert one["series"][series]["verified"], (series, one["pattern"], one["bytes"])


def test_wrong_bytes_are_found_and_only_in_the_series_that_has_them(tmp_path):
    """With a library in Dunnage's place that damages what is received."""
    compilers = {one["name"]: one["compiler"] for one in json.loads((home.path / "mpis.json").read_text())}
    library = tmp_path / "lib" / "libdunnage.so"
    library.parent.mkdir()
    source = Path(__file__).with_name("damaging.c")
    subprocess.run([compilers[built[0]], "-shared", "-fPIC", source, "-o", library], check=True)

    damaged = type("Damaged", (Home,), {"library": library})
    records = launch_program(damaged(home.path), PROGRAM, built[0], [*SMALL, *PATIENT, *LIMITED.get(built[0], [])], 2)[
        1:
    ]
    records = [one for one in records if one["record"] == "result"]
    assert all(one["series"]["plain"]["verified"] for one in records)
    right = {one["pattern"] for one in records if one["series"]["dunnage"]["verified"]}
    assert right == {"one-sided"}


def test_what_would_take_too_long_is_left_out_and_said():
    arguments = [
        *SMALL,
        "--schemes",
        "contiguous|packing|one-sided",
        "--element-seconds",
        "0",
        "--one-sided-most",
        "1024",
    ]
    records = launch_program(home, PROGRAM, built[0], arguments, 2)[1:]
    assert [one["pattern"] for one in records if one["record"] == "result"] == [
        "contiguous",
        "one-sided",
        "packing(e)",
        "packing(v)",
        "contiguous",
        "packing(v)",
    ]
    skipped = [(one["pattern"], one["bytes"], one["reason"]) for one in records if one["record"] == "skipped"]
    assert skipped == [("one-sided", 1048576, "memory"), ("packing(e)", 1048576, "time")]


def test_one_rank_is_refused():
    done = subprocess.run(
        [home.program(built[0], PROGRAM)],
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "needs 2 ranks" in done.stderr


@pytest.fixture
def small_experiments(monkeypatch):
    """The published experiments, made small."""

    def load(path, quick):
        experiment = experiments.load(path, quick)
        experiment.arguments = SMALL + PATIENT
        return experiment

    monkeypatch.setattr("dunnage.bench.__main__.load", load)


def test_the_report_has_every_mpi_and_scheme(tmp_path, capsys, small_experiments):
    mpis = [mpi for mpi in ("mpich", "openmpi") if mpi in built] or built[:1]
    assert main(["noncontiguous-send", "--mpi", ",".join(mpis), "--output", str(tmp_path)]) == 0

    document = json.loads((tmp_path / "noncontiguous_send.json").read_text())
    assert {"date", "cpu", "git_commit", "command", "mpis", "summary", "slower", "skipped"} <= set(document)
    found = {(one["mpi"], one["pattern"], one["bytes"]) for one in document["results"]}
    assert found == {(mpi, scheme, n) for mpi in mpis for scheme in SCHEMES for n in (1024, 1048576)}
    with (tmp_path / "noncontiguous_send.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(found)
    assert all(
        float(row["slowdown"]) == 1 for row in rows if row["scheme"] == "contiguous" and row["series"] == "plain"
    )
    assert (tmp_path / "noncontiguous_send.png").stat().st_size > 0
    out = capsys.readouterr().out
    assert "strided sender: worst slowdown from 512 KiB, dunnage" in out and "dropped" in out


def test_by_default_every_mpi_takes_part_but_one_library_twice(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(
        "dunnage.bench.__main__.run_experiment", lambda home, experiment, mpis, *_: asked.extend(mpis) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        main(["noncontiguous-send"])
    assert asked == [mpi for mpi in home.mpis(PROGRAM) if mpi != "mpi_abi"]


def test_a_machine_that_cannot_be_two_hosts_is_told_from_a_failure(monkeypatch, tmp_path):
    script = tmp_path / "scripts" / "two-hosts.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho 'cannot run here: needs root' >&2\nexit 77\n")
    script.chmod(0o755)
    monkeypatch.setattr("dunnage.bench.home.ROOT", tmp_path)
    with pytest.raises(NotHere, match="needs root"):
        launch_program(home, PROGRAM, built[0], [], 2, "10gbit")
