"""The MPI contract: what these programs may see of Dunnage is nothing.

Each program checks itself. What fails without Dunnage too is the MPI's own fault and is allowed;
nothing else is.
"""

import json
import os

import pytest

from chosen import ALL, of_each_family, one
from installed import MPIS

PROGRAMS = [  # with the numbers of ranks that bring something new
    ("arguments", 1),
    ("bcast", 2),
    ("blocking", 2),
    ("blocking", 3),
    ("communicators", 4),
    ("halo", 2),
    ("ibcast", 3),
    ("large", 2),
    ("large", 5),
    ("mixed", 2),
    ("nonblocking", 2),
    ("nonblocking", 4),
    ("pack", 1),
    ("persistent", 2),
    ("probe", 2),
    ("self", 1),
    ("self", 3),
    ("threads", 2),
]
SURFACE = [  # calls that Dunnage leaves to the MPI: there is nothing to force
    ("collectives", 2),
    ("collectives", 3),
    ("files", 2),
    ("files", 3),
    ("neighbours", 2),
    ("neighbours", 3),
    ("neighbours_under_way", 2),
    ("onesided", 2),
    ("onesided", 3),
    ("partitioned", 2),
]
STAGED = [("blocking", 2), ("nonblocking", 2), ("persistent", 2), ("probe", 2)]  # large messages too, without tickets
AGAIN = [("blocking", 3), ("large", 5), ("nonblocking", 4), ("self", 3)]
WORLDS = [("sessions", 2), ("spawn", 2)]  # messages again, between other processes than those of one MPI_Init
FLAVOURS = list(MPIS) or ["openmpi", "mpich"]
# One Open MPI and one MPICH run everything. The others are of the same ABI families; what may
# differ between the libraries of one is the types that they pack, the requests and the messages.
ALL_OF_IT = set(FLAVOURS) if ALL else {"openmpi", "mpich"}
PART_OF_IT = {
    ("large", 2),
    ("mixed", 2),
    ("nonblocking", 2),
    ("pack", 1),
    ("persistent", 2),
    ("probe", 2),
    ("self", 1),
}
CASES = [
    (flavour, *case)
    for flavour in FLAVOURS
    for case in PROGRAMS + WORLDS + SURFACE
    if flavour in ALL_OF_IT or case in PART_OF_IT
    or (flavour, case) == ("impi", ("communicators", 4))  # frees them otherwise (mpi/hooks/comm_free.hpp)
]
# Intel MPI 2021.18 has the standard ABI's MPI_ERRORS_RETURN and MPI_ERRORS_ABORT the wrong way
# round: a program that provokes an error ends there.
CASES = [case for case in CASES if case[0] != "mpi_abi_on_impi" or case[1] in {"mixed", "persistent"}]


BOTH = [flavour for flavour in FLAVOURS if flavour in ALL_OF_IT]


def modes(flavour, case=None):
    """In which ways a case runs. With everything forced it runs on both MPIs. With Dunnage's own
    choice, staged, and once more with many ranks, they take turns."""
    if flavour not in ALL_OF_IT:
        return ["always"]
    if case not in PROGRAMS:
        return ["dunnage", "always"]
    if case[1] > 2:  # many ranks take long on few cores
        return ["always"] if case not in AGAIN or flavour in one(case, AGAIN, BOTH) else []
    chosen = ["dunnage"] if flavour in one(case, PROGRAMS, BOTH) else []
    chosen.append("always")
    if case in STAGED and flavour in one(case, STAGED, BOTH):
        chosen.append("staged")
    return chosen


SECONDS = int(os.environ.get("DUNNAGE_RANDOM_SECONDS", "5"))


def judge(run, plain):
    """Fails if the run with Dunnage shows a defect. `plain` is a function that runs the same
    without Dunnage: it is called only if something went wrong, to tell whether the MPI does that by
    itself."""
    if run.finished and run.code == 0 and not run.failures:
        return
    without = plain()
    if not without.finished:
        pytest.skip(f"this MPI does not get through by itself: {sorted(without.failures)}")
    new = run.failures - without.failures
    assert not new, f"fails only with Dunnage: {sorted(new)}\n{run}"
    assert run.finished, f"does not finish with Dunnage\n{run}"
    assert run.failures, f"fails without saying why\n{run}"


@pytest.mark.parametrize(
    "flavour, program, ranks, mode",
    [(*case, mode) for case in CASES if case[1:] not in SURFACE for mode in modes(case[0], case[1:])],
)
def test_with_dunnage(launch, flavour, program, ranks, mode):
    """Those of SURFACE are run by test_surface_report.py, which judges them too."""
    judge(
        launch(flavour, f"contract_{program}", ranks=ranks, mode=mode),
        lambda: launch(flavour, f"contract_{program}", ranks=ranks),
    )


# Of the families, and a library that is much unlike the first of its family.
OTHERS = {*of_each_family(FLAVOURS), "openmpi5"}

SOME_RANKS = """case ${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}} in %s) unset LD_PRELOAD ;; esac; exec "$@" """


@pytest.mark.parametrize("without", ["0|3", "1|2"])  # senders, receivers, both
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("program", ["large", "blocking"])
def test_not_all_ranks_have_it(launch, flavour, program, without):
    if (program == "blocking" and (flavour, without) != ("mpich", "0|3")) or (
        flavour not in ALL_OF_IT and (without != "1|2" or flavour not in OTHERS)
    ):
        pytest.skip("tried with others of the family")
    judge(
        launch(
            flavour, f"contract_{program}", ranks=4, mode="tickets", through=("sh", "-c", SOME_RANKS % without, "sh")
        ),
        lambda: launch(flavour, f"contract_{program}", ranks=4),
    )


