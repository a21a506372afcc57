"""scripts/check_layers.py: small trees that it must reject or accept, and this tree."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import check_layers  # noqa: E402

TABLE = """
pending = {pending}

[trees]
src = ["src"]
sim = [".", "src"]

[groups]
below = ["base"]

[layers]
base = []
device = ["base"]
"mpi/process" = ["@below"]
"mpi/ways" = ["@below", "mpi/process"]
"mpi/ways/odd.hpp" = ["device"]
tool = ["device/one.hpp"]
"sim/*" = ["base"]

[headers]
"mpi.h" = ["mpi/*", "base/only_here.hpp"]

[conditionals]
CUDA = ["device"]

[generated]
"base/made.hpp" = []
"""


@pytest.fixture
def run(capsys):
    """run(root, argument...) runs the script on a tree: the exit status and what it prints."""

    def call(root, *arguments):
        status = check_layers.main(["--root", str(root), *arguments])
        return status, capsys.readouterr().out

    return call


@pytest.fixture
def check(run, tmp_path):
    """check({path: text}, pending=[...]) writes the files and runs the script on them."""

    def call(files, *arguments, pending=(), table=TABLE):
        table_text = table.format(pending=list(pending))
        for path, text in {"src/base/a.hpp": "", **files, "src/layers.toml": table_text}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return run(tmp_path, *arguments)

    return call


GOOD = {
    "src/base/b.hpp": '#include "base/a.hpp"\n#include "base/made.hpp"\n#include <vector>\n',
    "src/base/b.cpp": '#include "base/b.hpp"\n',
    "src/base/only_here.hpp": "#include <mpi.h>\n",
    "src/device/one.hpp": '#include "base/b.hpp"\n#ifdef __CUDACC__\n#endif\n',
    "src/mpi/process/p.hpp": '#include <mpi.h>\n#include "base/b.hpp"\n',
    "src/mpi/ways/w.cpp": '#include "mpi/process/p.hpp"\n/* #include "tool/t.hpp"\n#ifdef CUDA */\n',
    "src/mpi/ways/odd.hpp": '#include "device/one.hpp"\n#include "mpi/ways/w.cpp"\n',
    "src/tool/t.hpp": '#include "device/one.hpp"\n',
    "sim/deep/s.cpp": '#include "sim/s.hpp"\n#include "base/a.hpp"\n',
    "sim/s.hpp": "",
}


def test_good_tree(check):
    status, out = check(GOOD)
    assert status == 0, out
    assert "11 files" in out and "0 violations, 0 pending" in out


@pytest.mark.parametrize("path, text, found", [
    pytest.param("src/base/bad.hpp", '\n#include "device/one.hpp"\n',
                 'src/base/bad.hpp:2: "device/one.hpp" breaks the table: base may not include from device', id="layer"),
    pytest.param("src/mpi/process/bad.cpp", '#include <mpi/ways/w.cpp>\n',
                 "mpi/process may not include from mpi/ways", id="subfolder, in angle brackets"),
    pytest.param("src/mpi/ways/odd.hpp", '#include "base/a.hpp"\n',
                 "mpi/ways/odd.hpp may not include from base", id="row of a file"),
    pytest.param("src/tool/bad.hpp", '#include "device/two.hpp"\n',
                 "tool may not include from device", id="other file"),
    pytest.param("sim/bad.cpp", '/* a\nb */ \n  #  include "device/one.hpp"\n',
                 'sim/bad.cpp:3: "device/one.hpp" breaks the table: sim/* may not', id="line after a comment"),
    pytest.param("src/base/bad.hpp", '#include "base/none.hpp"\n',
                 '"base/none.hpp" is no file of the tree', id="no file"),
    pytest.param("src/new/a.hpp", "", "no row for the folder new", id="no row"),
    pytest.param("src/mpi/new/a.hpp", "", "no row for the folder mpi/new", id="no row of its own"),
    pytest.param("src/base/bad.hpp", "#include <mpi.h>\n",
                 "src/base/bad.hpp:1: <mpi.h> is only for mpi/*", id="header"),
    pytest.param("src/base/bad.hpp", "\n#if defined(__CUDACC__)\n#endif\n",
                 "src/base/bad.hpp:2: conditional compilation on CUDA is only for device", id="#if"),
    pytest.param("src/base/bad.hpp", "#ifdef X\n#elif HAVE_CUDA\n#endif\n",
                 "src/base/bad.hpp:2: conditional", id="#elif"),
    pytest.param("src/base/bad.hpp", "#ifndef NO_CUDA\n#endif\n", "src/base/bad.hpp:1: conditional", id="#ifndef"),
])
def test_violation(check, path, text, found):
    status, out = check({**GOOD, "src/device/two.hpp": "", path: text})
    assert status == 1
    assert found in out
    assert " 1 violations" in out


def test_cycle_of_headers(check):
    status, out = check({"src/base/x.hpp": '#include "base/y.hpp"\n', "src/base/y.hpp": '#include "base/z.hpp"\n',
                         "src/base/z.hpp": '#include "base/x.hpp"\n', "src/base/w.hpp": '#include "base/x.hpp"\n'})
    assert status == 1
    assert "base/x -> base/y -> base/z -> base/x (src/base/x.hpp:1, src/base/y.hpp:1, src/base/z.hpp:1); 3 stems" in out


def test_cycle_of_stems(check):
    """No header includes itself here: x.cpp needs y.hpp, and y.hpp needs x.hpp."""
    status, out = check({"src/base/x.hpp": "", "src/base/x.cpp": '#include "x.hpp"\n#include "base/y.hpp"\n',
                         "src/base/y.hpp": '#include "base/x.hpp"\n'})
    assert status == 1
    assert "base/x -> base/y -> base/x" in out


def test_two_cycles(check):
    status, out = check({f"src/base/{a}.hpp": f'#include "base/{b}.hpp"\n' for a, b in ("xy", "yx", "vw", "wv")})
    assert status == 1
    assert "base/v -> base/w -> base/v" in out and "base/x -> base/y -> base/x" in out


def test_cycle_of_rows(check):
    status, out = check({}, table=TABLE.replace("base = []", 'base = ["device"]'))
    assert status == 1
    assert "the rows form a cycle" in out and "base -> device" in out


UPWARDS = {"src/mpi/process/p.hpp": "",
           "src/mpi/process/p.cpp": '#include "mpi/ways/w.hpp"\n',
           "src/mpi/ways/w.hpp": '#include "mpi/process/p.hpp"\n'}


def test_pending(check):
    status, out = check(UPWARDS, pending=["mpi/process -> mpi/ways", "cycle mpi"])
    assert status == 0, out
    assert "note: src/mpi/process/p.cpp:1:" in out and "note: a cycle between stems" in out
    assert "0 violations, 2 pending" in out


def test_pending_covers_nothing_else(check):
    status, out = check(UPWARDS, pending=["mpi/process -> mpi/ways"])
    assert status == 1
    assert "1 violations, 1 pending" in out


def test_pending_that_holds(check):
    status, out = check(GOOD, pending=["mpi/process -> mpi/ways"])
    assert status == 1
    assert 'pending "mpi/process -> mpi/ways" holds now' in out


def test_pending_of_another_layer(check):
    status, out = check({"src/device/one.hpp": "", "src/base/bad.hpp": '#include "device/one.hpp"\n'},
                        pending=["base -> device"])
    assert status == 1
    assert "only rules of mpi/ and sim/ may be pending" in out


def test_files(check):
    status, out = check(GOOD, "--files", "src/mpi/ways/*.cpp")
    assert status == 0
    assert out.splitlines() == ["base/made.hpp (generated)", "src/base/a.hpp", "src/base/b.hpp",
                                "src/mpi/process/p.hpp", "src/mpi/ways/w.cpp", "5 files"]


def test_files_without_a_match(check, capsys):
    with pytest.raises(SystemExit):
        check(GOOD, "--files", "src/none*")
    assert "no file matches src/none*" in capsys.readouterr().err


def test_this_tree(run):
    status, out = run(ROOT)
    assert status == 0, out


def test_generated_headers(tmp_path):
    """The table says of each generated file what the generators write."""
    (tmp_path / "base").mkdir()
    for command in (["settings.py", "api/settings.toml", "--cpp", tmp_path / "base"],
                    ["hooks.py", "api/hooks.toml", "api/buffers.toml", tmp_path]):
        subprocess.run([sys.executable, f"generate/{command[0]}", *command[1:]], cwd=ROOT, check=True)
    listed = check_layers.Table(ROOT).generated
    found = {path.relative_to(tmp_path).as_posix(): re.findall(r'#include "(.+)"', path.read_text())
             for path in tmp_path.rglob("*") if path.suffix in {".hpp", ".inc", ".h"}}
    assert found == {name: includes for name, includes in listed.items() if not name.startswith(("sim/", "tests/"))}
