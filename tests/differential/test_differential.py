"""The differential machine: kept scripts and a few random ones, plain and with Dunnage. Its own
tests show that it finds a difference and a crash, and shrinks scripts. README.md describes it."""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from machine import compare, known, runner, scenes, shrink  # noqa: E402

from installed import MPIS  # noqa: E402  (runner knows where it is)

CASES = sorted((HERE / "cases").glob("*.txt"))
RANDOM = int(os.environ.get("DIFFERENTIAL_SCRIPTS", "40"))
FLAVOURS = [name for name in ("openmpi", "mpich", "openmpi5", "mpich5", "impi") if name in MPIS]
pytestmark = pytest.mark.skipif(not pathlib.Path(runner.LIBRARY).exists(), reason="the library is not built")


def texts(verdicts):
    return "\n".join(str(difference) for verdict in verdicts for difference in verdict.differences)


def differs(script, mode):
    """Whether a kept script says that it still differs in this mode: `# differs, MODE: REASON`."""
    return f"# differs, {mode}:" in script


@pytest.mark.parametrize("mode", runner.MODES)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_kept_cases(flavour, mode):
    scripts = [case.read_text() for case in CASES]
    verdicts = compare.examine_all(MPIS[flavour], mode, scripts, 1, 1)
    assert len(verdicts) == len(CASES) > 0
    assert not any(verdict.plain_fails for verdict in verdicts)
    for case, script, verdict in zip(CASES, scripts, verdicts):
        if verdict.differences or differs(script, mode):  # timing, or a difference?
            alone = compare.examine(MPIS[flavour], mode, script)
            assert bool(alone.differences) == differs(script, mode), f"{case.name}:\n{texts([alone])}"


