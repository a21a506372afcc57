"""bench_tune on every MPI, and `dunnage tune` as a user runs it."""

import json
import subprocess

import pytest

from dunnage.bench.home import find_home
from dunnage.bench.runner import NotHere, RunError, launch_program
from dunnage.tune.measure import COMMON, PROGRAM, STAGED, TICKETS
from installed import MPIS, command, environment

home = find_home()
built = [mpi for mpi in home.mpis(PROGRAM) if home.launcher(mpi)]
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        not built or not home.library.exists(), reason=f"{PROGRAM} or the library is not built in {home.path}"
    ),
]
SHORT = ["--seconds", "0.5", "--most", "32768"]  # a third of it to make ready
FEW = {"fewest": 3, "again": 5}  # rounds


@pytest.fixture(autouse=True)
def a_pause(monkeypatch):
    monkeypatch.setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")  # there may be fewer cores than ranks


@pytest.mark.parametrize("mpi", built or ["none"])
def test_the_program_measures_what_it_should(mpi):
    seen = []
    header, *records = launch_program(home, PROGRAM, mpi, SHORT, 2, settings=STAGED, each=seen.append, limit=100)
    assert seen == [header, *records]
    assert header["peers"] == "same_host" and header["dunnage"] and header["hosts"][0] == header["hosts"][1]
    assert header["built_in"]["messages"]["same_host"]["send"]["engine"]["call"] > 0
    assert records[-1] == {"record": "end", "right": True}
    shares = [record["share"] for record in records if record["record"] == "progress"]
    assert shares == sorted(shares) and len(shares) >= 3 and 0 < shares[0] <= shares[-1] <= 1
    results = [record for record in records if record["record"] == "result"]
    assert {record["cases"] for record in records if record["record"] == "progress"} == {len(results)}
    found = {(one["kind"], one.get("direction"), one["bytes"], one.get("block")) for one in results}
    assert {
        ("message", side, size, block)
        for side in ("send", "receive")
        for size in (1024, 2048, 4096, 8192, 16384, 32768)
        for block in (8, 64, 512, 4096)
        if 2 * block <= size
    } <= found
    assert ("pack", "unpack", 4 << 20, 4096) in found and ("copy", None, 4 << 20, None) in found
    for one in results:
        ways = {"plain"} if one["kind"] == "copy" or one["direction"] == "contiguous" else {"plain", "dunnage"}
        assert set(one["series"]) == ways and all(min(series["samples"]) > 0 for series in one["series"].values())


def test_known_cases_get_few_rounds():
    """The cases that are told to be known, though no time is; a case is its place in the output."""
    words = ["--seconds", "2", "--most", "2048", "--known", "1-3,5"]
    records = launch_program(home, PROGRAM, built[0], words, 2, settings=STAGED, limit=100)
    results = [record for record in records if record["record"] == "result"]
    rounds = [{len(series["samples"]) for series in one["series"].values()} for one in results]
    assert all(len(one) == 1 for one in rounds), "plain and Dunnage take turns"
    for place, [count] in enumerate(rounds):
        if place in (1, 2, 3, 5):
            assert FEW["fewest"] <= count <= FEW["again"]
        else:
            assert count >= FEW["fewest"]
    assert records[-2]["record"] == "result" and records[-1]["right"]


def test_places_that_make_no_sense_are_refused():
    with pytest.raises(RunError, match="places have the form 0-3,7"):
        launch_program(home, PROGRAM, built[0], [*SHORT, "--known", "x"], 2, settings=STAGED, limit=100)


def test_it_measures_the_messages_of_the_mpi():
    header, *records = launch_program(
        home, PROGRAM, built[0], ["--network", "--seconds", "0.2", "--most", "65536"], 2, settings=STAGED, limit=100
    )
    assert header["built_in"]["bcast"]["other_host"]["latency"] == 20000 and records[-1] == {
        "record": "end",
        "right": True,
    }
    results = [record for record in records if record["record"] == "result"]
    assert [(one["messages"], one["bytes"]) for one in results] == [
        (messages, length)
        for length in (8, 32, 128, 512, 2048, 8192, 32768)
        for messages in (1, 16)
        if messages * length <= 65536
    ]
    assert all(one["kind"] == "network" and min(one["series"]["plain"]["samples"]) > 0 for one in results)


def test_tickets_are_taken(tmp_path):
    report = tmp_path / "report.json"
    records = launch_program(
        home,
        PROGRAM,
        built[0],
        ["--seconds", "0.1", "--tickets", "--least", "131072"],
        2,
        settings={**TICKETS, "DUNNAGE_REPORT": str(report)},
        limit=100,
    )
    assert {one["direction"] for one in records if one.get("kind") == "message"} == {"send"}
    assert json.loads(report.read_text())["calls"]["MPI_Send"]["by ticket"] > 0


