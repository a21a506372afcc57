"""dunnage info: parts, MPIs, processor, devices, settings."""

import json
import stat

import pytest

from model import write


def line(result, name):
    assert result.returncode == 0, result.stderr
    return next(text for text in result.stdout.splitlines() if text.split()[:1] == [name])


def test_parts(dunnage, build):
    result = dunnage("info")
    assert str(build / "lib" / "libdunnage.so") in line(result, "library")
    assert "missing" not in line(result, "library")
    backends = line(result, "backends")
    assert "api" not in backends
    libraries = (build / "lib" / "dunnage").glob("libdunnage-*.so")
    for library in (one for one in libraries if not one.stem.startswith("libdunnage-api")):
        assert library.stem.removeprefix("libdunnage-") + " (" in backends
    assert str(build) in line(result, "home")


def test_parts_that_are_missing(dunnage, tmp_path):
    result = dunnage("info", DUNNAGE_HOME=tmp_path)
    assert "is missing" in line(result, "library")
    assert "none" in line(result, "backends")


def launcher(folder, name, text):
    program = folder / name
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_mpis_on_path(dunnage, tmp_path):
    openmpi, mpich = tmp_path / "a", tmp_path / "b"
    openmpi.mkdir(), mpich.mkdir()
    first = launcher(openmpi, "mpirun", "mpirun (Open MPI) 9.8.7\n\nReport bugs")
    second = launcher(mpich, "mpirun", "HYDRA build details:\n    Version:            6.5.4\n    Release Date: x")
    launcher(mpich, "mpicc", "")
    result = dunnage("info", PATH=f"{openmpi}:{mpich}:/usr/bin:/bin")
    assert line(result, first).endswith("mpirun (Open MPI) 9.8.7")
    assert line(result, second).endswith("MPICH (Hydra) 6.5.4")
    assert str(mpich / "mpicc") in result.stdout


def test_no_mpi(dunnage, tmp_path):
    assert "none" in line(dunnage("info", PATH=tmp_path), "launchers")


@pytest.fixture
def simulator(build):
    if not (build / "lib/dunnage/sim/libcuda.so.1").exists():
        pytest.skip("built without CUDA")


def test_devices(dunnage, simulator):
    result = dunnage("info", DUNNAGE_TEST="sim", DUNNAGE_SIM_DEVICES="2")
    assert "simulated" in line(result, "driver")
    assert "missing" not in line(result, "kernels")
    devices = [text for text in result.stdout.splitlines() if text.startswith("  device ")]
    assert len(devices) == 2 and "compute capability" in devices[1] and "GiB" in devices[1]
    peers = [text.split() for text in result.stdout.splitlines() if text.startswith("  peers of device ")]
    assert peers == [["peers", "of", "device", "0", "1"], ["peers", "of", "device", "1", "0"]]


def test_paths_between_devices(dunnage, simulator):
    """Each was tried between processes. Where one fails the reason is the driver's."""

    def paths(**variables):
        result = dunnage("info", DUNNAGE_TEST="sim", DUNNAGE_SIM_DEVICES="2", **variables)
        assert result.returncode == 0, result.stderr
        text = result.stdout.split("paths of messages between GPUs")[1].split("model\n")[0].splitlines()
        return {
            words[0] + words[1] + words[2] + words[3]: " ".join(words[4:])
            for words in map(str.split, text)
            if words[:1] == ["from"]
        }, "\n".join(text)

    every = {"from0to0", "from0to1", "from1to0", "from1to1"}
    good, _ = paths()
    assert set(good) == every and all(text.startswith("direct:") for text in good.values())
    for function in ("cuIpcGetMemHandle", "cuIpcOpenMemHandle"):
        bad, _ = paths(DUNNAGE_SIM_FAIL=f"{function}:0:999")
        assert set(bad) == every and any(
            text.startswith("rings") and f"{function}: CUDA_ERROR_UNKNOWN" in text for text in bad.values()
        ), bad
    worse, text = paths(DUNNAGE_SIM_FAIL="cuIpcOpenMemHandle:0:999,cuMemHostRegister:0:999")
    assert (
        any(text.startswith("staged") for text in worse.values()) and "cannot be page-locked: cuMemHostRegister" in text
    )
    none = dunnage("info", DUNNAGE_TEST="sim", DUNNAGE_SIM_FAIL="cuInit:0:999")
    assert none.returncode == 0 and "CUDA_ERROR_UNKNOWN" in line(none, "driver") and "paths of" not in none.stdout


