"""What record.py has written of the ranks of a run."""

import pathlib


def read_outcomes(folder):
    """{(rank, test): outcome}. A test that only started did not pass."""
    found = {}
    for file in pathlib.Path(folder).glob("rank-*"):
        for line in file.read_text(encoding="utf-8").splitlines():
            outcome, _, test = line.partition(" ")
            # A failed part fails its test.
            if test and found.get((file.name, test)) != "failed":
                found[file.name, test] = outcome
    return found


def passed(found):
    """Which tests passed on which rank."""
    return {where for where, outcome in found.items() if outcome == "passed"}
