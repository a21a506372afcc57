"""`dunnage bench imb` and `osu`: programs of others are found, launched, and their tables read."""

import json
import os

import pytest

from dunnage.bench.__main__ import main
from dunnage.bench.home import Home, find_home
from dunnage.bench.installed import report as installed
from dunnage.bench.installed import tables
from dunnage.bench.installed.find import find_programs
from dunnage.bench.runner import Run

IMB = """
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0           50         2.63         0.00
           32           50         1.46        21.97

#-----------------------------------------------------------------------------
# Benchmarking Exchange
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8           50         1.15         1.25         1.20        26.56

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 2
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           50         0.40         0.42         0.41

# All processes entering MPI_Finalize
"""
OSU_LATENCY = """# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size          Latency (us)
1                       0.29
4096                    1.04
"""
OSU_BANDWIDTH = """# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1                       4.00
4096                 8192.00
8192                    0.00
"""
OSU_COLLECTIVE = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       0.52              0.50              0.54         500
"""


def rows(found):
    return [(row.benchmark, row.bytes, row.microseconds) for row in found]


def test_tables_of_imb():
    assert rows(tables.imb(IMB)) == [
        ("PingPong", 0, 2.63), ("PingPong", 32, 1.46), ("Exchange", 8, 1.2), ("Barrier", 0, 0.41)]


def test_tables_of_osu():
    assert rows(tables.osu(OSU_LATENCY)) == [("MPI Latency", 1, 0.29), ("MPI Latency", 4096, 1.04)]
    assert rows(tables.osu(OSU_BANDWIDTH)) == [("MPI Bandwidth", 1, 0.25), ("MPI Bandwidth", 4096, 0.5)]
    assert rows(tables.osu(OSU_COLLECTIVE)) == [("MPI Allreduce Latency", 4, 0.52)]


def test_what_is_no_table_has_no_rows():
    assert tables.imb("killed\n 12 13\n") == tables.osu("no such device\n") == []


class Elsewhere(Home):
    """A home whose MPIs have their launchers below a folder."""

    def launcher(self, mpi):
        return str(self.path / mpi / "bin" / "mpirun")


@pytest.fixture
def home(tmp_path):
    for mpi, program in (("one", "bin/IMB-MPI1"), ("two", "libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency")):
        (tmp_path / "mpi" / mpi).mkdir(parents=True)
        (tmp_path / mpi / "bin").mkdir(parents=True)
        (tmp_path / mpi / program).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / mpi / program).touch()
    return Elsewhere(tmp_path)


def test_programs_belong_to_the_mpi_beside_them(home, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert find_programs(home, ["IMB-MPI1"], None, None) == {"one": [home.path / "one/bin/IMB-MPI1"]}
    [program] = find_programs(home, ["osu_latency", "osu_bw"], None, None)["two"]
    assert program.name == "osu_latency"


def test_a_folder_or_path_needs_the_mpi_by_name(home, tmp_path, monkeypatch):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "osu_bw").touch()
    (folder / "osu_bw").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    assert find_programs(home, ["osu_bw"], None, None) == {}
    assert find_programs(home, ["osu_bw"], None, "one") == {"one": [folder / "osu_bw"]}
    monkeypatch.setenv("PATH", "")
    assert find_programs(home, ["osu_bw"], folder, "two") == {"two": [folder / "osu_bw"]}


def test_rounds_are_paired(tmp_path):
    run = Run(records=[("mpich", {"pattern": "PingPong", "bytes": 8, "series": {
        "plain": {"samples": [plain]}, "dunnage": {"samples": [plain / 2]}}}) for plain in (1.0, 10.0, 3.0)])
    [line] = installed.lines(run)
    assert line.ratios == [2, 2, 2]
    figures = {figure.name: figure.value for figure in installed.summarize([line])}
    assert figures == {"PingPong, plain/Dunnage, geometric mean": pytest.approx(2), "lowest, plain/Dunnage": 2}


def test_imb_from_end_to_end(tmp_path, capsys):
    built = find_home()
    if not find_programs(built, ["IMB-MPI1"], None, "impi"):
        pytest.skip("the Intel MPI Benchmarks are not installed")
    assert main(["imb", "--quick", "--rounds", "1", "--mpi", "impi", "--output", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "Dunnage loaded" in shown and "PingPong, plain/Dunnage, geometric mean" in shown
    document = json.loads((tmp_path / "imb.json").read_text())
    benchmarks = {line["pattern"] for line in document["results"]}
    assert {"PingPong", "Sendrecv", "Exchange", "Bcast", "Allreduce", "Alltoall", "Allgather"} == benchmarks
    assert (tmp_path / "imb.png").stat().st_size > 1000


def test_what_is_not_installed_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", os.defpath)
    built = find_home()
    if find_programs(built, ["osu_latency"], None, None):
        pytest.skip("OSU's benchmarks are installed")
    assert main(["osu", "--quick", "--output", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "osu_latency was not found beside any MPI's launcher; give its folder by --programs" in said


def test_a_program_that_fails_is_named(tmp_path, capsys):
    built = find_home()
    mpi = sorted(path.name for path in built.programs.glob("*"))[0]
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "IMB-MPI1").write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
    (folder / "IMB-MPI1").chmod(0o755)
    assert main(["imb", "--programs", str(folder), "--mpi", mpi, "--output", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "IMB-MPI1" in said and "ended with status" in said
