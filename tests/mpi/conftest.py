"""MPI programs of the build tree, run by the launcher of the MPI that they were built for."""
import dataclasses
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


def launcher(flavour):
    """The launcher that CMake found beside the compiler wrapper of this MPI."""
    cache = (BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else ""
    found = re.search(rf"^DUNNAGE_{flavour}_RUN:[^=]*=(.+)$", cache, re.M)
    return found.group(1) if found and not found.group(1).endswith("-NOTFOUND") else None


def command(flavour, ranks, variables):
    """The launcher's words up to the program, with variables for the ranks only."""
    words = [launcher(flavour), "-n", str(ranks)]
    if flavour == "openmpi":
        words.append("--oversubscribe")
        for name, value in variables.items():
            words += ["-x", f"{name}={value}"]
    else:
        for name, value in variables.items():
            words += ["-genv", name, value]
    return words


def environment():
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("DUNNAGE") and name != "LD_PRELOAD"}
    env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"  # containers, mostly
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

    def call(flavour, program, *arguments, ranks=2, mode="plain", limit=200, **variables):
        path = BUILD / "mpi" / flavour / program
        if not path.exists():
            pytest.skip(f"{path} is not built")
        if not launcher(flavour):
            pytest.skip(f"no launcher for {flavour}")
        if mode != "plain" and not PRELOAD.exists():
            pytest.skip(f"{PRELOAD} is not built")
        key = flavour, program, arguments, ranks, mode, tuple(variables.items())
        if key not in done:
            words = command(flavour, ranks, {**MODES[mode], **variables})
            done[key] = execute([*words, path, *map(str, arguments)], limit)
        return done[key]

    return call
