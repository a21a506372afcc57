"""What programs see of messages that are longer than their receives, with Dunnage and without: the
lines of contract_errors. docs/reference/limits.md has what may differ."""

import re

import pytest
from chosen import ALL
from installed import MPIS

LINE = re.compile(r"^(\w[^:]*, (?:handler|returns)): ?(.*)$", re.M)


def lines(output):
    return dict(LINE.findall(output))


def comparable(kind, major, large, tickets, name, seen):
    """The part of a line that must not differ. None if all of it may."""
    call = name.split(",")[0]
    persistent, no_statuses = ", persistent" in name, ", no statuses" in name
    several = call.startswith("Waitall")
    if kind == "openmpi":
        # Open MPI 5 returns no error if it is given no statuses, and 4.1 returns none of persistent
        # receives if it is given some.
        if several and (no_statuses if major >= 5 else persistent and not no_statuses and tickets and large):
            return None
        # Open MPI 4.1 frees persistent requests that have failed.
        return re.sub("; left[^;]*", "", seen) if persistent else seen
    if major >= 5:
        if call not in ("Recv", "Request_free", "Wait") and not several:
            return None  # how many have come at a time is not the same in two runs
        seen = re.sub(r"(\[1 \d+) \d+", r"\1", seen)  # also counts bytes that had no room
    if several and (major >= 5 or (large and tickets)):
        # MPICH leaves requests behind the first failure alone. With Dunnage they may have ended.
        return re.sub("; left[^;]*", "", re.sub(r" \[[^]]*\]", "", seen))
    return seen


FLAVOURS = [name for name, mpi in MPIS.items() if mpi.kind in ("openmpi", "mpich") and mpi.programs == name]


# Small messages go the same way with tickets and without.
@pytest.mark.parametrize(
    "mode, size",
    [("staged", "large"), ("always", "large"), ("always", "small"), *([("staged", "small")] if ALL else [])],
)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_errors_are_the_same(launch, flavour, mode, size):
    mpi = MPIS[flavour]
    plain = launch(flavour, "contract_errors", size, limit=100)
    with_it = launch(flavour, "contract_errors", size, mode=mode, limit=100)
    assert plain.finished and with_it.finished, (plain, with_it)
    expected, found = lines(plain.output), lines(with_it.output)
    assert expected.keys() == found.keys() and len(expected) > 200

    def told(all_lines):
        kept = {
            name: comparable(mpi.kind, mpi.major, size == "large", mode == "always", name, seen)
            for name, seen in all_lines.items()
        }
        return [f"{name}: {seen}" for name, seen in kept.items() if seen is not None]

    different = [(one, other) for one, other in zip(told(expected), told(found)) if one != other]
    assert not different, "\n".join(f"plain   {one}\nDunnage {other}" for one, other in different[:10])
