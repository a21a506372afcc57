"""`dunnage tune --collective bcast`: figures from times, the file, and the command on a real
MPI."""

import csv
import json
import random
import subprocess
from pathlib import Path

import pytest

from dunnage.bench.home import find_home
from dunnage.bench.runner import RunError
from dunnage.tune import __main__ as command
from dunnage.tune import bcast, bcast_measure, model_file
from dunnage.tune.measure import WrongBytes
from dunnage.tune.prices import Fit
from installed import environment
from synthetic import header, series
from test_evaluate import tuned

ROOT = Path(__file__).resolve().parents[2]
home = find_home()
built = [mpi for mpi in home.mpis(bcast_measure.PROGRAM) if home.launcher(mpi) and mpi in ("openmpi", "mpich")]
real = pytest.mark.skipif(
    not built or not home.library.exists(), reason=f"{bcast_measure.PROGRAM} or the library is not built in {home.path}"
)


@pytest.fixture(autouse=True)
def the_same_noise_each_time():
    random.seed(1)


def exchanges(noise=0.0, **prices):
    found = []
    for messages in (1, 16):
        for length in (8, 32, 128, 512, 2048, 8192, 32768, 131072):
            one = {"record": "result", "kind": "network", "bytes": length, "messages": messages}
            time = sum(prices[part] * often for part, often in bcast.network_row(one).items())
            found.append({**one, "series": {"plain": series(time, noise)}})
    return found


def window_time(length, readers):
    return 2000 + length * (0.25 + 0.03125 * readers)


def broadcasts(counts=(2, 8, 16), noise=0.0, plain=lambda length, ranks: 3 * window_time(length, ranks - 1)):
    return [
        {
            "kind": "bcast",
            "ranks": ranks,
            "bytes": length,
            "series": {"plain": series(plain(length, ranks)), "dunnage": series(window_time(length, ranks - 1), noise)},
        }
        for ranks in counts
        for length in bcast_measure.SIZES
    ]


NETWORK = {"latency": 700.0, "overhead": 150.0, "byte": 0.125}


def found(timed=None, cores=64, messages=None, **changes):
    return bcast.evaluate(
        header(**changes),
        exchanges(**NETWORK) if messages is None else messages,
        broadcasts() if timed is None else timed,
        cores,
    )


def test_prices_that_are_known_are_found():
    one = found(messages=exchanges(0.05, **NETWORK), timed=broadcasts(noise=0.05))
    assert [part.name for part in [*one.window, one.network]] == ["window", "same_host"] and not one.disturbed
    assert one.network.fit.prices == pytest.approx(NETWORK, rel=0.15) and not one.network.refused
    assert (
        one.window[0].fit.prices == pytest.approx({"call": 2000, "byte": 0.25, "reader": 0.03125}, rel=0.15)
        and not one.window[0].refused
    )


def test_with_one_number_of_ranks_readers_are_in_the_price_of_the_byte():
    [window] = found(broadcasts((4,))).window
    assert window.fit.prices == pytest.approx({"call": 2000, "byte": 0.25 + 3 * 0.03125, "reader": 0})
    [window] = found(broadcasts((4, 5))).window
    assert window.fit.prices["reader"] == pytest.approx(0.03125)


@pytest.mark.parametrize("mpi", ["openmpi", "openmpi5", "mpich5", "impi"])
def test_what_64_cores_were_measured_to_take(mpi):
    """9 to 48 ranks, 12 KiB to 32 MiB: such prices explain it, and every reader costs something."""
    points = {}
    with open(
        ROOT / "tests/tune/bcast_64_cores.csv", newline=""
    ) as file:  # docs/measurements/2026-11-22/bcast, root 0, one buffer
        for row in csv.DictReader(file):
            if row["mpi"] == mpi:
                times = [float(row[name]) for name in ("p10", "median", "p90")]
                points.setdefault((int(row["ranks"]), int(row["bytes"])), {})[row["way"]] = {
                    "samples": times,
                    "median": times[1],
                }
    timed = [{"ranks": ranks, "bytes": size, "series": ways} for (ranks, size), ways in points.items()]
    [window] = found([{**one, "kind": "bcast"} for one in timed]).window
    assert not window.refused and window.fit.error < 0.1
    assert (
        2000 < window.fit.prices["call"] < 3000
        and 0.12 < window.fit.prices["byte"] < 0.16
        and 0.001 < window.fit.prices["reader"] < 0.002
    )


