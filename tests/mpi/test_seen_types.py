"""DUNNAGE_EXPLAIN: the datatypes that a program commits, and `dunnage explain --types`."""

import json
import subprocess

import pytest

from chosen import of_each_family
from installed import BUILD, MPIS, environment

pytestmark = pytest.mark.family_in_turns


def seen(launch, tmp_path, flavour, program, *arguments, **more):
    file = tmp_path / "types.json"
    run = launch(flavour, program, *arguments, mode="dunnage", DUNNAGE_EXPLAIN=str(file), **more)
    assert run.code == 0, run
    return json.loads(file.read_text())


def explain(*words):
    command = [BUILD / "bin" / "dunnage", "explain", *map(str, words)]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("flavour", of_each_family(MPIS))
def test_columns(launch, tmp_path, flavour):
    """One type for each number of rows: two columns of a matrix of 64."""
    told = seen(launch, tmp_path, flavour, "columns", 16, 4096)
    assert [one["type"] for one in told["types"]] == ["vector(16,2,64,MPI_DOUBLE)", "vector(4096,2,64,MPI_DOUBLE)"]
    assert [one["bytes"] for one in told["types"]] == [256, 65536] and told["left out"] == 0
    for one in told["types"]:
        assert one["whole"] and one["packed alike"] and one["commits"] == 1, one
        assert 0 < one["Dunnage's pack seconds"] < 1 and 0 < one["the MPI's pack seconds"] < 1, one


def test_what_is_said_of_them(launch, tmp_path):
    told = seen(launch, tmp_path, "mpich", "columns", 16, 4096)
    done = explain("--types", tmp_path / "types.json")
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert "2 of 2, committed 1 times" in lines and "  vector  size 65536, lb 0, extent 2096656" in lines
    assert sum(line.startswith("in the program   the MPI ") for line in lines) == 2, done.stdout
    as_json = json.loads(explain("--types", tmp_path / "types.json", "--json").stdout)
    assert as_json["library"] == told["library"]
    assert [one["bytes"] for one in as_json["types"]] == [256, 65536]
    assert as_json["types"][1]["in the program"]["the MPI's pack seconds"] == told["types"][1]["the MPI's pack seconds"]


def test_types_that_come_again_have_one_line(launch, tmp_path):
    """A particle program makes lists anew every three steps."""
    told = seen(launch, tmp_path, "mpich", "md_halo", "--box", "8,8,8", "--every", "3", "--steps", "6", ranks=2)
    assert {"contiguous(3,MPI_FLOAT)"} <= {one["type"] for one in told["types"]}
    assert max(one["commits"] for one in told["types"]) > 1
    assert len({(one["type"], one["bytes"], one["extent"]) for one in told["types"]}) == len(told["types"])


@pytest.mark.parametrize("flavour", of_each_family(MPIS))
def test_random_types(launch, tmp_path, flavour):
    """What a program commits of any kind can be read again, and has the size that the MPI says."""
    told = seen(launch, tmp_path, flavour, "contract_random", "1", ranks=1)
    assert len(told["types"]) > 5
    for one in [one for one in told["types"] if one["whole"]][:15]:
        done = explain(one["type"], "--json", "--memory", "device")  # which measures nothing
        assert done.returncode == 0, (one, done)
        said = json.loads(done.stdout)
        assert said["size"] == one["bytes"], one


def test_text(launch):
    run = launch("mpich", "columns", 16, mode="dunnage", DUNNAGE_EXPLAIN="1")
    assert "dunnage: 1 datatypes were committed by the first rank" in run.errors
    assert "  vector(16,2,64,MPI_DOUBLE)\n    256 bytes, extent 7696, committed 1 times; MPI_Pack " in run.errors


def test_nothing_is_written_unasked(launch):
    assert "vector(" not in launch("mpich", "columns", 16, mode="dunnage").errors


def test_a_file_that_cannot_be_written(launch):
    run = launch("mpich", "columns", 16, mode="dunnage", DUNNAGE_EXPLAIN="/nonexistent/types.json")
    assert run.code == 0
    assert run.errors.count("cannot write the datatypes to DUNNAGE_EXPLAIN=/nonexistent/types.json") == 1


@pytest.mark.parametrize("text, said", [
    (None, "cannot be read; write one with `dunnage run --explain=FILE.json -- COMMAND`"),
    ("no json", "is not JSON"),
    ("{}", "is JSON, but has no datatypes of a program"),
    ('{"library": 1, "types": [{}]}', "is JSON, but has no datatypes of a program"),
])
def test_files_that_have_no_types(tmp_path, text, said):
    file = tmp_path / "types.json"
    if text is not None:
        file.write_text(text)
    done = explain("--types", file)
    assert done.returncode == 2 and said in done.stderr and done.stdout == "", done
    assert explain("--types", file, "--json").stdout == ""


def test_a_type_or_a_file():
    for words in ([], ["vector(4,1,2,double)", "--types", "x.json"]):
        done = explain(*words)
        assert done.returncode == 2 and "give a datatype, or --types=FILE" in done.stderr, done


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])  # not built for the standard's ABI
def test_threads_that_commit_and_free(launch, tmp_path, flavour):
    """Types are committed by several threads, freed while messages of them are pending, and their
    handles come again."""
    file = tmp_path / "types.json"
    run = launch(flavour, "contract_threads", mode="dunnage", DUNNAGE_EXPLAIN=str(file))
    assert run.code == 0 and not run.failures, run
    if run.finished:
        told = json.loads(file.read_text())
        assert sum(one["commits"] for one in told["types"]) > len(told["types"]) > 5
