"""mpi4py's own tests of calls that take arrays, with CuPy's arrays and Dunnage. See
mpi4py-suite.sh, which sets the paths.

    mpi4py_suite.py BUNDLE OUTPUT.json
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("MPI4PY_DEMO_SECONDS", "900")  # for one module: it compares elements one at a time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "mpi4py"))
from mpi4py_demo import MPIS, run, versions  # noqa: E402
from outcomes import passed, read_outcomes  # noqa: E402

RECORDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "mpi4py" / "record.py"
RANKS = os.environ.get("RANKS", "2")
VARIABLES = {
    "DUNNAGE_DEFAULT_STREAM": "wait",  # some of its tests do not wait for the device
    "OMPI_MCA_osc": "^ucx",  # one-sided calls over UCX fail by themselves
    # Without these, Open MPI 5 binds the ranks of all modules to the first cores.
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def outcomes(bundle, mpi, module, dunnage):
    """What the tests of a module came to, and how the run ended. Only runs with Dunnage have CuPy:
    the others would crash."""
    through, option = ([str(bundle / "bin" / "dunnage"), "run", "--"], ["--cupy"]) if dunnage else ([], [])
    with tempfile.TemporaryDirectory() as folder:
        words = [*through, f"mpirun.{mpi}", "-n", RANKS, sys.executable, str(RECORDER), str(bundle / "suite"), folder]
        library = bundle / "wheels" / mpi / "lib" / MPIS[mpi]
        ended = run([*words, *option, module], VARIABLES | {"MPI4PY_LIBMPI": str(library)})
        return read_outcomes(folder), ended


def compare(bundle, mpi, module):
    """One module on one MPI: how many passed, what failed, and what failed that passes plain."""
    plain, _ = outcomes(bundle, mpi, module, dunnage=False)
    ours, ended = outcomes(bundle, mpi, module, dunnage=True)
    failed = sorted(f"{rank} {test}" for (rank, test), outcome in ours.items() if outcome in ("failed", "started"))
    lost = sorted(f"{rank} {test}" for rank, test in passed(plain) - passed(ours))
    return {"mpi": mpi, "module": module, "passed": len(passed(ours)), "plain": len(passed(plain)), "failed": failed,
            "lost": lost, **ended}  # fmt: skip


def main(bundle, output):
    # The largest first, which take longest.
    paths = sorted((bundle / "suite").glob("test_*.py"), key=lambda path: -path.stat().st_size)
    modules = [path.stem for path in paths if "arrayimpl" in path.read_text()]
    modules = os.environ.get("MODULES", "").split() or modules
    # The first import of CuPy compiles, and others would do that again beside it.
    subprocess.run([sys.executable, "-c", "import cupy; cupy.arange(3).sum()"], check=True)
    results = []
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "6"))) as pool:
        pairs = [(mpi, module) for module in modules for mpi in MPIS]
        for done in concurrent.futures.as_completed([pool.submit(compare, bundle, *pair) for pair in pairs]):
            result = done.result()
            results.append(result)
            print(f"{result['mpi']} {result['module']}: {result['passed']} passed ({result['plain']} plain), "
                  f"{len(result['failed'])} failed, {result['outcome']} after {result['seconds']} s"
                  + "".join(f"\n    LOST {test}" for test in result["lost"]), flush=True)  # fmt: skip
    document = {"commit": os.environ.get("BENCH_COMMIT"), "ranks": RANKS, "packages": versions(), "results": results}
    output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{sum(r['passed'] for r in results)} passed, {sum(len(r['lost']) for r in results)} lost")
    return 1 if any(r["lost"] for r in results) or not all(r["passed"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:3])))
