"""Which cases a turn of CI leaves to the other turns (tests/support/chosen.py)."""

import chosen
import pytest

from installed import MPIS


def cases(*flavours):
    for flavour in flavours:
        if flavour not in MPIS:
            pytest.skip(f"no {flavour} here")
    return [{"flavour": flavour, "ranks": ranks} for ranks in (2, 3) for flavour in flavours]


def left(monkeypatch, families, of):
    monkeypatch.setattr(chosen, "FAMILIES", families)
    monkeypatch.setattr(chosen, "ALL", False)
    return sorted({case["flavour"] for case in chosen.of_other_turns(of)})


def test_one_family_is_kept(monkeypatch):
    both = cases("openmpi", "mpich")
    assert left(monkeypatch, ["openmpi"], both) == ["mpich"]
    assert left(monkeypatch, ["mpich"], both) == ["openmpi"]
    assert left(monkeypatch, [], both) == []


def test_all_mpis_of_a_family_are_kept(monkeypatch):
    assert left(monkeypatch, ["openmpi"], cases("openmpi", "openmpi5", "mpich", "mpich5")) == ["mpich", "mpich5"]


def test_a_case_without_that_family_is_kept(monkeypatch):
    assert left(monkeypatch, ["mpi_abi"], cases("mpich")) == []
    assert left(monkeypatch, ["mpi_abi"], cases("openmpi", "mpich")) == ["mpich"]
    different = [{"flavour": "openmpi", "ranks": 2}, {"flavour": "mpich", "ranks": 3}]
    cases("openmpi", "mpich")
    assert left(monkeypatch, ["mpich"], different) == []