def test_messages_cost_what_the_formulas_of_broadcasts_say():
    # One message and the empty answer have a latency and two sides each; each more has one side, as
    # in collective::cost of a chain with one send.
    assert bcast.network_row({"messages": 1, "bytes": 100}) == {"latency": 2, "overhead": 4, "byte": 100}
    assert bcast.network_row({"messages": 10, "bytes": 100}) == {"latency": 2, "overhead": 13, "byte": 1000}


def gains(*factors, ranks=2):
    """Broadcasts of 1 KiB, 2 KiB and so on that are faster by so much."""
    return [
        {"ranks": ranks, "bytes": 1024 << place, "series": {"plain": series(1000 * factor), "dunnage": series(1000)}}
        for place, factor in enumerate(factors)
    ]


@pytest.mark.parametrize(
    "timed, least",
    [
        (gains(2, 2, 2), 1024),
        (gains(1, 1.04, 2, 2), 4096),
        (gains(1, 1, 2), 4096),
        (gains(1, 2, 1, 2, 2), 8192),  # one alone is chance
        (gains(1, 2, 2, 1, 1), 2048),  # beyond, each communicator compares for itself
        (gains(1, 1, 1), bcast.NEVER),
        (gains(2, 1, 2, 1), bcast.NEVER),
        (gains(1, 1, 1) + gains(1, 2, 2, ranks=8), 2048),  # so does each number of ranks
        (gains(0.5, 0.5) + gains(2, 2, ranks=8), 1024),
        (gains(0.5, 0.5) + gains(1, 1, ranks=8), bcast.NEVER),
        ([], bcast.NEVER),
    ],
)
def test_from_where_on_broadcasts_gain(timed, least):
    assert bcast.least_window(timed) == least


def noisy(records, which):
    for one in records:
        one["series"][which]["samples"] = [
            0.5 * one["series"][which]["median"],
            one["series"][which]["median"],
            2 * one["series"][which]["median"],
        ]
    return records


def test_what_is_senseless_is_refused():
    assert "only 4 measurements" in found(broadcasts()[:4]).window[0].refused
    assert "only 0 measurements" in found(messages=[]).network.refused
    one = found(noisy(noisy(broadcasts(), "plain"), "dunnage"), messages=noisy(exchanges(**NETWORK), "plain"))
    assert "too noisy" in one.window[0].refused and "too noisy" in one.network.refused and len(one.disturbed) == 2
    assert "16 ranks on 2 cores" in found(cores=2).window[0].refused and not found(cores=16).window[0].refused
    chance = broadcasts()
    for one in chance:
        one["series"]["dunnage"] = series(10 ** random.uniform(3, 9))
    assert "wrong by" in found(chance).window[0].refused
    assert (
        "no machine" in found(messages=exchanges(latency=1.0, overhead=1.0, byte=0.0)).network.refused
    )  # bytes that cost nothing
    assert (
        "no machine" in found(messages=exchanges(latency=1e8, overhead=1.0, byte=1.0)).network.refused
    )  # more than a file may say
    assert not found(messages=exchanges(latency=9e5, overhead=1e5, byte=1.0)).network.refused


@pytest.mark.parametrize("error, refused", [(0.04, ""), (0.3, "the built-in figures are nearer")])
def test_built_in_figures_that_are_nearer_stay(monkeypatch, error, refused):
    monkeypatch.setattr(bcast, "fit", lambda *_: Fit({"call": 3000, "byte": 0.2, "reader": 0}, error))
    timed = broadcasts()
    for one in timed:
        one["series"]["dunnage"] = series(3000 + one["bytes"] / 6)  # just what is built in
    assert found(timed).window[0].refused == refused


def entries(old, *measured):
    return {one["library"]: one for one in bcast.merge(old, list(measured), "today")}


