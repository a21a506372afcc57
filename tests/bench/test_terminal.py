"""Colours are for terminals only, and may be refused."""

import io
import os
import pty
import subprocess
import sys

import pytest

from dunnage import terminal
from dunnage.bench.home import find_home


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(monkeypatch, stream, **variables):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream)
    terminal.colour_output()
    print("app.json: 2 ranks of MPICH\nmet  NO\nMISSED x\nDUNNAGE GIVES WRONG BYTES: y, NOT, yes")
    return stream.getvalue()


def test_what_is_bad_is_red_on_a_terminal(monkeypatch):
    assert printed(monkeypatch, Terminal()) == (
        "\033[1mapp.json: 2 ranks of MPICH\033[0m\nmet  \033[31mNO\033[0m\n\033[31mMISSED\033[0m x\n"
        "\033[31mDUNNAGE GIVES WRONG BYTES\033[0m: y, NOT, yes\n")


@pytest.mark.parametrize("stream, variables", [
    (io.StringIO(), {}), (Terminal(), {"NO_COLOR": "1"}), (Terminal(), {"TERM": "dumb"})])
def test_elsewhere_there_are_no_colours(monkeypatch, stream, variables):
    assert "\033" not in printed(monkeypatch, stream, **variables)


@pytest.mark.parametrize("variables, coloured", [
    ({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)])
def test_the_command_on_a_terminal(variables, coloured):
    leader, follower = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    with os.fdopen(leader, "rb", buffering=0) as output:
        subprocess.run([find_home().path / "bin" / "dunnage", "info"], stdout=follower, env={**env, **variables},
                       check=True, timeout=60)
        os.close(follower)
        shown = b""
        try:
            while part := output.read(65536):
                shown += part
        except OSError:  # the end of a terminal
            pass
    assert (b"\033[1mprocessor\033[0m" in shown) == coloured and b"processor" in shown
