"""MPI programs of the build tree, run by the launcher of the MPI that they were built for."""
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("DUNNAGE_HOME") or pathlib.Path(__file__).resolve().parents[2] / "build")
PRELOAD = BUILD / "lib" / "libdunnage.so"

# What a mode adds to the environment of the ranks; the launcher itself is never preloaded.
MODES = {
    "plain": {},
    "dunnage": {"LD_PRELOAD": str(PRELOAD)},
    "always": {"LD_PRELOAD": str(PRELOAD), "DUNNAGE_FORCE": "always"},
}


@dataclasses.dataclass
class Run:
    code: int
    output: str
    errors: str

    @property
    def finished(self):
        return re.search(r"^contract \w+: \d+ checks, \d+ failed$", self.output, re.M) is not None

    @property
    def failures(self):
        """The names of the checks that failed on any rank."""
        return set(re.findall(r'^FAIL .*?check="(.*?)"', self.errors, re.M))

    def __str__(self):
        return f"exit code {self.code}\n{self.output[-3000:]}\n{self.errors[-6000:]}"


@dataclasses.dataclass(frozen=True)
class Mpi:
    """One to run programs with: those built for `programs`, on the library and by the launcher of another perhaps."""
    name: str
    programs: str
    kind: str
    version: str
    launcher: str
    libraries: str = ""  # a folder that the ranks shall find their MPI in, where it is not what they were linked with

    @property
    def is_open_mpi(self):
        return self.kind == "openmpi"

    @property
    def forms_own_processes(self):
        return self.is_open_mpi and int(self.version.split(".")[0]) >= 5


def installed():
    """The MPIs that CMake found, and the programs of one with the library of another of its ABI family."""
    path = BUILD / "mpis.json"
    found = {entry["name"]: entry for entry in json.loads(path.read_text())} if path.exists() else {}
    mpis = [Mpi(name, name, entry["kind"], entry["version"], entry["launcher"]) for name, entry in found.items()]
    if "mpi_abi" in found and "impi" in found:  # Intel's libmpi_abi.so stands beside its libmpi.so
        entry = found["impi"]
        mpis.append(Mpi("mpi_abi_on_impi", "mpi_abi", entry["kind"], entry["version"], entry["launcher"], entry["libraries"]))
    return {mpi.name: mpi for mpi in mpis}


MPIS = installed()


def command(mpi, ranks, variables):
    """The launcher's words up to the program, with variables for the ranks only."""
    words = [mpi.launcher, "-n", str(ranks)]
    if mpi.libraries:
        variables = {**variables, "LD_LIBRARY_PATH": mpi.libraries}
    if mpi.is_open_mpi:
        words += ["--map-by", ":OVERSUBSCRIBE"] if mpi.forms_own_processes else ["--oversubscribe"]
        for name, value in variables.items():
            words += ["-x", f"{name}={value}"]
    else:
        for name, value in variables.items():
            words += ["-genv", name, value]
    return words


def environment():
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("DUNNAGE") and name != "LD_PRELOAD"}
    for launcher in ("OMPI", "PRTE"):  # containers, mostly
        env[f"{launcher}_ALLOW_RUN_AS_ROOT"] = env[f"{launcher}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    env["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] = "1"  # MPICH waits without a pause, which more ranks than cores cannot bear
    env["CONTRACT_TIMEOUT"] = "150"
    return env


def execute(words, limit):
    """Runs the launcher in a session of its own, so that after a hang no rank is left behind."""
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                output, errors = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
            errors += f"\nnot finished within {limit} s\n"
    return Run(process.returncode, output, errors)


@pytest.fixture(scope="session")
def launch():
    """launch("mpich", "contract_pack", ranks=1, mode="always"); what was run before is not run again."""
    done = {}

    def call(name, program, *arguments, ranks=2, mode="plain", limit=200, **variables):
        mpi = MPIS.get(name)
        if not mpi:
            pytest.skip(f"no {name} here")
        path = BUILD / "mpi" / mpi.programs / program
        if not path.exists():
            pytest.skip(f"{path} is not built")
        if mode != "plain" and not PRELOAD.exists():
            pytest.skip(f"{PRELOAD} is not built")
        key = name, program, arguments, ranks, mode, tuple(variables.items())
        if key not in done:
            words = command(mpi, ranks, {**MODES[mode], **variables})
            done[key] = execute([*words, path, *map(str, arguments)], limit)
        return done[key]

    return call
