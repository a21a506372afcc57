"""The model file, as preloaded programs meet it."""

import json
import pathlib
import subprocess

import pytest

from installed import MPIS, command, environment
from model import prices, write

# What the standard's ABI is of, only the library itself can say.
NAMES = [name for name, mpi in MPIS.items() if not mpi.libraries and mpi.kind != "mpi_abi"]


def library(mpi):
    """An MPI as its figures are filed."""
    major, minor = mpi.version.split(".")[:2]
    return {"openmpi": "Open MPI", "mpich": "MPICH", "impi": "Intel MPI"}[mpi.kind], int(major), int(minor)


@pytest.fixture(scope="module", params=NAMES)
def mpi(request):
    return MPIS[request.param]


def halo(build, mpi, **variables):
    """A halo exchange of two ranks, as the model alone decides; returns what the launcher gave."""
    variables = {
        "LD_PRELOAD": str(build / "lib/libdunnage.so"),
        "DUNNAGE_TRIALS": "off",
        **{name: str(value) for name, value in variables.items()},
    }
    words = [*command(mpi, 2, variables), build / "mpi" / mpi.name / "halo3d", "16", "2"]
    done = subprocess.run([str(word) for word in words], env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def sends(build, mpi, tmp_path, **variables):
    """The report's line of the sends."""
    report = tmp_path / "report.json"
    done = halo(build, mpi, DUNNAGE_REPORT=report, **variables)
    return done, json.loads(report.read_text())["calls"]["MPI_Isend"]


@pytest.fixture
def opposite(build, mpi, tmp_path):
    """What the built-in figures make of the sends, and prices by which all is the other way
    round."""
    built_in = sends(build, mpi, tmp_path, DUNNAGE_MODEL="none")[1]
    return built_in["accelerated"], prices(1000, 0) if built_in["accelerated"] else prices(0, 1000)


def complaints(done):
    return [line for line in done.stderr.splitlines() if "dunnage" in line]


@pytest.mark.parametrize("engine, price, reason", [(1000, 0, "no gain predicted"), (0, 1000, None)])
def test_its_prices_decide(build, mpi, tmp_path, engine, price, reason):
    model = write(tmp_path / "model.json", [library(mpi)], **prices(engine, price))
    done, found = sends(build, mpi, tmp_path, DUNNAGE_MODEL=model)
    assert complaints(done) == []
    if reason:
        assert found["accelerated"] == 0 and found["declined"][reason] > 0
    else:
        assert found["accelerated"] > 0 and "no gain predicted" not in found["declined"]


def test_it_is_found_at_its_usual_place(build, mpi, tmp_path, opposite):
    built_in, figures = opposite
    info = subprocess.run(
        [build / "bin/dunnage", "info"],
        env={**environment(), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    path = (
        next(line for line in info.splitlines() if f"{tmp_path}/dunnage/model-" in line)
        .split("there is no ")[1]
        .split(";")[0]
    )
    write(pathlib.Path(path), [library(mpi)], **figures)
    assert bool(sends(build, mpi, tmp_path, XDG_CACHE_HOME=tmp_path)[1]["accelerated"]) != bool(built_in)
    assert sends(build, mpi, tmp_path, XDG_CACHE_HOME=tmp_path, DUNNAGE_MODEL="none")[1]["accelerated"] == built_in


DAMAGES = {
    "cut off": lambda path: path.write_text(path.read_text()[:60]),
    "No such file": lambda path: path.unlink(),
    "another machine": lambda path: path.write_text(path.read_text().replace('"cores": ', '"cores": 1')),
    "has -1": lambda path: path.write_text(path.read_text().replace('"call": 0', '"call": -1')),
}


@pytest.mark.parametrize("says", DAMAGES)
def test_a_bad_one_is_one_line_and_the_program_works(build, mpi, tmp_path, opposite, says):
    built_in, figures = opposite
    model = write(tmp_path / "model.json", [library(mpi)], **figures)
    DAMAGES[says](model)
    done, found = sends(build, mpi, tmp_path, DUNNAGE_MODEL=model)
    [line] = complaints(done)
    assert line.startswith(f"dunnage: {model} ") and says in line and "`dunnage tune`" in line
    assert found["accelerated"] == built_in


def test_the_figures_of_another_mpi_are_not_used(build, mpi, tmp_path, opposite):
    built_in, figures = opposite
    name, major, minor = library(mpi)
    model = write(tmp_path / "model.json", [(name, major, minor + 1), (name, major + 1, minor)], **figures)
    done, found = sends(build, mpi, tmp_path, DUNNAGE_MODEL=model)
    assert complaints(done) == [] and found["accelerated"] == built_in
