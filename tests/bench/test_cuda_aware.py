"""`dunnage bench cuda-aware` on the simulated device, with tiny messages."""

import json

import pytest

from dunnage.bench import __main__ as command
from dunnage.bench import experiment as experiments
from dunnage.bench.cuda_aware.results import Results, summarize_transfers, transfers
from dunnage.bench.home import find_home
from dunnage.bench.runner import Run, launch_program

PROGRAM = "bench_cuda_aware"
BYTES, FRESH, VECTORS, BLOCKS, WINDOW = [1, 8, 65536], [8, 65536], [65536], [4, 4096], 4
TINY = {
    "bytes": "1,8,65536",
    "fresh-bytes": "8,65536",
    "strided-bytes": "65536",
    "blocks": "4,4096",
    "window": str(WINDOW),
    "seconds": "0.001",
    "least-samples": "2",
    "most-samples": "3",
    "most": "1048576",
    "too-long": "1000000000",
}


def arguments(**changes):
    """The program's, made small; `fresh_bytes=None` leaves it out."""
    options = {**TINY, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]


home = find_home()
mpis = [mpi for mpi in home.mpis(PROGRAM) if home.launcher(mpi)]
pytestmark = pytest.mark.skipif(
    not mpis or not home.library.exists() or not (home.simulator / "libcuda.so.1").exists(),
    reason=f"{PROGRAM}, the library or the simulated device is not built in {home.path}",
)
two = [mpi for mpi in ("mpich", "openmpi") if mpi in mpis] or mpis[:1]
contiguous = {
    (pattern, size, 0, window, "reused")
    for size in BYTES
    for pattern, window in [
        ("latency", 1),
        ("one way", 1),
        ("one way", WINDOW),
        ("both ways", 1),
        ("both ways", WINDOW),
    ]
}
vectors = {
    (pattern, size, block, window, "reused")
    for size in VECTORS
    for block in BLOCKS
    for pattern, window in [("latency", 1), ("one way", WINDOW)]
}
fresh = {("latency", size, 0, 1, "fresh") for size in FRESH}


@pytest.fixture(autouse=True)
def fewer_cores_than_ranks(monkeypatch):
    monkeypatch.setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")


@pytest.fixture
def tiny(monkeypatch):
    """The published experiment, made small."""

    def load(path, quick):
        experiment = experiments.load(path, quick)
        experiment.arguments = arguments()
        experiment.criteria["latency"]["bytes"] = 8
        return experiment

    monkeypatch.setattr(command, "load", load)
    monkeypatch.setenv("LD_LIBRARY_PATH", "")  # what --simulated sets goes with the test


def launch(mpi, monkeypatch, **changes):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(home.simulator))
    return launch_program(home, PROGRAM, mpi, arguments(**changes), 2, limit=120)


@pytest.mark.parametrize("mpi", mpis or ["none"])
def test_every_series_is_right(mpi, monkeypatch):
    header, *results = launch(mpi, monkeypatch)
    assert header["dunnage"] and header["devices"] == 2 and header["device"].startswith("Dunnage simulated device")
    found = {
        (one["memory"], one["pattern"], one["bytes"], one["block"], one["window"], one["buffers"]) for one in results
    }
    assert found == {
        (memory, *key)
        for memory, keys in {
            "device": contiguous | vectors | fresh,
            "host": contiguous,
            "staged by the program": contiguous,
        }.items()
        for key in keys
    }
    for one in results:
        assert one["record"] == "result" and one["verified"], one
        seconds = one["seconds"]
        assert 2 <= seconds["samples"] <= 3 and 0 < seconds["p50"] <= seconds["p99"]


@pytest.mark.parametrize("place", ["first", "last", "gap"])
def test_one_changed_byte_is_found(place, monkeypatch):
    results = launch(two[0], monkeypatch, damage=place)[1:]
    assert len(results) == len(vectors | fresh) + 3 * len(contiguous)
    for one in results:
        assert one["verified"] == (place == "gap" and one["block"] == 0), one


def test_the_report_has_every_variant_and_the_references(tiny, tmp_path, capsys):
    assert command.main(["cuda-aware", "--simulated", "--mpi", ",".join(two), "--output", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "cuda_aware.json").read_text())
    found = {}
    for one in document["results"]:
        key = (one["pattern"], one["bytes"], one["block"], one["window"], one["buffers"])
        found.setdefault((one["mpi"], one["variant"], one["memory"]), set()).add(key)
        assert one["verified"] and 0 < one["p50"] <= one["p99"] and one["bandwidth"] > 0
    device = contiguous | vectors | fresh
    expected = {(two[0], "references", "copy engine"): contiguous}
    for memory in ("device to pinned", "pinned to device"):
        expected[two[0], "references", memory] = {key for key in contiguous if key[0] == "one way"}
    for mpi in two:
        expected[mpi, "plain", "host"] = expected[mpi, "plain", "staged by the program"] = contiguous
        expected[mpi, "dunnage", "host"] = expected[mpi, "dunnage", "staged by the program"] = contiguous
        for variant in ("dunnage", "direct", "staged", "pass"):
            expected[mpi, variant, "device"] = device
    assert found == expected
    assert document["lost"] == []
    skipped = {(one["mpi"], one["variant"], one["memory"]): one["reason"] for one in document["skipped"]}
    assert all(skipped[mpi, "plain", "device"] == "the MPI is not CUDA-aware" for mpi in two)
    assert (two[0], "references", "NCCL") in skipped
    assert (tmp_path / "cuda_aware.png").stat().st_size > 0
    out = capsys.readouterr().out
    assert "half a round trip, 8 bytes, us" in out and f"not measured: {two[0]}, plain, device: the MPI is not" in out
    assert "windows of 4, GB/s" in (tmp_path / "cuda_aware.txt").read_text()


