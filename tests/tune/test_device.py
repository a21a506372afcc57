"""`dunnage tune --memory device`: choices from times, the file, and the command on the simulated
device."""

import json

import pytest

from dunnage.bench.home import find_home
from dunnage.tune import __main__ as command
from dunnage.tune import device
from synthetic import header

home = find_home()
built = [mpi for mpi in home.mpis(device.PROGRAM) if home.launcher(mpi) and mpi in ("openmpi", "mpich")]
simulated = pytest.mark.skipif(
    not built or not home.library.exists() or not (home.simulator / "libcuda.so.1").exists(),
    reason=f"{device.PROGRAM}, the library or the simulated device is not built in {home.path}",
)


def times(*microseconds):
    return {8192 << place: 1e-6 * one for place, one in enumerate(microseconds)}


def test_from_where_on_a_way_pays():
    assert device.least(times(5, 5, 5), [times(9, 9, 9)]) == 0
    assert device.least(times(9, 5, 5), [times(5, 9, 9)]) == 16384
    assert device.least(times(9, 5, 9), [times(5, 9, 5)]) == device.NEVER
    assert device.least(times(5, 9, 5), [times(9, 5, 9)]) == 32768  # not from 8192 on: it is slower in between
    assert device.least(times(5.2, 5), [times(5, 5)]) == 0  # within the noise
    assert device.least(times(6, 6, 6), [times(9, 9, 9), times(5, 7, 7)]) == 16384
    assert device.least({}, [times(1)]) == device.NEVER


def test_choices():
    ways = {"direct": times(9, 9, 9), "rings": times(30, 20, 20), "staged": times(8, 25, 50)}
    assert device.choose(ways) == {"direct": 16384, "shared": 16384}
    assert device.choose({**ways, "passed": times(9, 9, 4), "not passed": times(5, 5, 5)})["passed"] == 32768


def found(**changes):
    return device.Gpu(
        {**header(), **changes},
        "a GPU",
        {"direct": times(1, 2), "rings": times(3, 4), "staged": times(5, 6)},
        {"direct": 0, "shared": 16384},
    )


def test_the_rest_of_the_file_stays():
    old = [
        {
            "library": "Open MPI",
            "major": 4,
            "minor": 1,
            "least_ticket": 5,
            "messages": {"a": {}},
            "curves": {"same_host": {"send": "1"}},
        }
    ]
    entries = {one["library"]: one for one in device.merge(old, [found(), found(library="MPICH")], "today")}
    assert entries["Open MPI"]["least_ticket"] == 5 and set(entries["Open MPI"]["curves"]) == {"same_host", "gpu"}
    assert entries["Open MPI"]["curves"]["gpu"]["rings"] == "8192 3000; 16384 4000"
    for one in entries.values():
        assert one["gpu"] == {"direct": 0, "shared": 16384, "device": "a GPU", "date": "today"}


def test_what_is_said():
    text = device.report(found())
    assert "a GPU" in text and "always" in text and "from 16384 bytes on" in text and "3.0" in text


@simulated
def test_on_the_simulated_device(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(home.simulator))
    monkeypatch.setenv("DUNNAGE_SIM_DELAY", "0")
    monkeypatch.setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")
    monkeypatch.setattr(device, "SIZES", [8192, 65536, 1 << 20])
    file = tmp_path / "model.json"
    assert command.main(["--memory", "device", "--mpi", built[0], "--output", str(file)]) == 0
    [entry] = json.loads(file.read_text())["mpis"]
    assert {"direct", "shared", "device", "date"} == set(entry["gpu"]) and set(entry["curves"]["gpu"]) == {
        "direct",
        "rings",
        "staged",
    }
    assert "simulated" in capsys.readouterr().out


@simulated
def test_without_a_gpu(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(home.simulator))
    monkeypatch.setenv("DUNNAGE_SIM_DEVICES", "0")
    assert command.main(["--memory", "device", "--mpi", built[0], "--output", str(tmp_path / "model.json")]) == 2
    assert "no GPU" in capsys.readouterr().err and not (tmp_path / "model.json").exists()
