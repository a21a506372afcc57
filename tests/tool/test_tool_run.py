"""dunnage run: the environment that the command gets, and the errors."""
import re
import socket
import sys
import time

import pytest


def variables(result):
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # the library says nothing in a program that is not of MPI
    return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)


def test_preloads_the_library(dunnage, build):
    env = variables(dunnage("run", "--", "env"))
    assert env["LD_PRELOAD"] == str(build / "lib" / "libdunnage.so")
    assert [name for name in env if name.startswith("DUNNAGE")] == ["DUNNAGE_ROSTER"]


def test_the_roster_is_there_while_the_command_runs(dunnage):
    """The server takes calls, and says nothing to those who do not know the key."""
    ask = (
        "import os, socket; port, key, *_ = os.environ['DUNNAGE_ROSTER'].split(':');"
        "call = socket.create_connection(('127.0.0.1', int(port)));"
        "call.sendall(b'x'); call.shutdown(socket.SHUT_WR); print(port, len(key), len(call.recv(64)))"
    )
    result = dunnage("run", "--", sys.executable, "-c", ask)
    assert result.returncode == 0, result.stderr
    port, *lengths = result.stdout.split()
    assert lengths == ["32", "0"]
    deadline = time.monotonic() + 20
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < deadline:
            socket.create_connection(("127.0.0.1", int(port))).close()
            time.sleep(0.05)


def test_a_rank_has_no_roster_of_its_own(dunnage):
    assert "DUNNAGE_ROSTER" not in variables(dunnage("run", "--", "env", PMI_RANK="0"))


def test_one_roster_is_enough(dunnage):
    assert variables(dunnage("run", "--", "env", DUNNAGE_ROSTER="1:2:3"))["DUNNAGE_ROSTER"] == "1:2:3"


def test_keeps_what_was_preloaded(dunnage, build):
    libc = "libc.so.6"
    env = variables(dunnage("run", "env", LD_PRELOAD=libc))
    assert env["LD_PRELOAD"] == f"{build}/lib/libdunnage.so:{libc}"


def test_options_become_settings(dunnage):
    env = variables(dunnage("run", "--report", "--force=always", "--staging-limit=64M", "--simd=avx2", "--", "env"))
    assert env["DUNNAGE_REPORT"] == "1"
    assert env["DUNNAGE_FORCE"] == "always"
    assert env["DUNNAGE_STAGING_LIMIT"] == "64M"
    assert env["DUNNAGE_SIMD"] == "avx2"


def test_an_option_beats_the_environment(dunnage):
    env = variables(dunnage("run", "--force=never", "env", DUNNAGE_FORCE="always", DUNNAGE_SIMD="avx2"))
    assert env["DUNNAGE_FORCE"] == "never"
    assert env["DUNNAGE_SIMD"] == "avx2"


def test_a_bare_report_does_not_eat_the_command(dunnage):
    assert variables(dunnage("run", "--report", "env"))["DUNNAGE_REPORT"] == "1"


def test_a_value_may_be_the_next_word(dunnage):
    env = variables(dunnage("run", "--force", "always", "--report", "--staging-limit", "64MiB", "--", "env"))
    assert [env[f"DUNNAGE_{name}"] for name in ("FORCE", "REPORT", "STAGING_LIMIT")] == ["always", "1", "64MiB"]


@pytest.mark.parametrize("option", ["report", "explain"])
@pytest.mark.parametrize("file, words", [
    ("none/r.json", "none/r.json: the folder {here}/none does not exist"),
    ("folder.json", "folder.json: it is a folder"),
])
def test_an_output_that_cannot_be_written(dunnage, tmp_path, monkeypatch, option, file, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.json").mkdir()
    result = dunnage("run", f"--{option}={file}", "--", "touch", "started")
    assert result.returncode == 2 and not (tmp_path / "started").exists()
    assert words.format(here=tmp_path) in result.stderr and f"--{option}={option}.json" in result.stderr


@pytest.mark.parametrize("command", ["run", "info", "explain", "report", "bench", "tune"])
def test_each_command_has_help(dunnage, command):
    result = dunnage(command, "--help")
    assert result.returncode == 0, result.stderr
    assert "--help" in result.stdout and result.stderr == ""


def test_version(dunnage, root):
    version = re.search(r"project\(dunnage VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    assert dunnage("--version").stdout == f"dunnage {version}\n"


def test_a_model_is_read_from_here(dunnage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert variables(dunnage("run", "--model=m.json", "env"))["DUNNAGE_MODEL"] == str(tmp_path / "m.json")
    assert variables(dunnage("run", "--model=none", "env"))["DUNNAGE_MODEL"] == "none"


def test_a_report_is_written_here(dunnage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert variables(dunnage("run", "--report=r.json", "env"))["DUNNAGE_REPORT"] == str(tmp_path / "r.json")


def test_options_of_the_command_are_its_own(dunnage):
    result = dunnage("run", "sh", "-c", 'echo "$@"', "sh", "--report=x", "--", "--help")
    assert result.stdout.split() == ["--report=x", "--", "--help"]


def test_the_command_says_how_it_ended(dunnage):
    assert dunnage("run", "sh", "-c", "exit 7").returncode == 7


def test_home_is_where_the_library_is_sought(dunnage, tmp_path):
    result = dunnage("run", "env", DUNNAGE_HOME=tmp_path)
    assert result.returncode == 2
    assert f"{tmp_path}/lib/libdunnage.so does not exist" in result.stderr
    assert "DUNNAGE_HOME" in result.stderr


def test_a_path_that_cannot_be_preloaded(dunnage, tmp_path):
    home = tmp_path / "with space"
    (home / "lib").mkdir(parents=True)
    (home / "lib" / "libdunnage.so").touch()
    result = dunnage("run", "env", DUNNAGE_HOME=home)
    assert result.returncode == 2
    assert "space or a colon" in result.stderr


@pytest.mark.parametrize("arguments, code, words", [
    (["run"], 2, "no command"),
    (["run", "--report"], 2, "no command"),
    (["run", "--", "/there/is/none"], 127, "/there/is/none: No such file"),
    (["run", "--", "/etc/passwd"], 126, "/etc/passwd: Permission denied"),
    (["run", "--force=sometimes", "env"], 2, "--force cannot be sometimes; allowed: auto, always, never"),
    (["run", "--force", "sometimes", "--", "env"], 2, "--force cannot be sometimes; allowed: auto, always, never"),
    (["run", "--force", "--", "env"], 2, "--force"),
    (["run", "--staging-limit=64KB", "env"], 2, "--staging-limit cannot be 64KB; allowed: a number of bytes"),
    (["run", "--report", "r.json", "env"], 2, "r.json is no command; to write a report, write --report=r.json"),
    (["explain", "bcast", "--bytes", "1MB"], 2, "1MB is no size; write a number of bytes, for example 64KiB"),
    (["run", "--report=somewhere", "env"], 2, "ending in .json or containing a /"),
    (["run", "--colour=red", "env"], 2, "--colour"),
    (["walk"], 2, "no subcommand walk; there are run, info"),
    ([], 2, "subcommand"),
])
def test_errors(dunnage, arguments, code, words):
    result = dunnage(*arguments)
    assert result.returncode == code
    assert words in result.stderr + result.stdout


def test_help_tells_of_other_hosts(dunnage):
    result = dunnage("run", "--help")
    assert result.returncode == 0
    assert "-x LD_PRELOAD" in result.stdout
