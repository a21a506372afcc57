"""The MPIs that the build found, and how programs are run with each."""

import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess

# Open MPI chooses these transports by itself on one host, after it has looked for others. MPI_Init
# takes 0.3 s with Open MPI 4.1 and 1.2 s with 5.0 for that, and hardly uses a processor meanwhile.
# For all programs that a test starts, so in the environment of the tests themselves.
for _name, _value in {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "^ofi,uct,openib"}.items():
    os.environ.setdefault(_name, _value)

# What runs the programs of another processor; scripts/aarch64.sh sets it.
EMULATOR = shlex.split(os.environ.get("TEST_EMULATOR", ""))
BUILD = pathlib.Path(os.environ.get("DUNNAGE_HOME") or pathlib.Path(__file__).resolve().parents[2] / "build")


@dataclasses.dataclass(frozen=True)
class Mpi:
    """One to run programs with: those built for `programs`, on the library and by the launcher of
    another perhaps."""

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
    def major(self):
        return int(self.version.split(".")[0])


def installed():
    """The MPIs that CMake found, and the programs of one with the library of another of its ABI
    family. scripts/many_cores/run.py has moved their libraries elsewhere."""
    path = BUILD / "mpis.json"
    found = {entry["name"]: entry for entry in json.loads(path.read_text())} if path.exists() else {}

    def mpi(name, programs, of, other_library):
        entry = found[of]
        libraries = entry["libraries"] if other_library else ""
        return Mpi(name, programs, entry["kind"], entry["version"], entry["launcher"], libraries)

    mpis = [mpi(name, name, name, entry.get("moved", False)) for name, entry in found.items()]
    if "mpi_abi" in found and "impi" in found:  # Intel's libmpi_abi.so stands beside its libmpi.so
        mpis.append(mpi("mpi_abi_on_impi", "mpi_abi", "impi", True))
    return {mpi.name: mpi for mpi in mpis}


MPIS = installed()

# The library with AddressSanitizer and UndefinedBehaviorSanitizer, and with ThreadSanitizer
# (scripts/build.sh asan preload, scripts/build.sh tsan preload).
SANITIZED = BUILD.parent / "build-asan" / "lib" / "libdunnage.so"
SANITIZED_THREADS = BUILD.parent / "build-tsan" / "lib" / "libdunnage.so"


def sanitizer(name):
    """The path of the sanitizer's own library, which must be the first that is preloaded."""
    words = ["gcc", f"-print-file-name={name}.so"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def sanitized():
    """The variables of ranks that run with SANITIZED. The programs are not built with sanitizers,
    and the MPIs leak and read past ends."""
    suppressions = pathlib.Path(__file__).with_name("asan.supp")
    return {
        "LD_PRELOAD": f"{sanitizer('libasan')}:{SANITIZED}",
        "ASAN_OPTIONS": f"detect_leaks=0:verify_asan_link_order=0:suppressions={suppressions}",
    }


def sanitized_threads(library=SANITIZED_THREADS):
    """The variables of ranks that run with SANITIZED_THREADS. ThreadSanitizer knows nothing of the
    locks in the MPI and in the programs, and looks at the library's own accesses only."""
    return {
        "LD_PRELOAD": f"{sanitizer('libtsan')}:{library}",
        "TSAN_OPTIONS": "ignore_noninstrumented_modules=1",
        # UCX would call the sanitizer in threads that it has already forgotten.
        "UCX_MEM_EVENTS": "no",
        "UCX_MEM_MMAP_HOOK_MODE": "none",
    }


YIELDING = BUILD / "tests" / "libyield_to_ranks.so"


def yielding(mpi, variables):
    """The variables of ranks that give up their core while they wait, for an MPI that has no
    setting for that, or one by which they still take half of the core."""
    if mpi.kind != "mpich" or not YIELDING.exists():
        return variables
    return {**variables, "LD_PRELOAD": ":".join(filter(None, [variables.get("LD_PRELOAD"), str(YIELDING)]))}


def command(mpi, ranks, variables):
    """The launcher's words up to the program, with variables for the ranks only. None ranks: one
    rank without the launcher, whose exit code and errors are the program's own. MPICH's mpirun
    seldom gives another code, and loses stderr of 1 in 40 programs that call MPI_Abort.

    Tests have more ranks than there are cores. So a rank that waits gives up its core, where its
    MPI has a setting for that."""
    if mpi.libraries:
        variables = {"LD_LIBRARY_PATH": mpi.libraries, **variables}
    if ranks is None:
        return ["env", *(f"{name}={value}" for name, value in variables.items()), *EMULATOR]
    words = [mpi.launcher, "-n", str(ranks)]
    if mpi.is_open_mpi:
        words += ["--map-by", ":OVERSUBSCRIBE"] if mpi.major >= 5 else ["--oversubscribe"]
        words += ["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        for name, value in variables.items():
            words += ["-x", f"{name}={value}"]
    else:
        for name, value in variables.items():
            words += ["-genv", name, value]
    return words + EMULATOR


def launched(words):
    """Runs a launcher, again if it has died by itself: MPICH's mpirun may die of a broken pipe,
    silently, if the program ends at once."""
    for _ in range(3):
        done = subprocess.run(list(map(str, words)), env=environment(), capture_output=True, text=True, timeout=100,
                              check=False)
        if done.returncode != -signal.SIGPIPE or done.stdout or done.stderr:
            break
    return done


def environment():
    env = {name: value for name, value in os.environ.items() if not name.startswith("DUNNAGE") and name != "LD_PRELOAD"}
    for launcher in ("OMPI", "PRTE"):  # containers, mostly
        env[f"{launcher}_ALLOW_RUN_AS_ROOT"] = env[f"{launcher}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    # MPICH 5: a rank that waits gives up its core after so many looks; by default after 4,096, for
    # which other ranks of that core wait milliseconds.
    env["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] = "1"
    env["MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT"] = "16"
    env["I_MPI_THREAD_YIELD"] = "2"  # Intel MPI: by sched_yield()
    env["DUNNAGE_WAIT"] = "yield"  # tests run beside each other
    return env
