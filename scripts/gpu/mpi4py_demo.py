"""mpi4py's demos for GPUs and our examples, without and with Dunnage. See mpi4py-demo.sh, which
sets the paths.

    mpi4py_demo.py BUNDLE OUTPUT.json EXAMPLE...
"""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

MPIS = {"openmpi5": "libmpi.so.40", "mpich5": "libmpi.so.12"}
NEEDED = {"use_cupy.py": ["cupy"], "use_numba.py": ["numba"]}
TIMEOUT = float(os.environ.get("MPI4PY_DEMO_SECONDS", "90"))  # the first import compiles kernels


def run(words, variables):
    """Returns how the command ended, with the last that it said."""
    start = time.monotonic()
    with subprocess.Popen(
        words,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=TIMEOUT)
            outcome = "passed" if process.returncode == 0 else "crashed"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            outcome = "hung"
    return {
        "outcome": outcome,
        "status": process.returncode,
        "seconds": round(time.monotonic() - start, 1),
        "said": said.splitlines()[-25:],
    }


def lacking(program):
    """The packages that a program needs and this machine has not."""
    return [name for name in NEEDED.get(program.name, []) if importlib.util.find_spec(name) is None]


def versions():
    """Of the packages that are here."""
    names = [name for name in ("cupy", "numba", "numpy", "mpi4py") if importlib.util.find_spec(name)]
    return {name: getattr(importlib.import_module(name), "__version__", "") for name in names}


def main(bundle, output, *examples):
    programs = [*sorted((bundle / "demo").glob("use_*.py")), *examples]
    results = []
    for mpi, library in MPIS.items():
        for program in programs:
            for dunnage in (False, True):
                result = {"mpi": mpi, "program": program.name, "dunnage": dunnage}
                missing = lacking(program)
                if missing:
                    result.update(outcome="not run", said=[f"python3 has no {', '.join(missing)}"])
                else:
                    through = [str(bundle / "bin" / "dunnage"), "run", "--"] if dunnage else []
                    words = [*through, f"mpirun.{mpi}", "-n", "2", sys.executable, str(program)]
                    result.update(run(words, {"MPI4PY_LIBMPI": str(bundle / "wheels" / mpi / "lib" / library)}))
                results.append(result)
                print(
                    f"{mpi}, {program.name}, {'with' if dunnage else 'without'} Dunnage: {result['outcome']}",
                    flush=True,
                )
                if dunnage and result["outcome"] != "passed":
                    print("\n".join(f"    {line}" for line in result["said"]), flush=True)
    document = {
        "commit": os.environ.get("BENCH_COMMIT"),
        "python": sys.version.split()[0],
        "packages": versions(),
        "results": results,
    }
    output.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(one["outcome"] == "passed" for one in results if one["dunnage"]) else 1


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:])))
