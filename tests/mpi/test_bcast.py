"""MPI_Bcast by a window that the ranks of a host share, MPI_Ibcast and MPI_Bcast_init by copies
there (DUNNAGE_BCAST)."""

import contextlib
import json
import subprocess
import sys

import pytest
from chosen import ALL, in_turns, of_each_family
from installed import BUILD, MPIS
from model import write as model_file
from test_contract import judge
from test_sanitized import run_sanitized

pytestmark = pytest.mark.family_in_turns


@contextlib.contextmanager
def roster():
    """The server that `dunnage run` starts, while a command of it runs."""
    say = "import os, sys; print(os.environ['DUNNAGE_ROSTER'], flush=True); sys.stdin.read()"
    words = [BUILD / "bin" / "dunnage", "run", "--", sys.executable, "-c", say]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as command:
        yield command.stdout.readline().strip()
        command.stdin.close()


CASES = [
    (flavour, ranks, how, program)
    for flavour in MPIS
    for ranks in ((1, 2, 5) if flavour in ("openmpi", "mpich") else (3,))
    for how in (("window", "on") if ranks in (2, 3) else ("window",))
    for program in ("bcast", "ibcast")
    if flavour != "mpi_abi_on_impi"
]
# Once of each program on libraries that are not the first of their family.
if not ALL:
    CASES = [case for case in CASES if case[1] != 3 or case[2:] in (("on", "bcast"), ("window", "ibcast"))]


@pytest.mark.parametrize("flavour, ranks, how, program", CASES)
def test_broadcasts(launch, flavour, ranks, how, program):
    run = launch(flavour, f"contract_{program}", ranks=ranks, mode="dunnage", limit=300, DUNNAGE_BCAST=how)
    assert run.finished and run.code == 0 and not run.failures, run


def accelerated(launch, flavour, report, program="contract_bcast", call="MPI_Bcast", **variables):
    """How many broadcasts Dunnage did."""
    run = launch(flavour, program, ranks=2, mode="dunnage", limit=300, DUNNAGE_REPORT=str(report), **variables)
    assert run.code == 0, run
    return json.loads(report.read_text())["calls"][call]["accelerated"]


@pytest.mark.parametrize("flavour", of_each_family([flavour for flavour in MPIS if flavour != "mpi_abi_on_impi"]))
def test_whose_they_are(launch, flavour, tmp_path):
    """None where nobody knows whether all ranks have Dunnage; with a comparison at least those of
    it, and without nearly all."""
    report = tmp_path / "report.json"
    counts = {
        how: accelerated(launch, flavour, report, DUNNAGE_ROSTER="none", DUNNAGE_BCAST=how)
        for how in ("window", "on", "off", "auto")
    }
    assert counts["off"] == counts["auto"] == 0 < counts["on"] < counts["window"]
    assert counts["window"] > 300


LAST_RANK = """case ${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}} in 2) %s ;; esac; exec "$@" """


DIFFERENCES = [
    "ulimit -f 4000000",  # too little for a file of shared memory
    "export DUNNAGE_TICKETS=off",
    "export DUNNAGE_FORCE=never",
    "export DUNNAGE_BCAST=off",
    "export DUNNAGE_MODEL=none",
    "unset DUNNAGE_ROSTER",
    "export DUNNAGE_ROSTER=none",
    "unset LD_PRELOAD",
]


@pytest.mark.parametrize("served", [True, False])
@pytest.mark.parametrize(
    "flavour, differs", in_turns(DIFFERENCES, [flavour for flavour in MPIS if flavour in ("openmpi", "mpich")])
)
def test_one_rank_differs(launch, flavour, differs, served):
    """What all ranks do together in MPI_Init, a rank with other settings or means does too, or no
    rank does. `served`: the tool has a roster; else the ranks keep one."""
    with roster() if served else contextlib.nullcontext("") as place:
        through = ("sh", "-c", LAST_RANK % differs, "sh")
        run = launch(
            flavour, "contract_halo", ranks=3, mode="dunnage", through=through, limit=60, DUNNAGE_ROSTER=place
        )
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", of_each_family([f for f in MPIS if f in ("openmpi5", "mpich", "impi")]))
def test_whose_nonblocking_ones_are(launch, flavour, tmp_path):
    """Those that need no comparison: where they are possible, from a size on; where they are
    forced, all with data among several ranks."""
    report = tmp_path / "report.json"
    counts = {
        how: accelerated(
            launch, flavour, report, "contract_ibcast", "MPI_Ibcast", DUNNAGE_ROSTER="none", DUNNAGE_BCAST=how
        )
        for how in ("window", "on", "off", "auto")
    }
    assert counts["off"] == counts["auto"] == 0 < counts["on"] < counts["window"]
    assert counts["window"] > 300
    assert (
        accelerated(
            launch, flavour, report, "contract_ibcast", "MPI_Ibcast", DUNNAGE_BCAST="window", DUNNAGE_TICKETS="off"
        )
        == 0
    )


