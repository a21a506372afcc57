"""Fortran, in its three interfaces. The contract is judged as that of C is: what fails only with
Dunnage is a defect.

MPICH 4.0 fails by itself: its mpi_f08 counts from 0 what mpi_waitany and its kin return, its mpif.h
adds 1 to MPI_UNDEFINED.
"""

import json

import pytest
from chosen import ALL
from test_contract import FLAVOURS, judge

INTERFACES = ["mpif", "mpi_module", "f08"]
MODES = ["dunnage", "always"]


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("interface", INTERFACES)
class TestFortran:
    @pytest.mark.parametrize(
        "ranks, mode", [(n, mode) for n in (1, 2, 3) for mode in MODES if ALL or mode == MODES[n % 2]]
    )
    def test_contract(self, launch, flavour, interface, ranks, mode):
        judge(
            launch(flavour, f"f90_contract_{interface}", ranks=ranks, mode=mode),
            lambda: launch(flavour, f"f90_contract_{interface}", ranks=ranks),
        )

    @pytest.mark.parametrize(
        "ranks, mode", [(n, mode) for n in (2, 4) for mode in MODES if ALL or mode == MODES[n // 2 - 1]]
    )
    def test_halo_is_accelerated(self, launch, flavour, interface, ranks, mode, tmp_path):
        """Every send and every receive, under its name in C, and no call twice."""
        report = tmp_path / "report.json"
        settings = {"DUNNAGE_REPORT": str(report), "DUNNAGE_TRIALS": "off"}  # in a trial the MPI has its turns
        run = launch(flavour, f"f90_halo_{interface}", ranks=ranks, mode=mode, **settings)
        assert run.code == 0 and "verified" in run.output, run
        calls = json.loads(report.read_text())["calls"]
        for name in ("MPI_Issend", "MPI_Irecv"):
            # 3 steps of 4 updates, 2 of each in an update
            assert calls[name]["accelerated"] == 24 * ranks and not calls[name]["declined"], calls

    def test_halo_with_dunnage_off(self, launch, flavour, interface, tmp_path):
        report = tmp_path / "report.json"
        run = launch(flavour, f"f90_halo_{interface}", mode="dunnage", DUNNAGE="off", DUNNAGE_REPORT=str(report))
        assert run.code == 0 and "verified" in run.output and not report.exists(), run


# What the contract must have seen accelerated where everything that can be is.
ACCELERATED = {
    f"MPI_{name}"
    for name in (
        "Pack Unpack Pack_size Send Ssend Rsend Bsend Recv Mrecv Sendrecv Sendrecv_replace Isend Issend Irsend Ibsend "
        "Irecv Imrecv Send_init Ssend_init Rsend_init Bsend_init Recv_init"
    ).split()
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_call_is_seen_once(launch, interface, tmp_path):
    """Fortran reaches us by other ways in each MPI, and the numbers of calls are the same."""
    seen = {}
    for flavour in FLAVOURS:
        report = tmp_path / f"{flavour}.json"
        run = launch(flavour, f"f90_contract_{interface}", ranks=2, mode="always", DUNNAGE_REPORT=str(report))
        assert run.finished, run
        calls = json.loads(report.read_text())["calls"]
        assert ACCELERATED <= {name for name, call in calls.items() if call["accelerated"]}
        seen[flavour] = {
            name: calls[name]["accelerated"] + sum(calls[name]["declined"].values()) for name in ACCELERATED
        }
    if interface == "f08":  # sections in nonblocking calls: with MPICH only
        for name, more in (("MPI_Irecv", 4), ("MPI_Ssend", 4)):
            seen["openmpi"][name] += more
    assert seen["openmpi"] == seen["mpich"]
