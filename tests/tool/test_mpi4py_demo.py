"""scripts/gpu/mpi4py_demo.py with stand-ins for the launchers and for Dunnage: what it calls
passed."""

import json
import subprocess
import sys

import pytest


@pytest.fixture
def bundle(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "demo").mkdir()
    for name, text in {
        "mpirun.openmpi5": 'shift 2\nexec "$@"',
        "mpirun.mpich5": 'shift 2\nexec "$@"',
        "dunnage": 'shift 2\nTHROUGH=yes exec "$@"',
    }.items():
        script = tmp_path / "bin" / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    return tmp_path


def run(root, bundle, program, example):
    (bundle / "demo" / "use_something.py").write_text(program)
    (bundle / "example.py").write_text(example)
    output = bundle / "result.json"
    done = subprocess.run(
        [sys.executable, root / "scripts" / "gpu" / "mpi4py_demo.py", bundle, output, bundle / "example.py"],
        env={"PATH": f"{bundle}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done, [
        (one["mpi"], one["program"], one["dunnage"], one["outcome"])
        for one in json.loads(output.read_text())["results"]
    ]


CRASHES_WITHOUT = "import os\nif 'THROUGH' not in os.environ: os.abort()\n"


def test_a_crash_without_and_none_with_is_success(root, bundle):
    done, outcomes = run(root, bundle, CRASHES_WITHOUT, "import os; assert os.environ['MPI4PY_LIBMPI'].startswith('/')")
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcomes == [
        (mpi, *one)
        for mpi in ("openmpi5", "mpich5")
        for one in [
            ("use_something.py", False, "crashed"),
            ("use_something.py", True, "passed"),
            ("example.py", False, "passed"),
            ("example.py", True, "passed"),
        ]
    ]


@pytest.mark.parametrize("program", ["assert False, 'not right'", "import os; os.abort()"])
def test_a_failure_with_dunnage_is_one(root, bundle, program):
    done, outcomes = run(root, bundle, program, "")
    assert done.returncode == 1
    assert ("mpich5", "use_something.py", True, "crashed") in outcomes


def test_a_demo_that_cannot_be_run_has_not_passed(root, bundle):
    (bundle / "demo" / "use_cupy.py").write_text("")
    if subprocess.run([sys.executable, "-c", "import cupy"], capture_output=True).returncode == 0:
        pytest.skip("CuPy is here")
    done, outcomes = run(root, bundle, "", "")
    assert done.returncode == 1 and ("openmpi5", "use_cupy.py", True, "not run") in outcomes