BY_RANK = """case ${PMIX_RANK:-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}} in
0) export DUNNAGE_MODEL=%s ;;
*) export DUNNAGE_MODEL=%s ;; esac; exec "$@" """


@pytest.mark.parametrize("flavour, library", [("openmpi", ("Open MPI", 4, 1)), ("mpich", ("MPICH", 4, 0))])
def test_the_first_rank_s_figures_are_those_of_all(launch, flavour, library, tmp_path):
    """Ranks that go by others would wait for each other for ever."""
    some, none = (
        str(model_file(tmp_path / f"{least}.json", [library], bcast={"least_window": least}))
        for least in (4096, 1 << 40)
    )
    report = tmp_path / "report.json"
    counts = []
    for first, others in ((some, none), (none, some)):
        run = launch(
            flavour,
            "contract_bcast",
            ranks=2,
            mode="dunnage",
            limit=300,
            DUNNAGE_BCAST="on",
            DUNNAGE_REPORT=str(report),
            through=("sh", "-c", BY_RANK % (first, others), "sh"),
        )
        assert run.code == 0, run
        counts.append(json.loads(report.read_text())["calls"]["MPI_Bcast"]["accelerated"])
    assert counts[0] > 0 == counts[1]


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_one_rank_has_no_buffer(launch, flavour):
    run = launch(flavour, "contract_bcast_null", ranks=3, mode="dunnage", limit=120, DUNNAGE_BCAST="window")
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_several_threads(launch, flavour):
    run = launch(flavour, "contract_bcast_threads", ranks=3, mode="dunnage", limit=120, DUNNAGE_BCAST="window")
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_copies_beyond_what_is_allowed(launch, flavour):
    """A root does not wait for memory: it takes more."""
    run = launch(
        flavour,
        "contract_ibcast",
        ranks=3,
        mode="dunnage",
        limit=300,
        DUNNAGE_BCAST="window",
        DUNNAGE_TICKET_MEMORY="64K",
    )
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("flavour", of_each_family([flavour for flavour in MPIS if flavour != "mpi_abi_on_impi"]))
def test_the_tool_sees_to_it_that_all_have_dunnage(launch, flavour, tmp_path):
    """Its roster has been told by all ranks."""
    with roster() as address:
        assert accelerated(launch, flavour, tmp_path / "report.json", DUNNAGE_ROSTER=address) > 0


@pytest.mark.parametrize("flavour", of_each_family([flavour for flavour in MPIS if flavour != "mpi_abi_on_impi"]))
def test_ranks_of_one_host_find_out_themselves(launch, flavour, tmp_path):
    """They are preloaded, and nothing else is set."""
    assert accelerated(launch, flavour, tmp_path / "report.json") > 0


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_collectives_among_others(launch, flavour):
    """All forms of all collectives, broadcasts among them, with every kind of communicator."""
    judge(
        launch(flavour, "contract_collectives", ranks=3, mode="dunnage", limit=300, DUNNAGE_BCAST="window"),
        lambda: launch(flavour, "contract_collectives", ranks=3),
    )


def test_without_devices(launch):
    """Where nothing else is to be done about collectives."""
    run = launch(
        "mpich",
        "contract_bcast",
        ranks=2,
        mode="dunnage",
        limit=300,
        DUNNAGE_BCAST="window",
        DUNNAGE_DEVICE="off",
        DUNNAGE_TICKETS="off",
    )
    assert run.finished and run.code == 0 and not run.failures, run


@pytest.mark.parametrize("program", ["bcast", "ibcast"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_nothing_is_found_by_sanitizers(launch, flavour, program):
    run = run_sanitized(launch, flavour, program, 3, DUNNAGE_BCAST="window")
    assert run.finished and not run.failures, run
