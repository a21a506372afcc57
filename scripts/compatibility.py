#!/usr/bin/env python3
"""Writes docs/reference/compatibility.md from what a run of `make test` found.

    compatibility.py [RESULTS]      default: build/test-results

A cell is the number of tests that passed for a feature on an MPI, with its failures and skips if
there are any; `-` where there is none. Expected failures, which are the MPI's own and happen
without Dunnage, count as skips do.
"""

import collections
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from installed import MPIS  # noqa: E402

NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "impi": "Intel MPI"}
INTERFACES = {"mpif": "`mpif.h`", "mpi_module": "`use mpi`", "f08": "`use mpi_f08`"}
# (language, feature): the tests it rests on, as patterns of file::test[parameters].
C_PROGRAMS = {
    "pack and unpack": "pack",
    "blocking messages": "blocking",
    "nonblocking messages": "nonblocking",
    "persistent messages": "persistent",
    "probes": "probe",
    "mixed datatypes": "mixed",
    "communicators": "communicators",
    "threads": "threads",
    "collectives (left to the MPI)": "collectives",
    "neighbourhood collectives (left to the MPI)": "neighbours",
    "one-sided (left to the MPI)": "onesided",
    "files (left to the MPI)": "files",
    "partitioned (left to the MPI)": "partitioned",
    "sessions": "sessions",
    "spawn and connect": "spawn",
}
FEATURES = {
    **{
        (
            "C",
            feature,
        ): rf"test_(contract::test_with_dunnage|surface_report::test_every_call_is_listed)\[.*\b{program}\b"
        for feature, program in C_PROGRAMS.items()
    },
    ("C", "random datatypes against the typemap"): r"test_contract::test_random_types",
    ("C", "halo exchange"): r"test_contract::test_halo_exchange\[.*(dunnage|always)",
    ("C", "preloaded through its launcher by `dunnage run`"): r"test_mpis::test_the_tool_preloads_the_launcher",
    ("C", "linked with `-ldunnage`"): r"test_mpis::test_linked_and_not_preloaded",
    ("C", "before and behind another PMPI tool"): r"test_mpis::test_beside_another_tool",
    **{
        ("Fortran", f"{text}, every hooked call"): rf"test_fortran::test_contract\[.*\b{key}\b"
        for key, text in INTERFACES.items()
    },
    **{
        ("Fortran", f"{text}, halo exchange accelerated"): rf"test_fortran::test_halo_is_accelerated\[.*\b{key}\b"
        for key, text in INTERFACES.items()
    },
    ("Python", "mpi4py's tests about messages and datatypes"): r"test_mpi4py::test_as_without_dunnage",
    ("Python", "numpy buffers with derived datatypes"): r"test_mpi4py::test_numpy_buffers_are_accelerated",
}


def cases(results):
    """(file::test[parameters], outcome) of every test that drives an MPI."""
    for path in sorted(results.glob("*.xml")):
        for case in xml.parse(path).iter("testcase"):
            file = next(
                (part for part in reversed((case.get("classname") or "").split(".")) if part.startswith("test_")), ""
            )
            failed = case.find("failure") is not None or case.find("error") is not None
            yield f"{file}::{case.get('name')}", (
                "failed" if failed else "skipped" if case.find("skipped") is not None else "passed"
            )


def mpi_of(name):
    """The MPI that a test names among its parameters; the longest name, for some hold others."""
    parameters = set(re.split(r"[-\[\]]", name))
    return next((mpi for mpi in sorted(MPIS, key=len, reverse=True) if mpi in parameters), None)


def table(results):
    """{(language, feature): {mpi: Counter of outcomes}}"""
    found = {key: collections.defaultdict(collections.Counter) for key in FEATURES}
    for name, outcome in cases(results):
        mpi = mpi_of(name)
        for key, pattern in FEATURES.items():
            if mpi and re.match(pattern, name):
                found[key][mpi][outcome] += 1
    return found


def cell(counts):
    """What one feature on one MPI amounts to."""
    if not counts or not (counts["passed"] or counts["failed"]):
        return "-"
    return (
        f"{counts['passed']}"
        + (f", **{counts['failed']} failed**" if counts["failed"] else "")
        + (f", {counts['skipped']} skipped" if counts["skipped"] else "")
    )


def heading(mpi):
    """Name and version."""
    library = MPIS.get("mpich5", mpi) if mpi.kind == "mpi_abi" else mpi  # they come from one wheel
    text = f"{NAMES.get(library.kind, library.kind)} {library.version}"
    return f"standard ABI on {text}" if mpi.programs == "mpi_abi" else text


def main(results):
    found = table(results)
    if not any(counts["passed"] for row in found.values() for counts in row.values()):
        sys.exit(f"compatibility: {results} has no result of a test that drives an MPI; run `make test` first")
    commit = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    lines = [
        "# Compatibility",
        "",
        f"Generated by `make compatibility` from a run of `make test` at commit "
        f"{commit.stdout.strip()}. The cells are numbers of tests",
        "that passed with Dunnage preloaded; each compares with the expected bytes, or with the same MPI "
        "without Dunnage.",
        "`-`: not run; skipped: the MPI lacks the feature or fails by itself. What differs between the MPIs is in",
        "[limits](limits.md).",
        "",
        "| language | feature | " + " | ".join(heading(mpi) for mpi in MPIS.values()) + " |",
        "|---|---|" + "---|" * len(MPIS),
    ]
    lines += [
        f"| {language} | {feature} | " + " | ".join(cell(row[mpi]) for mpi in MPIS) + " |"
        for (language, feature), row in found.items()
    ]
    (ROOT / "docs" / "reference" / "compatibility.md").write_text("\n".join(lines) + "\n")
    return 1 if any(counts["failed"] for row in found.values() for counts in row.values()) else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "test-results"))
