"""`dunnage bench pack --memory device` on the simulated device, with tiny cases."""

import json
import os
import subprocess

import pytest

from dunnage.bench import __main__ as command
from dunnage.bench.home import find_home

PROGRAM = "bench_pack_device"
CASES = [
    "box 4x8x4 of 16x16x16",
    "box 1x16x16 of 16x16x16",
    "box 2x16x8 of 16x16x16",
    "list 8 sorted 400",
    "list 16 shuffled 400",
    "struct int,double,char x 16",
    "subarrays 3 4x4x4 of 8x8x8",
    "halo 8 deep 2",
    "transpose 16x8 of 8",
    "vector 32 1/2 float",
    "contiguous 1024",
]
EXPERIMENT = """
title = "Tiny"
program = "{program}"
[run]
modes = ["cold", "warm"]
operations = ["pack", "unpack"]
starts = ["zero", "odd"]
rounds = {rounds}
repetitions = {{ samples = 3, warm_ups = 1 }}
allocation = 16384
seconds = 60
cases = {cases}
[criteria.descriptions]
spread = 0.03
[criteria.copy]
slower = 0
"""

built = find_home()
simulator = built.path / "lib" / "dunnage" / "sim"
kernels = built.path / "tests" / "libkernels_on_host.so"
mpis = built.mpis(PROGRAM)
needs_program = pytest.mark.skipif(not mpis, reason=f"{PROGRAM} is not built in {built.path}; it needs nvcc")
needs_simulator = pytest.mark.skipif(
    not (simulator / "libcuda.so.1").exists(), reason=f"no simulated device in {simulator}"
)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """bench("wrong", cases=...) runs the benchmark with the library's stand-in, which may
    be told to go wrong. Returns the exit status and the results file."""

    def run(mode="right", cases=CASES, rounds=1, mpi=mpis[0], library="stand-in", own_kernels=False):
        home = built.path if library == "itself" else tmp_path / "home"
        if library != "itself":
            (home / "lib").mkdir(parents=True)
            (home / "mpi" / mpi).mkdir(parents=True)
            (home / "mpi" / mpi / PROGRAM).symlink_to(built.program(mpi, PROGRAM))
        if library == "stand-in":
            (home / "lib" / "libdunnage.so").symlink_to(built.programs / mpi / "libstaged_pack.so")
        experiment = tmp_path / "pack_device.toml"
        experiment.write_text(EXPERIMENT.format(program=PROGRAM, rounds=rounds, cases=json.dumps(cases)))
        monkeypatch.setattr(command, "experiment_files", lambda home: [experiment])
        monkeypatch.setenv("DUNNAGE_HOME", str(home))
        monkeypatch.setenv("STAGED_PACK", mode)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(simulator))
        if own_kernels:
            monkeypatch.setenv("STAGED_KERNELS", str(kernels))
        status = command.main(["pack", "--memory", "device", "--mpi", mpi, "--output", str(tmp_path)])
        results = tmp_path / "pack_device.json"
        return status, json.loads(results.read_text()) if results.exists() else None

    return run


def wrong(document):
    return {name for result in document["results"] for name in result["wrong"]}


@needs_program
@needs_simulator
@pytest.mark.parametrize("mpi", mpis)
def test_cases_are_measured_and_reported(bench, mpi, tmp_path, capsys):
    status, document = bench(mpi=mpi, rounds=2)
    out = capsys.readouterr().out
    assert status == 0, out
    assert {"date", "command", "git_commit", "mpis", "summary"} <= set(document)
    assert document["mpis"][mpi]["device"].startswith("Dunnage simulated device")
    measured = {(one["pattern"], one["start"], one["mode"], one["operation"]) for one in document["results"]}
    assert measured >= {
        (case, "zero", mode, operation)
        for case in CASES
        for mode in ("cold", "warm")
        for operation in ("pack", "unpack")
    }
    for one in document["results"]:
        assert any(name.startswith("dunnage ") for name in one["series"])
        for name, series in one["series"].items():
            assert len(series["samples"]) == 6
            assert name.endswith("synchronised") or series["verified"]
    box = next(one for one in document["results"] if one["pattern"] == CASES[0])
    assert {
        "dunnage v_hv_hv",
        "dunnage v_hv",
        "dunnage hindexed",
        "dunnage hindexed_block",
        "dunnage subarray",
        "memcpy",
    } <= set(box["series"])
    assert box["skipped"]["document"] == "the driver has no such kernel"
    assert any(figure["name"] == "descriptions of one box differ by" for figure in document["summary"])
    assert "pack, cold" in out and "of limit" in out
    assert f"{mpi}: plain is not measured: MPI_Pack on device memory ended by SIG" in out
    assert (tmp_path / "pack_device.png").stat().st_size > 0
    assert CASES[0] in (tmp_path / "pack_device.txt").read_text()