def test_wrong_bytes_and_what_dies_make_the_status_1(tiny, monkeypatch, tmp_path, capsys):
    experiment = experiments.load(next(path for path in command.experiment_files(home) if path.stem == "cuda_aware"))
    experiment.variants = [{"name": "dunnage", "memory": ["device"]}, {"name": "broken", "memory": ["nothing"]}]
    experiment.arguments = arguments(damage="last")
    monkeypatch.setattr(command, "load", lambda *_: experiment)
    assert command.main(["cuda-aware", "--simulated", "--mpi", two[0], "--output", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert f"WRONG BYTES: {two[0]}, device, dunnage: latency, 8 bytes, window 1, reused buffers" in out
    assert f"LOST: {two[0]}, broken, nothing: ended with status " in out


def test_what_does_not_fit_is_left_out(monkeypatch):
    results = launch(two[0], monkeypatch, memory="host", bytes="4096,16384", most="8192")[1:]
    assert {(one["record"], one["bytes"], one.get("reason")) for one in results} == {
        ("result", 4096, None),
        ("skipped", 16384, "memory"),
    }
    assert {one["window"] for one in results if one["record"] == "result"} == {1, 2}  # of 4, two fit


def test_what_would_take_too_long_is_left_out(monkeypatch):
    """Every copy takes 0.1 s here; the first of each kind has nothing to be foretold by."""
    monkeypatch.setenv("DUNNAGE_SIM_DELAY", "200000")
    results = launch(two[0], monkeypatch, memory="staged", bytes="4096,65536", window="1", too_long="1")[1:]
    assert {(one["record"], one["bytes"], one.get("reason")) for one in results} == {
        ("result", 4096, None),
        ("skipped", 65536, "time"),
    }


def test_without_a_gpu_there_is_one_line(monkeypatch, tiny, capsys):
    monkeypatch.setenv("DUNNAGE_SIM_DEVICES", "0")
    assert command.main(["cuda-aware", "--simulated", "--mpi", two[0]]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "dunnage bench: no GPU: CUDA's driver finds no GPU"


def _record(variant, memory, pattern, size, seconds, block=0, window=1):
    return (
        "mpi",
        {
            "variant": variant,
            "memory": memory,
            "pattern": pattern,
            "bytes": size,
            "block": block,
            "window": window,
            "buffers": "reused",
            "seconds": {"p50": seconds, "p99": seconds},
            "verified": True,
        },
    )


def test_the_summary_is_held_to_what_is_asked():
    mib = 1 << 20
    run = Run(
        records=[
            _record("references", "copy engine", "one way", 64 * mib, 16.0, window=16),
            _record("references", "device to pinned", "one way", 64 * mib, 32.0, window=16),
            _record("references", "pinned to device", "one way", 64 * mib, 20.0, window=16),
            _record("dunnage", "device", "one way", 64 * mib, 20.0, window=16),
            _record("dunnage", "device", "one way", 64 * mib, 99.0),
            _record("dunnage", "device", "one way", 64 * mib, 25.0, block=128, window=8),
            _record("staged", "device", "one way", 64 * mib, 40.0, window=16),
            _record("dunnage", "device", "latency", 8, 11e-6),
            _record("direct", "device", "latency", 8, 1.0),
        ]
    )
    criteria = experiments.load(
        next(path for path in command.experiment_files(home) if path.stem == "cuda_aware")
    ).criteria
    figures = {one.name: one for one in summarize_transfers(Results(transfers(run)), criteria)}
    assert set(figures) == {
        "one way over the copy engine, from 67108864 bytes",
        "half a round trip, 8 bytes, us",
        "one way, blocks of 128 over contiguous, from 16777216 bytes",
        "staged path over copies from and to pinned memory, 67108864 bytes",
    }
    engine = figures["one way over the copy engine, from 67108864 bytes"]
    assert (engine.value, engine.met) == (pytest.approx(0.8), False)
    assert figures["half a round trip, 8 bytes, us"].met
    assert figures["one way, blocks of 128 over contiguous, from 16777216 bytes"].value == pytest.approx(0.4)
    assert figures["staged path over copies from and to pinned memory, 67108864 bytes"].value == pytest.approx(0.8)
