"""bench_bcast_device on the simulated device."""

import pytest

from dunnage.bench.home import find_home
from dunnage.bench.runner import launch_program

PROGRAM = "bench_bcast_device"
home = find_home()
mpis = home.mpis(PROGRAM)


@pytest.mark.skipif(
    not mpis or not home.library.exists() or not (home.simulator / "libcuda.so.1").exists(),
    reason="no simulated device, or nothing for it",
)
def test_every_way_is_right(monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(home.simulator))
    records = launch_program(
        home,
        PROGRAM,
        mpis[0],
        ["--bytes", "4096,1000001", "--rounds", "1", "--each", "2"],
        2,
        settings={"DUNNAGE_BCAST": "window"},
    )
    assert records[0]["dunnage"]
    results = [record for record in records if record["record"] == "result"]
    assert [result["bytes"] for result in results] == [4096, 1000001]
    for result in results:
        assert set(result["series"]) == {
            "staged by the program",
            "dunnage",
            "dunnage-ibcast",
        }  # NCCL knows no simulated device
        assert all(series["verified"] and len(series["samples"]) == 2 for series in result["series"].values())
