"""`dunnage bench unexpected`: the report from canned records, and bench_unexpected in host memory
and on the simulated device."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.experiment import Experiment
from dunnage.bench.home import find_home
from dunnage.bench.runner import Run
from dunnage.bench.unexpected.report import report, tables, way_table
from dunnage.bench.unexpected.results import delay, lates, summarize_lates
from dunnage.bench.unexpected.run import ways

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installed import BUILD, MPIS, command, environment, yielding  # noqa: E402

PROGRAM = "bench_unexpected"
CALLS = {"send", "isend", "persistent", "sendrecv"}
home = find_home()
mpis = home.mpis(PROGRAM)
needs_program = pytest.mark.skipif(not mpis or not home.library.exists(), reason=f"{PROGRAM} is not built")


def record(lateness, variant, seconds, launch=0, right=True, device=None):
    return "mpich", {"record": "result", "call": "isend", "memory": "host", "ranks": 2, "messages": 8, "bytes": 65536,
                     "block": 64, "lateness": lateness, "verified": right, "variant": variant, "launch": launch,
                     "seconds": {"median": seconds, "samples": [seconds]}, "ratio": None,
                     "in_calls": {"median": 1e-6}, "in_wait": {"median": 4e-6},
                     "peak_bytes": {"on time": 2 << 20, "late": (3 + launch) << 20}, "shared_bytes": 1 << 20,
                     "device_bytes": device, "ways": {"by ticket": 3, "packed, sent by the MPI": 1}}


def canned(*more):
    return Run(records=[
        record(0, "plain", 50e-6), record(0, "dunnage", 20e-6),
        record(1e-3, "plain", 100e-6), record(1e-3, "dunnage", 25e-6),
        record(0, "plain", 50e-6, 1), record(0, "dunnage", 20e-6, 1),
        record(1e-3, "plain", 900e-6, 1), record(1e-3, "dunnage", 100e-6, 1),
        record(0, "plain", 50e-6, 2), record(0, "dunnage", 20e-6, 2),
        record(1e-3, "plain", 200e-6, 2), record(1e-3, "dunnage", 100e-6, 2), *more,
    ], headers={"mpich": {"dunnage": True}})


def figures(*more):
    criteria = {"plain": {"mean": 1, "least": 0.8}, "late": {"most": 4}}
    found = summarize_lates(lates(canned(*more)), Experiment("unexpected_host", "", PROGRAM, 1, criteria))
    return {figure.name: (pytest.approx(figure.value), figure.met) for figure in found}


def test_launches_that_took_turns_are_compared():
    found = figures()
    assert found["late, geometric mean, plain/Dunnage"] == (4, True)  # the median of 4, 9 and 2
    assert found["late over on time, worst, plain"] == (4, None)
    assert found["late over on time, worst, Dunnage"] == (5, False)


def test_short_times_are_no_collapse():
    found = figures(record(0, "dunnage", 0.1e-6, 3), record(0, "dunnage", 0.1e-6, 4), record(0, "dunnage", 0.1e-6, 5),
                    record(0, "dunnage", 0.1e-6, 6))
    assert found["late over on time, worst, Dunnage"] == (10, False)  # 100 us over 10 us


def test_the_table_has_a_column_for_each_lateness():
    lines = tables(lates(canned())).splitlines()
    assert "0 us    1 ms    late/on time" in lines[1] and "device" not in lines[1]
    assert lines[3].split()[-8:] == ["plain", "50", "200", "4", "5", "5", "1", "yes"]
    assert lines[4].split()[-8:] == ["Dunnage", "20", "100", "5", "5", "5", "1", "yes"]


def test_the_table_without_plain_and_with_device_memory():
    only = Run(records=[record(0, "dunnage", 20e-6, device=2 << 20), record(1e-4, "dunnage", 30e-6, device=3 << 20)])
    lines = tables(lates(only)).splitlines()
    assert "device MiB" in lines[1] and lines[3].split()[-4:] == ["3", "1", "3", "yes"] and len(lines) == 4


def test_ways_come_from_the_report():
    assert ways({"accelerated": 9, "by ticket": 6, "declined": {"contiguous data": 2}}) == {
        "by ticket": 6, "packed, sent by the MPI": 3, "left to the MPI: contiguous data": 2}
    assert ways({"accelerated": 9, "by ticket": 9, "declined": {}, "device memory": {"direct": 9}}) == {"direct": 9}
    assert ways({}) == {}
    assert "75 % by ticket, 25 % packed, sent by the MPI" in way_table(lates(canned()))


def test_a_lateness_has_its_unit():
    assert [delay(seconds) for seconds in (0, 1e-5, 1e-4, 1e-3, 1e-2)] == ["0 us", "10 us", "100 us", "1 ms", "10 ms"]


@pytest.mark.parametrize("break_it, said", [
    (lambda run: None, None),
    (lambda run: run.records.append(record(0, "dunnage", 1e-6, 3, False)), "WRONG BYTES: mpich, isend, 8 x 64 KiB"),
    (lambda run: run.lost.append("mpich, 2 ranks, 1 x 512 bytes, blocks 0, dunnage: died"), "lost: mpich, 2 ranks"),
    (lambda run: run.headers["mpich"].update(dunnage=False), "DUNNAGE WAS NOT LOADED: mpich"),
])
def test_the_report_fails_if_something_is_wrong(tmp_path, capsys, break_it, said):
    run = canned()
    run.skipped.append({"mpi": "mpich", "variant": "plain", "reason": "not CUDA-aware"})
    break_it(run)
    assert report(Experiment("unexpected_host", "Late", PROGRAM, 1, {}), run, {}, tmp_path) is (said is None)
    printed = capsys.readouterr().out
    assert (said or "") in printed and "skipped: mpi mpich, variant plain, reason not CUDA-aware" in printed
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".png"}


def run_program(name, *arguments, ranks=2, preload=()):
    program = BUILD / "mpi" / name / PROGRAM
    if name not in MPIS or not program.exists():
        pytest.skip(f"{program} is not built")
    given = yielding(MPIS[name], {"LD_PRELOAD": ":".join(map(str, preload))} if preload else {})
    run = subprocess.run(
        [*map(str, command(MPIS[name], ranks, given)), str(program), *arguments, "--rounds", "1", "--each", "2"],
        env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )
    records = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return run, [one for one in records if one["record"] == "result"]


@pytest.mark.parametrize("name, more", [("openmpi", ["--sleep"]), ("mpich", []), ("mpich5", [])])
def test_every_call_and_layout(name, more):
    run, results = run_program(name, "--bytes", "512,65536", "--messages", "3", "--lateness", "0,200", *more,
                               preload=[BUILD / "lib" / "libdunnage.so"])
    assert run.returncode == 0 and len(results) == 4 * 2 * 2 * 2, run
    assert {one["call"] for one in results} == CALLS and all(one["verified"] for one in results)
    for one in results:
        assert len(one["seconds"]["samples"]) == 2 and one["ratio"] is not None and one["device_bytes"] is None
        assert min(one["peak_bytes"].values()) > 3 * one["bytes"]
        assert (one["ratio"] == 1) or one["lateness"] > 0


def test_the_sender_of_a_large_message_waits_and_pairs_do_not_mix():
    run, results = run_program("openmpi", "--bytes", "1048576", "--messages", "1", "--blocks", "0", "--lateness",
                               "5000", "--calls", "send,isend", ranks=4)
    assert run.returncode == 0 and all(one["verified"] and one["ratio"] is None for one in results), run
    blocked = {one["call"]: (one["in_calls"]["median"], one["in_wait"]["median"]) for one in results}
    assert blocked["send"][0] > 4e-3 and blocked["isend"][1] > 4e-3


def test_an_odd_number_of_ranks_is_an_error():
    run, results = run_program("openmpi", ranks=1)
    assert run.returncode == 2 and not results and "needs pairs of ranks, has 1" in run.stderr


def test_wrong_bytes_are_found(tmp_path):
    """A stand-in for Dunnage receives one byte too far, or changes a byte between two blocks."""
    if "mpich" not in MPIS:
        pytest.skip("no mpich")
    library, source = tmp_path / "damaging.so", tmp_path / "damaging.c"
    source.write_text("""#include <mpi.h>
int MPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  return PMPI_Irecv((char*)b + 1, n, t, from, tag, c, r);
}
int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
  const int result = PMPI_Recv(b, n, t, from, tag, c, s);
  ((char*)b)[64] ^= 1;
  return result;
}
""")
    subprocess.run(["mpicc.mpich", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    run, results = run_program("mpich", "--bytes", "512", "--messages", "2", "--blocks", "64", "--lateness", "0,100",
                               preload=[library])
    assert run.returncode == 1
    assert {(one["call"], one["verified"]) for one in results} == {
        ("send", False), ("isend", False), ("persistent", True), ("sendrecv", True)}


def results_of(tmp_path, name, *words):
    mpi = "openmpi" if "openmpi" in mpis else mpis[0]
    assert main(["unexpected", "--quick", "--mpi", mpi, "--output", str(tmp_path), *words]) == 0
    document = json.loads((tmp_path / f"{name}.json").read_text())
    assert {"date", "cpu", "git_commit", "command", "mpis", "summary"} <= set(document)
    assert document["mpis"][mpi]["dunnage"] and (tmp_path / f"{name}.png").stat().st_size > 0
    assert not document["lost"] and all(all(one["verified"].values()) for one in document["results"])
    return document


@pytest.fixture(autouse=True)
def share_cores(monkeypatch):
    """Other programs may need the cores. A rank of Open MPI that waits then gives up its core."""
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    monkeypatch.setenv("OMPI_MCA_hwloc_base_binding_policy", "none")


needs_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")


@needs_program
@needs_cores
def test_the_command_in_host_memory(tmp_path, capsys):
    found = results_of(tmp_path, "unexpected_host")["results"]
    assert {(one["call"], one["block"]) for one in found} == {(call, block) for call in CALLS for block in (0, 64)}
    assert all(set(one["times"]) == {"plain", "dunnage"} for one in found)
    assert all(one["ways"] for one in found)
    assert "asked" in capsys.readouterr().out


@needs_program
@needs_cores
def test_the_command_on_the_simulated_device(tmp_path, monkeypatch, capsys):
    if not (home.simulator / "libcuda.so.1").exists():
        pytest.skip("there is no simulated device")
    monkeypatch.setenv("LD_LIBRARY_PATH", "")  # the command changes it
    document = results_of(tmp_path, "unexpected_device", "--memory", "device", "--simulated")
    assert "cannot send from device memory" in document["skipped"][0]["reason"]
    assert all(set(one["times"]) == {"dunnage"} for one in document["results"])
    assert "reads the sender's buffer" in capsys.readouterr().out


@needs_program
def test_without_a_gpu_the_command_says_so(capsys):
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("there is a GPU")
    assert main(["unexpected", "--memory", "device", "--quick", "--mpi", mpis[0]]) == 2
    assert "libcuda" in capsys.readouterr().err