def test_wrong_bytes_are_found(tmp_path):
    """With a library in Dunnage's place that damages what is received."""
    compilers = {one["name"]: one["compiler"] for one in json.loads((home.path / "mpis.json").read_text())}
    library = tmp_path / "lib" / "libdunnage.so"
    library.parent.mkdir()
    source = home.path.parent / "tests" / "bench" / "damaging.c"
    subprocess.run([compilers[built[0]], "-shared", "-fPIC", source, "-o", library], check=True)
    damaged = type("Damaged", (type(home),), {"library": library})
    assert launch_program(damaged(home.path), PROGRAM, built[0], SHORT, 2, settings=COMMON, limit=100)[-1] == {
        "record": "end",
        "right": False,
    }


def test_one_rank_is_refused():
    done = subprocess.run(
        [home.program(built[0], PROGRAM)], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "needs 2 ranks" in done.stderr


def test_a_launch_that_takes_too_long_is_ended():
    with pytest.raises(RunError, match="was ended after 0 s"):
        launch_program(home, PROGRAM, built[0], ["--seconds", "60"], 2, settings=STAGED, limit=0.1)


def tune(*words, **variables):
    return subprocess.run(
        [home.path / "bin" / "dunnage", "tune", *map(str, words)],
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


MPI = next((mpi for mpi in ("openmpi", "mpich") if mpi in built), built[0] if built else "none")


def halo(mpi, **variables):
    variables["LD_PRELOAD"] = str(home.library)
    return subprocess.run(
        [*command(MPIS[mpi], 2, variables), home.program(mpi, "halo3d"), "16", "2"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )


def test_its_file_is_what_dunnage_then_reads(tmp_path):
    done = tune("--mpi", MPI, "--seconds", "3", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    [path] = (tmp_path / "dunnage").iterdir()
    assert f"Written: {path}" in done.stdout and ", on one host" in done.stdout
    assert f"{MPI}: tickets, at most " in done.stderr
    info = subprocess.run(
        [home.path / "bin" / "dunnage", "info"],
        env={**environment(), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    document = json.loads(path.read_text())
    [one] = document["mpis"]
    assert f"{document['made']['date']}, for {one['library']} {one['major']}.{one['minor']}" in info
    assert "dunnage" not in halo(MPI, XDG_CACHE_HOME=str(tmp_path)).stderr

    # It is these figures that decide: with the dearest that there may be, nothing is accelerated
    # any more.
    for side in ("send", "receive"):
        one["messages"].setdefault("same_host", {}).setdefault(side, {}).update(
            {
                "engine": {"call": 1e6},
                "library": {"call": 0, "block": 0, "byte": 0, "far_byte": 0},
                "library_eager_block": 0,
            }
        )
    one["least_ticket"] = 1 << 40
    path.write_text(json.dumps(document))
    report = tmp_path / "report.json"
    halo(MPI, XDG_CACHE_HOME=str(tmp_path), DUNNAGE_REPORT=str(report), DUNNAGE_TRIALS="off")
    sends = json.loads(report.read_text())["calls"]["MPI_Isend"]
    assert sends["accelerated"] == 0 and sends["declined"]["no gain predicted"] > 0


def test_a_damaged_file_is_replaced_and_said(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("{")
    done = tune("--mpi", MPI, "--seconds", "1", "--output", path)
    assert done.returncode == 0 and f"dunnage tune: {path} is damaged; it is replaced" in done.stderr
    assert json.loads(path.read_text())["format"] == "dunnage model"


def test_what_cannot_be_done_is_said():
    for words, says in [
        (["--mpi", "lam"], "not built for lam"),
        (["--mpi", MPI, "--launch", "false"], "nothing was measured"),
        (["--mpi", MPI, "--seconds", "1", "--output", "/proc/none/m.json"], "/proc/none"),
    ]:
        done = tune(*words)
        assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr


def test_a_launcher_of_the_users(tmp_path):
    launch = " ".join(command(MPIS[MPI], 2, {}))
    done = tune("--mpi", MPI, "--seconds", "1", "--output", tmp_path / "m.json", "--launch", launch)
    assert done.returncode == 0, done.stderr


def test_two_hosts(tmp_path):
    try:
        launch_program(home, PROGRAM, MPI, [*SHORT, "--least", "32768"], 2, link="none", settings=STAGED, limit=100)
    except NotHere as why:
        pytest.skip(str(why))
    path = tmp_path / "m.json"
    tune("--mpi", MPI, "--seconds", "2", "--output", path)
    done = tune(
        "--mpi",
        MPI,
        "--seconds",
        "2",
        "--output",
        path,
        "--launch",
        f"{home.script('two-hosts.sh')} --mpi {MPI} --launcher {home.launcher(MPI)} --rate none --",
    )
    assert done.returncode == 0, done.stderr
    assert "between dunnage-a and dunnage-b" in done.stdout
    [one] = json.loads(path.read_text())["mpis"]
    assert set(one["curves"]) == {"same_host", "other_host"}
