"""The preloaded library from outside: what it exports, what it costs to load, what it says and when
it keeps quiet."""

import json
import os
import re
import shutil
import statistics
import subprocess
import time

import pytest

from chosen import ALL
from installed import MPIS, command


def preloaded(build, command, environment, **settings):
    environment = {**environment, "LD_PRELOAD": str(build / "lib/libdunnage.so"), **settings}
    return subprocess.run([str(c) for c in command], env=environment, capture_output=True, text=True, timeout=120)


def symbols(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def generated_names(build):
    text = (build / "generated/shim/hook_list.inc").read_text()
    return set(re.findall(r"DUNNAGE_HOOK\((\w+)\)", text))


def test_exports_exactly_the_generated_hooks(build):
    assert symbols(build / "lib/libdunnage.so") == generated_names(build) | {"dunnage_version"}


def test_backend_exports_one_function(build, flavour):
    family = "abi" if flavour == "mpi_abi" else flavour
    assert symbols(build / f"lib/dunnage/libdunnage-{family}.so") == {"dunnage_backend", "dunnage_hook_list_id"}


def test_a_backend_of_another_version_is_not_used(build, flavour, root_environment, tmp_path):
    """Its hooks have other places, so calls would go to other functions."""
    family = "abi" if flavour == "mpi_abi" else flavour
    header = (build / "generated/shim/hook_list_id.h").read_text()
    own = re.search('"([0-9a-f]+)"', header)[1].encode()
    (tmp_path / "dunnage").mkdir()
    shutil.copy(build / "lib/libdunnage.so", tmp_path)
    backend = (build / f"lib/dunnage/libdunnage-{family}.so").read_bytes()
    assert own in backend
    (tmp_path / f"dunnage/libdunnage-{family}.so").write_bytes(backend.replace(own, own[::-1]))
    launch = command(MPIS[flavour], 2, {"LD_PRELOAD": str(tmp_path / "libdunnage.so")})
    words = [*launch, build / f"mpi/{flavour}/halo3d", "8", "2"]
    run = subprocess.run(words, env=root_environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and "verified" in run.stdout, run.stdout + run.stderr
    told = [line for line in run.stderr.splitlines() if line.startswith("dunnage:")]
    assert len(told) == 1 and "another version" in told[0] and "calls are passed through" in told[0], run.stderr


def test_needs_nothing_but_the_c_library(build):
    out = subprocess.run(
        ["readelf", "-d", build / "lib/libdunnage.so"], capture_output=True, text=True, check=True
    ).stdout
    needed = set(re.findall(r"NEEDED.*\[(.+)\]", out))
    assert all(name.startswith(("libc.so", "libdl.so", "libpthread.so", "ld-linux")) for name in needed), needed


def test_is_never_built_without_its_marks(build):
    """Nor by `make demo`. A library without them asks the C library in each call."""
    if not (build / "build.ninja").exists() or not shutil.which("ninja"):
        pytest.skip("not built by ninja")
    inputs = subprocess.run(
        ["ninja", "-C", build, "-t", "inputs", "lib/libdunnage.so"], capture_output=True, text=True
    )
    if inputs.returncode != 0:
        pytest.skip("ninja before 1.11 does not tell inputs")
    assert "dunnage-mark-0.dir" in inputs.stdout, inputs.stdout


def test_inert_without_mpi(build, root_environment):
    """No file is opened but the library itself, and nothing is printed."""
    run = preloaded(build, ["/bin/cat", "/proc/self/maps"], root_environment, DUNNAGE_REPORT="1", DUNNAGE_NONSENSE="1")
    assert run.returncode == 0 and run.stderr == ""
    assert "libdunnage.so" in run.stdout and "libdunnage-" not in run.stdout


@pytest.mark.alone
def test_loading_takes_well_under_a_millisecond(build, root_environment):
    """A wide bound, so that a busy machine does not fail it: what it catches is a constructor or a
    big dependency."""

    def seconds(environment):
        samples = []
        for _ in range(40):
            start = time.perf_counter()
            subprocess.run(["/bin/true"], env=environment, check=True)
            samples.append(time.perf_counter() - start)
        return statistics.median(samples)

    plain = seconds(root_environment)
    loaded = seconds({**root_environment, "LD_PRELOAD": str(build / "lib/libdunnage.so")})
    print(f"loading adds {1e6 * (loaded - plain):.0f} us")
    assert loaded - plain < 5e-3


@pytest.fixture
def program(build, flavour):
    return [build / f"mpi/{flavour}/halo3d", 16, 2]


def test_silent_unless_asked(build, program, root_environment):
    run = preloaded(build, program, root_environment)
    assert run.returncode == 0 and "dunnage" not in run.stderr + run.stdout


def test_report_as_text(build, program, root_environment):
    run = preloaded(build, program, root_environment, DUNNAGE_REPORT="1", DUNNAGE_FORCE="always")
    assert run.returncode == 0
    assert re.search(r"dunnage: report for 1 ranks of (Open MPI|MPICH)", run.stderr)
    assert re.search(r"MPI_Isend +\d+ accelerated", run.stderr)
    assert "  DUNNAGE_FORCE=always\n" in run.stderr


def test_report_as_json_has_the_documented_core(build, program, root_environment, tmp_path):
    path = tmp_path / "report.json"
    run = preloaded(build, program, root_environment, DUNNAGE_REPORT=str(path), DUNNAGE_FORCE="always")
    assert run.returncode == 0 and "dunnage" not in run.stderr
    report = json.loads(path.read_text())
    assert report["ranks"] == 1 and report["mpi"] and report["machine"]
    assert report["settings"] == {"DUNNAGE_FORCE": "always"}
    send = report["calls"]["MPI_Isend"]
    assert send["accelerated"] > 0 and send["bytes"] > 0
    assert all(isinstance(n, int) and n > 0 for n in send["declined"].values())


def test_unwritable_report_is_one_line(build, program, root_environment, tmp_path):
    run = preloaded(build, program, root_environment, DUNNAGE_REPORT=str(tmp_path / "missing/report.json"))
    lines = [line for line in run.stderr.splitlines() if "dunnage" in line]
    assert run.returncode == 0 and len(lines) == 1 and "missing/report.json" in lines[0]


def test_report_into_a_pipe(build, program, root_environment, tmp_path):
    """A pipe that nobody reads is one line. It neither stops the program nor ends it."""
    path = tmp_path / "report.json"
    os.mkfifo(path)
    run = preloaded(build, program, root_environment, DUNNAGE_REPORT=str(path))
    lines = [line for line in run.stderr.splitlines() if "dunnage" in line]
    assert run.returncode == 0 and len(lines) == 1 and str(path) in lines[0]
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    run = preloaded(build, program, root_environment, DUNNAGE_REPORT=str(path))
    assert run.returncode == 0 and "dunnage" not in run.stderr
    assert json.loads(os.read(reader, 1 << 16))["ranks"] == 1
    os.close(reader)


def test_report_as_text_that_nobody_reads(build, program, root_environment):
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**root_environment, "LD_PRELOAD": str(build / "lib/libdunnage.so"), "DUNNAGE_REPORT": "1"}
    run = subprocess.run(
        [str(c) for c in program], env=environment, stdout=subprocess.PIPE, stderr=writer, timeout=120
    )
    os.close(writer)
    assert run.returncode == 0


def test_a_path_with_a_newline_is_one_line(build, program, root_environment, tmp_path):
    for setting in ("DUNNAGE_MODEL", "DUNNAGE_REPORT"):
        run = preloaded(build, program, root_environment, **{setting: f"{tmp_path}/a\nfake: line/b.json"})
        lines = [line for line in run.stderr.splitlines() if "dunnage" in line or "fake" in line]
        assert run.returncode == 0 and len(lines) == 1 and "a?fake: line" in lines[0]


def test_off_passes_everything_through(build, program, root_environment, tmp_path):
    path = tmp_path / "report.json"
    run = preloaded(build, program, root_environment, DUNNAGE="off", DUNNAGE_REPORT=str(path))
    assert run.returncode == 0 and not path.exists()


def test_never_is_counted(build, program, root_environment, tmp_path):
    path = tmp_path / "report.json"
    preloaded(build, program, root_environment, DUNNAGE_FORCE="never", DUNNAGE_REPORT=str(path))
    assert json.loads(path.read_text())["calls"]["MPI_Isend"]["declined"]["DUNNAGE_FORCE=never"] > 0


def test_bad_setting_is_one_clear_line(build, program, root_environment):
    run = preloaded(build, program, root_environment, DUNNAGE_FORCE="sometimes")
    lines = [line for line in run.stderr.splitlines() if "dunnage" in line]
    assert run.returncode == 0 and len(lines) == 1
    assert all(word in lines[0] for word in ("DUNNAGE_FORCE", "sometimes", "auto", "always", "never"))


@pytest.mark.parametrize("simd", ["scalar", "sse4", "avx2", "avx512", "neon"])
def test_every_instruction_set_gives_the_same_bytes(build, flavour, root_environment, simd):
    """One that this processor lacks falls back to what it has."""
    run = preloaded(
        build,
        [build / f"mpi/{flavour}/contracts", "random", 1],
        root_environment,
        DUNNAGE_SIMD=simd,
        DUNNAGE_FORCE="always",
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_process_without_an_mpi_library_is_told_once(build, root_environment, tmp_path):
    """A program that calls MPI_Send though no MPI is loaded: a clear line and an error, not a
    crash."""
    source = tmp_path / "lonely.c"
    source.write_text("int MPI_Send(void); int main(void) { return MPI_Send() == 0 || MPI_Send() == 0; }")
    subprocess.run(
        ["cc", source, "-o", tmp_path / "lonely", "-L", build / "lib", "-ldunnage", f"-Wl,-rpath,{build / 'lib'}"],
        check=True,
    )
    run = subprocess.run([tmp_path / "lonely"], env=root_environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stderr.count("dunnage") == 1 and "no MPI library" in run.stderr


def test_large_counts_on_an_mpi_without_them(build, root, root_environment, tmp_path):
    wrapper = shutil.which("mpicc.openmpi")
    if not wrapper or not (build / "mpi/openmpi").exists():
        pytest.skip("no mpicc.openmpi here; other MPIs have large counts")
    subprocess.run([wrapper, root / "tests/shim/large_counts.c", "-o", tmp_path / "large_counts"], check=True)
    for force in ("auto", "always", "never"):
        run = preloaded(build, [tmp_path / "large_counts"], root_environment, DUNNAGE_FORCE=force)
        assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("name", ["openmpi", "openmpi5"])
def test_large_counts_between_ranks_of_an_mpi_without_them(build, root, root_environment, tmp_path, name):
    if name not in MPIS:
        pytest.skip(f"no {name} here")
    compiler = json.loads((build / "mpis.json").read_text())
    compiler = next(mpi["compiler"] for mpi in compiler if mpi["name"] == name)
    subprocess.run([compiler, root / "tests/shim/large_counts_between.c", "-o", tmp_path / "program"], check=True)
    launch = command(MPIS[name], 2, {"LD_PRELOAD": str(build / "lib/libdunnage.so")})
    run = subprocess.run(
        [*launch, tmp_path / "program"], env=root_environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0 and run.stdout.count("0 failed") == 2, run.stdout + run.stderr


def test_a_wildcard_receive_does_not_take_the_report(build, root, flavour, root_environment, tmp_path):
    wrapper = shutil.which(f"mpicc.{flavour}") or pytest.skip(f"no mpicc.{flavour} here")
    subprocess.run([wrapper, root / "tests/shim/wildcard.c", "-o", tmp_path / "program"], check=True)
    report = tmp_path / "report.json"
    launch = command(MPIS[flavour], 3, {"LD_PRELOAD": str(build / "lib/libdunnage.so"), "DUNNAGE_REPORT": str(report)})
    run = subprocess.run(
        [*launch, tmp_path / "program"], env=root_environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0 and "0 wrong" in run.stdout, run.stdout + run.stderr
    assert json.loads(report.read_text())["ranks"] == 3


def test_report_waits_for_nobody(build, flavour, root_environment, tmp_path):
    """Only rank 0 is asked for a report; a collective call would wait for ever."""
    if flavour != "mpich" and not ALL:
        pytest.skip("rank 0 waits 10 s, and in the same way with every MPI")
    path = tmp_path / "report.json"
    launch = command(MPIS[flavour], 1, {})
    program = [build / f"mpi/{flavour}/halo3d", 16, 2]
    run = preloaded(
        build, [*launch, "env", f"DUNNAGE_REPORT={path}", *program, ":", "-n", 1, *program], root_environment
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert json.loads(path.read_text())["ranks"] == 1


@pytest.mark.parametrize("order", ["none", "tool first", "tool last"])
@pytest.mark.parametrize("force", ["auto", "always"])
def test_what_others_complete_through_pmpi(build, root, flavour, root_environment, tmp_path, order, force):
    """A tool that wraps only the calls that end something, before Dunnage and behind it; and a
    program that calls PMPI itself. Nothing may be lost, and nothing be counted twice."""
    wrapper = shutil.which(f"mpicc.{flavour}") or pytest.skip(f"no mpicc.{flavour} here")
    folder = tmp_path / "mca_program"  # a name that sounds like a part of Open MPI
    folder.mkdir()
    program, tool = folder / "program", tmp_path / "libtool.so"
    subprocess.run([wrapper, root / "tests/shim/completes_elsewhere.c", "-o", program], check=True)
    subprocess.run([wrapper, "-shared", "-fPIC", root / "tests/shim/partial_tool.c", "-o", tool], check=True)
    dunnage, report = build / "lib/libdunnage.so", tmp_path / "report.json"
    libraries = {"none": [dunnage], "tool first": [tool, dunnage], "tool last": [dunnage, tool]}[order]
    run = subprocess.run(
        [program],
        env={
            **root_environment,
            "LD_PRELOAD": ":".join(map(str, libraries)),
            "DUNNAGE_FORCE": force,
            "DUNNAGE_REPORT": str(report),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0 and run.stdout == "0 wrong\n", run.stdout + run.stderr
    assert ("tool: 8 waits, 4 frees" in run.stderr) == (order != "none"), run.stderr
    calls = json.loads(report.read_text())["calls"]
    for name in ("MPI_Irecv", "MPI_Isend"):
        assert calls[name]["accelerated"] + sum(calls[name]["declined"].values()) == 8, calls
        assert force == "auto" or calls[name]["accelerated"] == 8, calls
