"""The site of the documents builds without a warning, and what its pages say to type works."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PAGES = sorted([*(ROOT / "docs" / "tutorial").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")])
# Before a block of commands: what a test finds in the output, or which file tests the command.
BLOCK = re.compile(r"^( *)<!-- tested: (.*) -->\n\n((?:\1    .*\n)+)", re.MULTILINE)
ELSEWHERE = re.compile(r"^ *<!-- tested by (\S+) -->\n\n +(.*)$", re.MULTILINE)

sys.path.insert(0, str(ROOT / "scripts"))


def mkdocs(*arguments):
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", *map(str, arguments)], cwd=ROOT, text=True,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, timeout=120)


def test_the_site_builds(tmp_path):
    """Strict: broken links and anchors, and pages that the navigation leaves out, are errors."""
    result = mkdocs("--site-dir", tmp_path / "site")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "site" / "index.html").read_text()
    assert 'href="guide/using.html#run-a-program"' in page
    assert 'src="https://' not in page, "the site needs nothing from elsewhere"


def test_broken_links_and_anchors_are_errors(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Page\n\n[a](nowhere.md) [b](#page) [c](#nothing)\n")
    (tmp_path / "mkdocs.yml").write_text(f"INHERIT: {ROOT}/mkdocs.yml\nhooks: []\nnav: [index.md]\ndocs_dir: {docs}\n")
    result = mkdocs("--config-file", tmp_path / "mkdocs.yml", "--site-dir", tmp_path / "site")
    assert result.returncode != 0
    assert "nowhere.md" in result.stderr and "#nothing" in result.stderr and "#page" not in result.stderr


def test_links_are_rewritten():
    from site_hooks import relinked

    assert relinked("[a](docs/guide/using.md#python) [b](docs/decisions)", "index.md") == (
        "[a](guide/using.md#python) [b](decisions/index.md)")
    assert relinked("[a](../../packaging/README.md) [b](slurm.md) [c](../../Makefile)", "guide/using.md") == (
        "[a](../packaging/README.md) [b](slurm.md) c")
    assert relinked("```\n[a](docs/status.md)\n```\n", "index.md") == "```\n[a](docs/status.md)\n```\n"
    assert relinked("text\n- one\n- two\n", "index.md") == "text\n\n- one\n- two\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_page_has_a_command_that_a_test_runs(page):
    text = page.read_text()
    elsewhere = ELSEWHERE.findall(text)
    assert BLOCK.search(text) or elsewhere
    for file, command in elsewhere:
        words = command.split("#")[0].split()
        name = words[1] if words[0] == "dunnage" else Path(words[0]).name
        assert name in (ROOT / file).read_text(), f"{file} does not have {name}"


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A folder for PATH: the command, one of the system's MPIs, and mpi4py's python if it is there.
    """
    if not (BUILD / "bin" / "dunnage").exists():
        pytest.skip(f"nothing is built in {BUILD}")
    folder = tmp_path_factory.mktemp("tools")
    programs = {"dunnage": BUILD / "bin" / "dunnage"}
    for mpi in json.loads((BUILD / "mpis.json").read_text()):
        fortran = mpi["compiler"].replace("mpicc", "mpif90")
        if mpi["kind"] == "mpich" and shutil.which(fortran):
            programs.update(mpicc=mpi["compiler"], mpirun=mpi["launcher"], mpif90=fortran)
            break
    wheel = ROOT / ".venv" / "mpi-mpich"
    if (wheel / "complete").exists():
        programs.update(mpiexec=wheel / "bin" / "mpiexec", python=wheel / "bin" / "python")
    for name, program in programs.items():  # programs look beside themselves, so links would not do
        (folder / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.stem)
def test_commands_of_a_page(page, tools, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("DUNNAGE", "LD_PRELOAD"))}
    env["PATH"] = f"{tools}:{env['PATH']}"
    for _, expected, block in BLOCK.findall(page.read_text()):
        used = set(re.findall(r"\b(mpicc|mpif90|mpirun|mpiexec)\b", block))
        missing = [name for name in used if not (tools / name).exists()]
        if missing:
            pytest.skip(f"no {', '.join(missing)} here")
        result = subprocess.run(["bash", "-e", "-c", block], cwd=tmp_path, env=env, timeout=60, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert result.returncode == 0 and expected in result.stdout, f"{block}\n{result.stdout}"