@pytest.mark.parametrize(
    "flavour, mode, ranks, share",
    [
        (flavour, mode, ranks, share)
        for mode, ranks, share in [("dunnage", 1, 0.2), ("always", 1, 0.2), ("always", 2, 0.4)]
        for flavour in FLAVOURS
        if mode in modes(flavour) and (flavour in ALL_OF_IT or ranks == 2)
    ],
)
def test_random_types(launch, flavour, mode, ranks, share):
    only = ["-p"] if MPIS[flavour].kind == "impi" else []  # it crashes on lists of types with an extent of zero or less
    run = launch(
        flavour, "contract_random", *only, max(1, round(share * SECONDS)), ranks=ranks, mode=mode, limit=SECONDS + 60
    )
    print(run.output[:3000])
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize(
    "flavour", [f for f in FLAVOURS if f.startswith("openmpi")]
)  # some MPICHs divide by zero on such types, by themselves
def test_random_types_with_empty_members(launch, flavour):
    run = launch(
        flavour, "contract_random", "-e", max(1, round(0.2 * SECONDS)), ranks=1, mode="always", limit=SECONDS + 60
    )
    print(run.output[:3000])
    assert run.finished and run.code == 0 and not run.failures, run


# Copied or not, nobody sees the padding.
PADDING = "long double (padding)"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_type_is_packed_by_one_engine(launch, flavour):
    """What this MPI packs in an order of its own is left to it, always."""
    run = launch(flavour, "contract_quirks", ranks=1, mode="always")
    if run.code != 0 and launch(flavour, "contract_quirks", ranks=1, mode="plain").code != 0:
        pytest.skip("this MPI ends the program without Dunnage too")
    families = [json.loads(line) for line in run.output.splitlines()]
    for family in families:
        if any(family[how] for how in ("wrong", "unpack", "send", "receive", "crash")):
            print(family)
    assert len(families) > 100
    assert not [family for family in families if family["torn"] and family["family"] != PADDING]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_programs_are_preloaded(launch, flavour, tmp_path):
    """Or all of the above would prove nothing."""
    report = tmp_path / "report.json"
    run = launch(flavour, "halo3d", 24, 3, ranks=2, mode="always", DUNNAGE_REPORT=str(report))
    assert run.code == 0, run
    report = json.loads(report.read_text())
    assert report["ranks"] == 2 and report["calls"]["MPI_Isend"]["accelerated"] > 0
    assert MPIS[flavour].version[:6] in report["mpi"] or MPIS[flavour].kind == "mpi_abi"


@pytest.mark.parametrize(
    "flavour", of_each_family([f for f in FLAVOURS if f != "mpi_abi_on_impi"])  # the program provokes errors
)
def test_large_messages_go_by_ticket(launch, flavour, tmp_path):
    """Nor would the contract of large messages prove much."""
    calls = {}
    for mode in ["tickets", "staged"]:
        report = tmp_path / f"{mode}.json"
        run = launch(flavour, "contract_large", ranks=2, mode=mode, DUNNAGE_REPORT=str(report))
        assert run.finished, run
        told = json.loads(report.read_text())
        calls[mode] = told["calls"]
    for call in ["MPI_Send", "MPI_Isend", "MPI_Issend", "MPI_Sendrecv"]:
        assert calls["tickets"][call]["by ticket"] > 0 and calls["staged"][call]["by ticket"] == 0, call


@pytest.mark.parametrize("mode", ["tickets", "staged"])
@pytest.mark.parametrize("flavour", [f for f in FLAVOURS if f not in ("mpi_abi", "mpi_abi_on_impi")])
def test_truncated_tickets_are_given_back(launch, flavour, mode, tmp_path):
    """Open MPI tells how long a truncated message is. On other MPIs the places of truncated tickets
    are lost, but nothing else is (docs/reference/limits.md)."""
    report = tmp_path / "report.json"
    run = launch(flavour, "contract_truncated", ranks=2, mode=mode, limit=60, DUNNAGE_REPORT=str(report))
    plain = launch(flavour, "contract_truncated", ranks=2, limit=60)
    assert run.finished and run.failures <= plain.failures, run
    sent = json.loads(report.read_text())["calls"]["MPI_Send"]
    if mode == "tickets" and MPIS[flavour].is_open_mpi:
        assert sent["by ticket"] >= 600 - 5, sent  # one of each way of receiving may be lost


@pytest.mark.parametrize("flavour", [f for f in ("openmpi", "mpich") if f in FLAVOURS])
def test_contiguous_messages_go_by_ticket_once_their_receiver_scatters_them(launch, flavour, tmp_path):
    sent = {}
    for scheme in ["strided receive", "^contiguous"]:
        report = tmp_path / f"{scheme[:3]}.json"
        run = launch(
            flavour,
            "bench_noncontiguous_send",
            "--schemes",
            scheme,
            "--least",
            1 << 20,
            "--most",
            1 << 20,
            "--exchanges",
            5,
            "--flush",
            0,
            mode="dunnage",
            DUNNAGE_REPORT=str(report),
        )
        assert run.code == 0, run
        sent[scheme] = json.loads(report.read_text())["calls"]["MPI_Send"]["by ticket"]
    assert sent["strided receive"] >= 3 and sent["^contiguous"] == 0


@pytest.mark.parametrize(
    "flavour, mode, ranks",
    [
        (flavour, mode, ranks)
        for flavour in FLAVOURS
        for mode in modes(flavour)
        for ranks in ([1, 3, 4] if flavour in ALL_OF_IT and (ALL or mode == "always") else [3])
    ],
)
def test_halo_exchange(launch, flavour, mode, ranks):
    run = launch(flavour, "halo3d", 24, 3, ranks=ranks, mode=mode)
    assert run.code == 0 and "verified" in run.output, run