def test_the_file():
    one = entries([], found())["Open MPI"]
    assert set(one) == {"library", "major", "minor", "date", "messages", "curves", "bcast"}
    assert set(one["bcast"]) == {"window", "least_window", "same_host", "date"}
    assert (
        one["bcast"]["window"] == {"call": 2000, "byte": 0.25, "reader": 0.03125}
        and one["bcast"]["least_window"] == 1024
    )
    assert set(one["curves"]["bcast"]) == {"same_host", "2 ranks", "8 ranks", "16 ranks"}
    assert one["curves"]["bcast"]["2 ranks"].startswith("1024 6864 2288; ")


def test_what_else_the_file_has_stays():
    before = [
        {
            "library": "Open MPI",
            "major": 4,
            "minor": 1,
            "date": "before",
            "least_ticket": 5,
            "gpu": {"direct": 1},
            "messages": {"same_host": {}},
            "curves": {"same_host": {"send": "1"}, "bcast": {"other_host": "1 1 1"}},
            "bcast": {"other_host": {"latency": 7}, "least_window": 9, "date": "before"},
        }
    ]
    one = entries(before, found(), found(library="MPICH"))
    assert set(one) == {"Open MPI", "MPICH"}
    ours = one["Open MPI"]
    assert (
        ours["date"] == "before"
        and ours["least_ticket"] == 5
        and ours["gpu"] == {"direct": 1}
        and ours["messages"] == {"same_host": {}}
    )
    assert (
        ours["bcast"]["other_host"] == {"latency": 7}
        and ours["bcast"]["least_window"] == 1024
        and ours["bcast"]["date"] == "today"
    )
    assert set(ours["curves"]) == {"same_host", "bcast"} and ours["curves"]["bcast"]["other_host"] == "1 1 1"
    # Between hosts only the messages are measured.
    apart = entries(list(one.values()), found([], peers="other_host", hosts=["a", "b"]))["Open MPI"]["bcast"]
    assert apart["other_host"] == NETWORK and {key: apart[key] for key in ("window", "same_host", "least_window")} == {
        key: ours["bcast"][key] for key in ("window", "same_host", "least_window")
    }


def test_other_measurements_leave_these_figures():
    entry = next(iter(entries([], found()).values()))
    [after] = model_file.merge([entry], [tuned()], "later")
    assert (
        after["bcast"] == entry["bcast"]
        and after["curves"]["bcast"] == entry["curves"]["bcast"]
        and "engine_pack" in after
    )


def test_what_was_refused_is_left_to_the_built_in_figures():
    before = list(entries([], found()).values())
    after = entries(before, found(broadcasts()[:4], messages=[]))["Open MPI"]["bcast"]
    assert set(after) == {"date"}


def test_what_is_said():
    text = bcast.report(found(cores=8))
    assert text.startswith("Open MPI 4.1, broadcasts on one host (built-in figures in parentheses)")
    assert (
        "the MPI, 16 ranks" in text
        and "16 MiB" in text
        and "call 2000 (3000), byte 0.25 (0.1667), reader 0.03125 (0); wrong by 0%" in text
    )
    assert "latency 700 (600), overhead 150 (300), byte 0.125 (0.2)" in text
    assert "window: the built-in figures stay: 16 ranks on 8 cores" in text and "may take over" not in text
    assert "Dunnage may take over: from 1 KiB (from 4 KiB)" in bcast.report(found())
    assert "Dunnage may take over: never" in bcast.report(found(broadcasts(plain=lambda length, ranks: 1)))
    assert "between a and b" in bcast.report(found([], peers="other_host", hosts=["a", "b"]))


@pytest.mark.parametrize(
    "asked, here, counts",
    [
        (None, 64, [2, 31, 63]),
        (None, 2, [2]),
        (None, 4, [2, 3]),
        (None, 1, [2]),
        (None, 256, [2, 32, 64]),
        (4, 2, [2, 4]),
        (96, 2, [2, 48, 96]),
    ],
)
def test_numbers_of_ranks(asked, here, counts):
    assert bcast_measure.rank_counts(asked, here) == counts