@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_random_scripts(flavour, device):
    """The seeds are fixed. `make differential` runs others."""
    mode = "dunnage" if device else "always"
    seeds = range(1, 1 + (RANDOM // 4 if device else RANDOM))
    scripts = [scenes.script(seed, 3, device=device) for seed in seeds]
    verdicts = compare.examine_all(MPIS[flavour], mode, scripts, 1, 1)
    for script, verdict in zip(scripts, verdicts):
        if verdict.differences:
            alone = compare.examine(MPIS[flavour], mode, script)
            assert not alone.differences, f"{script}\n{texts([alone])}"
    assert sum(bool(verdict.plain_fails) for verdict in verdicts) <= len(scripts) // 10


@pytest.fixture
def any_mpi():
    if not FLAVOURS:
        pytest.skip("no MPI here")
    return MPIS["mpich" if "mpich" in FLAVOURS else FLAVOURS[0]]


def test_wrong_library_is_found_and_shrunk(any_mpi):
    """A library that changes a byte of some messages, among scenes that have nothing to do with
    it."""
    script = """# ranks=3 threads=0 device=0
* handler world return @1
0 isend a to=1 tag=3 type=double count=5 @2
* barrier on=world @3
2 send to=1 tag=4 type=int count=64 mode=synchronous @4
1 recv from=2 tag=4 type=int count=70 bytes=256 @4
1 recv from=0 tag=3 type=vector(5,1,2,double) count=1 bytes=40 @2
0 wait a @2
* allreduce on=world type=int count=3 @5
"""
    (difference,) = compare.examine(any_mpi, "wrong", script).differences
    assert difference.line == 6 and "data:wrong" in difference.other
    assert not compare.only_at_other_times(any_mpi, script, [difference])
    shortest = shrink.shrink(any_mpi, "wrong", script, difference)
    assert len(shortest.splitlines()) == 3 and "mode=" not in shortest.replace("mode=standard", "")
    assert compare.examine(any_mpi, "wrong", shortest).differences


def test_wrong_library_is_found_by_random_scripts(any_mpi):
    scripts = [scenes.script(seed, 2) for seed in range(1, 31)]
    assert any(verdict.differences for verdict in compare.examine_all(any_mpi, "wrong", scripts, 1, 1))


def test_what_the_interpreter_tells_is_compared(any_mpi):
    script = scenes.script(1, 2) + "* barrier on=world\n"
    differences = compare.examine(any_mpi, "broken:barrier", script, 1, 1).differences
    assert differences and all("barrier" in difference.statement for difference in differences)


def test_a_crash_is_found(any_mpi):
    """Of a run with the library alone: a crash of the plain MPI as well is no difference."""
    script = "# ranks=2 threads=0 device=0\n0 no_such_verb\n"
    verdict = compare.examine(any_mpi, "dunnage", "# ranks=2 threads=0 device=0\n* wait nothing\n", 1, 1)
    assert verdict.plain_fails and not verdict.differences
    well, ended = runner.Outcome({(2, 0): "barrier code=success"}), runner.Outcome({}, "crashed at line 2 barrier")
    (difference,) = compare.compare(any_mpi, script, [well], ended).differences
    assert "crashed" in str(difference)


def test_a_crash_that_is_the_mpis():
    """Of Open MPI, if a rank sends itself more than a receive of device memory takes."""
    if "openmpi" not in MPIS:
        pytest.skip("no Open MPI here")
    script = "# ranks=2\n0 irecv a from=0 wanted=truncate in=device @1\n0 send to=0 @1\n0 wait a @1\n* barrier\n"
    for text, line, expected in [
        (script, 4, True),
        (script, 5, False),
        (script.replace("0 send", "1 send"), 4, False),
        (script.replace(" in=device", ""), 4, False),
        (script.replace(" wanted=truncate", ""), 4, False),
    ]:
        ended = runner.Outcome({}, f"crashed at line {line} wait")
        verdict = compare.compare(MPIS["openmpi"], text, [runner.Outcome({})], ended)
        assert bool(verdict.explained) == expected == (not verdict.differences), (text, line)


def test_what_varies_is_left_out(any_mpi):
    one, other = runner.Outcome({(2, 0): "test_once flag=0"}), runner.Outcome({(2, 0): "test_once flag=1"})
    verdict = compare.compare(any_mpi, "# ranks=1\n0 test_once a\n", [one, other], other)
    assert verdict.varying == 1 and not verdict.differences


def test_what_is_known_explains_no_more_than_it_says(any_mpi):
    clean = "recv code=success got=data:line3,rest:clean"
    for worse in ("recv code=success got=data:wrong1,rest:clean", "recv code=success got=data:line3,rest:touched"):
        assert not known.explains(any_mpi, ["0 recv"], clean, worse)
        assert known.explains(any_mpi, ["0 recv"], worse, clean)


def test_timing_excuses_neither_bytes_nor_errors_nor_handlers():
    """Only which requests a failing call tells to have ended."""
    group = ["0 irecv a from=1 wanted=truncate", "0 irecv b from=1 bytes=8", "1 send to=0", "0 waitall a b"]
    head = "waitall code=in_status handler=world:truncate "
    plain = head + "a=error:truncate,outside:clean b=from:1,bytes:8,data:line3,rest:clean"
    pending = head + "a=error:truncate,outside:clean b=error:pending,then:success,data:line3,rest:clean"
    for mpi in MPIS.values():
        for one, other in ((plain, pending), (pending, plain)):
            assert known.explains(mpi, group, one, other)
        for worse in (
            pending.replace("line3", "wrong7"),
            pending.replace("rest:clean", "rest:touched"),
            pending.replace("world", "dup0"),
            pending.replace("a=error:truncate,", "a="),
            pending.replace("code=in_status", "code=success"),
        ):
            assert not known.explains(mpi, group, plain, worse), worse


@pytest.mark.skipif("impi" not in MPIS, reason="no Intel MPI here")
def test_what_intel_mpi_conceals():
    told = "recv code=truncate got=outside:clean handler=world:truncate"
    concealed = "recv code=success got=outside:clean"
    group = ["1 recv from=0 tag=1 count=2 wanted=truncate @1"]
    for one, other in ((told, concealed), (concealed, told)):
        assert known.explains(MPIS["impi"], group, one, other)
        assert not known.explains(MPIS["impi"], ["1 recv from=0 tag=1 count=2 @1"], one, other)
        assert not known.explains(MPIS["impi"], group, one, other.replace("clean", "touched"))


def test_a_silent_handler_is_excused_beside_threads_only(any_mpi):
    told = "waitany code=truncate handler=world:truncate a=error:truncate,outside:clean"
    silent = told.replace(" handler=world:truncate", "")
    excused = known.explains(any_mpi, ["1 waitany a @1"], told, silent, True) is not None
    assert excused != any_mpi.is_open_mpi
    assert not known.explains(any_mpi, ["1 waitany a @1"], told, silent, False)
    assert not known.explains(any_mpi, ["1 waitany a @1"], silent, told, True)
    assert not known.explains(any_mpi, ["1 waitany a @1"], told.replace("world:", "dup:"), silent, True)


def test_what_no_timing_excuses_counts_after_other_scripts_too():
    crash = compare.Difference(0, -1, "", "finished", "crashed at line 2 send")
    bytes_ = compare.Difference(2, 0, "0 recv", "recv got=data:line1", "recv got=data:wrong1")
    assert crash.is_grave and bytes_.is_grave
    assert not compare.Difference(2, 0, "0 wait", "wait a=untold", "wait a=left").is_grave


def test_scripts_are_what_their_seed_says():
    assert scenes.script(7, 2) == scenes.script(7, 2) != scenes.script(8, 2)
    every = " ".join(scenes.script(seed, 3, seed % 4 == 1, seed % 2 == 0) for seed in range(400))
    words = ["buffered", "ready", "synchronous", "send_init", "recv_init", "cancel", "mprobe"]
    words += ["request_free", "settle", "type_freed", "comm_free", "from=any", "tag=any", "from=null", "at=bottom"]
    words += ["wanted=truncate", "handler world user", "fork", "neighbor_alltoallw", "in=device", "sendrecv_replace"]
    words += ["darray", "subarray", "hindexed_block", "struct", "resized", "dup", "at=null", "count=0"]
    assert not [word for word in words if word not in every]