@needs_program
@needs_simulator
def test_the_benchmarks_own_kernels_are_right(bench, capsys):
    """Run on the host: the document's kernel moves the right bytes, by the verdict of the kernels
    that compare. Every word size."""
    boxes = [
        "box 1x16x16 of 16x16x16",
        "box 2x16x8 of 16x16x16",
        "box 12x3x5 of 16x16x16",
        "box 8x16x4 of 16x16x16",
        "box 100x7x2 of 128x8x16",
    ]
    status, document = bench(cases=boxes + CASES[3:], own_kernels=True)
    assert status == 0, capsys.readouterr().out
    for one in document["results"]:
        series = set(one["series"])
        assert {"empty", "read probe"} <= series and ("write probe" in series) == (one["operation"] == "unpack")
        assert ("document" in series) == (one["kind"] not in ("list", "struct", "halo"))
        if "document" in series:
            assert one["series"]["document"]["verified"]
        assert (one["limit"] is None) == (one["mode"] == "warm")
    figures = {figure["name"] for figure in document["summary"]}
    assert {"call over a bare kernel, up to 64 KiB, us", "geometric mean, document/Dunnage"} <= figures


@needs_program
@needs_simulator
@pytest.mark.skipif(not built.library.exists(), reason=f"{built.library} is not built")
@pytest.mark.parametrize("mpi", mpis)
def test_the_library_itself_is_measured(bench, mpi, capsys):
    status, document = bench(mpi=mpi, library="itself")
    assert status == 0, capsys.readouterr().out
    for one in document["results"]:
        assert any(name.startswith("dunnage ") for name in one["series"])


@needs_program
@needs_simulator
@pytest.mark.parametrize("own_kernels", [False, True], ids=["on the host", "by kernels"])
@pytest.mark.parametrize("mode", ["wrong", "stray"])
def test_wrong_bytes_are_found(bench, mode, own_kernels, capsys):
    """A byte that is wrong, and one that is written beside the result. CUDA's own copy stays
    right."""
    status, document = bench(mode, own_kernels=own_kernels)
    assert status == 1
    for one in document["results"]:
        moved = {name for name in one["series"] if name.startswith("dunnage") and not name.endswith("synchronised")}
        assert set(one["wrong"]) == moved
    out = capsys.readouterr().out
    assert f"WRONG BYTES: pack of '{CASES[0]}' with {mpis[0]}: dunnage hindexed, " in out
    assert "NO: dunnage" in out


@needs_program
@needs_simulator
def test_a_library_that_crashes_on_device_memory_is_named_and_the_rest_is_measured(bench, capsys):
    status, document = bench("crash", cases=CASES[:1])
    assert status == 1
    assert set(document["results"][0]["series"]) == {"memcpy"}
    assert "dunnage is not measured: MPI_Pack on device memory ended by SIG" in capsys.readouterr().out


@needs_program
@needs_simulator
def test_a_case_in_which_the_program_dies_is_lost_alone(bench, capsys):
    status, document = bench(cases=[CASES[0], "no case", CASES[1]])
    assert status == 1
    assert {one["pattern"] for one in document["results"]} == {CASES[0], CASES[1]}
    [lost] = document["lost"]
    assert "'no case'" in lost and "is no case" in lost


@needs_program
@needs_simulator
def test_a_case_that_is_too_large_is_skipped(bench, capsys):
    status, document = bench(cases=["contiguous 20000", CASES[0]])
    assert status == 0
    assert [one["pattern"] for one in document["skipped"]] == ["contiguous 20000", "contiguous 20000"]
    assert "does not fit into 16384 bytes" in capsys.readouterr().out


@needs_program
@needs_simulator
def test_without_the_library_the_rest_is_measured(bench):
    status, document = bench(cases=CASES[:1], library=None)
    assert status == 0
    assert set(document["results"][0]["series"]) == {"memcpy"}


@needs_program
@needs_simulator
def test_without_a_gpu_there_is_one_line(bench, capsys, monkeypatch):
    monkeypatch.setenv("DUNNAGE_SIM_DEVICES", "0")
    status, document = bench()
    said = capsys.readouterr()
    assert (status, document, said.out) == (2, None, "")
    assert said.err == "dunnage bench: no GPU: CUDA's driver finds no GPU\n"


@needs_program
@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
def test_without_a_driver_there_is_one_line(capsys, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert command.main(["pack", "--memory", "device"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "no GPU" in said.err


@needs_program
@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="there is a GPU")
def test_without_a_gpu_all_experiments_say_what_cannot_run(capsys, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    [experiment] = [path for path in command.experiment_files(built) if path.stem == "pack_device"]
    monkeypatch.setattr(command, "experiment_files", lambda home: [experiment])
    assert command.main(["--all"]) == 2  # none could run
    assert "dunnage bench: pack_device: cannot run here: no GPU: " in capsys.readouterr().err


@needs_program
def test_no_library_of_cuda_is_linked():
    for mpi in mpis:
        needed = subprocess.run(
            ["readelf", "-d", built.program(mpi, PROGRAM)], capture_output=True, text=True, check=True
        )
        assert "libcuda" not in needed.stdout