def test_devices_that_cannot_be_asked(dunnage, simulator, tmp_path):
    assert "not looked for" in line(dunnage("info", DUNNAGE_DEVICE="off"), "driver")
    assert "cannot be loaded" in line(dunnage("info", DUNNAGE_TEST="sim", DUNNAGE_HOME=tmp_path), "driver")


def test_the_model(dunnage, tmp_path):
    none = dunnage("info", XDG_CACHE_HOME=tmp_path)
    path = f"{tmp_path}/dunnage/model-"
    assert any(f"built-in figures: there is no {path}" in text for text in none.stdout.splitlines())
    file = write(tmp_path / "m.json", [("Open MPI", 4, 1), ("MPICH", 5, 0)])
    found = dunnage("info", DUNNAGE_MODEL=file)
    assert line(found, "measured").split(None, 1)[1] == "2026-11-21T20:00:00+00:00, for Open MPI 4.1, MPICH 5.0"
    assert any(str(file) in text and "file" in text.split() for text in found.stdout.splitlines())
    file.write_text("{")
    assert f"! {file} is not JSON" in dunnage("info", DUNNAGE_MODEL=file).stdout


def test_settings_and_where_they_come_from(dunnage):
    result = dunnage("info", DUNNAGE_FORCE="always", DUNNAGE_SIMD="mmx", DUNNAGE_COLOR="red")
    assert line(result, "DUNNAGE_FORCE").split() == ["DUNNAGE_FORCE", "always", "environment", "auto"]
    assert line(result, "DUNNAGE_STAGING_LIMIT").split() == ["DUNNAGE_STAGING_LIMIT", "1G", "default", "1G"]
    assert line(result, "DUNNAGE_SIMD").split()[1:3] == ["auto", "default"]
    assert "DUNNAGE_SIMD=mmx: not an allowed value; allowed: auto, scalar" in result.stdout
    assert "DUNNAGE_COLOR: there is no such setting" in result.stdout


def test_version(dunnage, root):
    version = dunnage("--version").stdout.split()[1]
    assert f"VERSION {version} " in (root / "CMakeLists.txt").read_text()
    assert dunnage("info").stdout.startswith(f"dunnage {version}")


def test_json_has_what_the_text_has(dunnage, build):
    run = dunnage("info", "--json", DUNNAGE_FORCE="always", DUNNAGE_DEVICE="off")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    text = dunnage("info", DUNNAGE_FORCE="always", DUNNAGE_DEVICE="off")
    assert told["library"] == str(build / "lib" / "libdunnage.so")
    assert line(text, "backends").endswith(", ".join(told["backends"]))
    assert told["settings"]["DUNNAGE_FORCE"] == {"value": "always", "from": "environment", "default": "auto"}
    assert told["processor"]["cores"] == int(line(text, "cores").split()[1])
    assert told["devices"] == {"driver": "not looked for (DUNNAGE_DEVICE=off)"}
    sections = [text.strip() for text in text.stdout.splitlines()[1:] if not text.startswith(" ")]
    assert sections == [name for name, value in told.items() if isinstance(value, dict)]


def test_json_has_complaints(dunnage):
    told = json.loads(dunnage("info", "--json", DUNNAGE_FORCE="sometimes").stdout)
    assert "sometimes" in told["settings"]["remarks"][0]
