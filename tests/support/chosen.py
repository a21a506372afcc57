"""Which MPIs a test runs with, and which types. TEST_ALL_MPIS=1 runs every test with every MPI that
it is for, and all types.

Without that, one MPI of each ABI family stands for its family where a test looks at Dunnage and not
at the library. Where only the setting or the fault differs, MPIs take turns. In a run of CI one
family stands for all in the files that have the mark `family_in_turns`: the turn's
(docs/decisions/0041-turns.md).
"""

import collections
import os

from installed import MPIS

ALL = "TEST_ALL_MPIS" in os.environ

# By scripts/test.sh's turn, the best first.
FAMILIES = {"asan": ["mpich"], "tsan": ["openmpi"], "abi": ["mpi_abi", "openmpi"]}.get(os.environ.get("TURNS", ""), [])


def family(name):
    kind = "mpi_abi" if name.startswith("mpi_abi") else MPIS[name].kind if name in MPIS else name
    return {"impi": "mpich"}.get(kind, kind)


def of_each_family(names):
    """The first of these MPIs in each ABI family: each has a backend of its own."""
    chosen = {}
    for name in names:
        chosen.setdefault(family(name), name)
    return [name for name in names if ALL or chosen[family(name)] == name]


def one(case, cases, names):
    """Of these MPIs, those that a case runs with: neighbours in the list of cases take turns."""
    return [name for i, name in enumerate(names) if ALL or i == list(cases).index(case) % len(names)]


def in_turns(cases, names):
    """Pairs of an MPI and a case. Each case has one MPI, the next case the next one."""
    return [(name, case) for case in cases for name in one(case, cases, names)]


def share_of(name, program):
    """Which of the sample types a run uses: a third of them, and the next MPI the next third."""
    return "0/1" if ALL else f"{(list(MPIS).index(name) + len(program)) % 3}/3"


def of_other_turns(cases):
    """Of the cases of one test, those that another turn of CI runs. A case is a dictionary of
    parameters; cases that differ in nothing but their MPI, the `flavour`, stand for each other."""
    alike = collections.defaultdict(list)
    for case in cases:
        others = {key: value for key, value in case.items() if key != "flavour"}
        if case.get("flavour") in MPIS:
            alike[repr(sorted(others.items()))].append(case)
    left = []
    for group in alike.values():
        families = [family(case["flavour"]) for case in group]
        chosen = next((name for name in FAMILIES if name in families), families[0])
        if FAMILIES and not ALL:
            left += [case for case, of in zip(group, families) if of != chosen]
    return left