class Lab:
    """Programs whose output is known."""

    def __init__(self, peers="same_host", accelerated=3, **verified):
        self.verified = {"plain": True, "dunnage": True, **verified}
        self.header, self.accelerated, self.left_out = header(peers=peers), accelerated, 0

    def run(self, mpi, what, settings, arguments):
        assert arguments == ["--network"]
        return self.header, exchanges(**NETWORK)

    def start(self, program, mpi, what, ranks, settings, arguments):
        with open(settings["DUNNAGE_REPORT"], "w") as report:
            json.dump({"calls": {"MPI_Bcast": {"accelerated": self.accelerated}}}, report)
        assert settings["DUNNAGE_BCAST"] == "window" and arguments(15.0)[5] == "1.0000"
        found = [{"record": "header"}]
        for one in broadcasts((ranks,)):
            ways = {
                name: {"synchronised": times, "verified": self.verified[name]} for name, times in one["series"].items()
            }
            found.append({"record": "result", "ranks": ranks, "bytes": one["bytes"], "series": ways})
        del found[3]["series"]["dunnage"]["synchronised"]  # rank after rank came late
        return found

    def leave_out(self, launches):
        self.left_out = launches


def test_launches():
    one = bcast_measure.measure(Lab(), "openmpi", [2, 4])
    assert len(one.timed) == 2 * (len(bcast_measure.SIZES) - 1) and not one.network.refused and one.window
    apart = Lab("other_host")
    assert not bcast_measure.measure(apart, "openmpi", [2, 4]).window and apart.left_out == 2


def test_what_cannot_be_used():
    with pytest.raises(WrongBytes, match="Dunnage gave wrong bytes with openmpi, a broadcast of 1024 bytes"):
        bcast_measure.measure(Lab(dunnage=False), "openmpi", [2])
    with pytest.raises(WrongBytes, match="the MPI itself"):
        bcast_measure.measure(Lab(plain=False), "openmpi", [2])
    with pytest.raises(RunError, match="no broadcast of openmpi was Dunnage's"):
        bcast_measure.measure(Lab(accelerated=0), "openmpi", [2])


@pytest.mark.parametrize(
    "words",
    [
        ["--ranks", "4"],
        ["--collective", "bcast", "--ranks", "1"],
        ["--collective", "bcast", "--memory", "device"],
        ["--collective", "bcast", "--mpi", "a", "--launch", "x", "--ranks", "4"],
        ["--collective", "reduce"],
    ],
)
def test_options_that_do_not_go_together(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.parse(words)
    assert stopped.value.code == 2 and "--" in capsys.readouterr().err


def explain(file):
    return subprocess.run(
        [home.path / "bin" / "dunnage", "explain", "bcast", "--ranks", "9", "--bytes", "16MiB"],
        env={**environment(), "DUNNAGE_MODEL": str(file)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@real
def test_on_a_real_mpi(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")
    for part in ("WORST_ERROR", "MOST", "NEARER"):  # there may be other work here: whatever comes is taken
        monkeypatch.setattr(bcast, part, 1e9)
    monkeypatch.setattr(bcast_measure, "cores", lambda: 2)
    file = tmp_path / "model.json"
    assert command.main(["--collective", "bcast", "--mpi", built[0], "--seconds", "2", "--output", str(file)]) == 0
    text = capsys.readouterr().out
    assert "broadcasts on one host" in text and "Dunnage, 2 ranks" in text and f"Written: {file}" in text
    [entry] = json.loads(file.read_text())["mpis"]
    assert {"window", "least_window", "same_host", "date"} == set(entry["bcast"]) and set(entry["curves"]["bcast"]) == {
        "same_host",
        "2 ranks",
    }
    window = entry["bcast"]["window"]
    assert 0 < window["byte"] < 100 and window["reader"] == 0
    said = explain(file)
    assert "figures of the window and messages within a host measured" in said and str(file) in said
    del entry["bcast"]["window"], entry["bcast"]["same_host"]
    file.write_text(json.dumps({**json.loads(file.read_text()), "mpis": [entry]}))
    assert "figures built in" in explain(file)


@real
def test_no_file_where_nothing_runs(tmp_path, capsys):
    assert (
        command.main(
            ["--collective", "bcast", "--mpi", built[0], "--launch", "false", "--output", str(tmp_path / "m.json")]
        )
        == 2
    )
    assert "nothing was measured" in capsys.readouterr().err and not (tmp_path / "m.json").exists()
