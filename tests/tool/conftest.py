"""The built tool, as a user runs it."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
BUILD = ROOT / "build"


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def build():
    return BUILD


@pytest.fixture
def dunnage():
    """dunnage("info", DUNNAGE_FORCE="always") runs the tool and returns what came of it."""

    def call(*arguments, program=BUILD / "bin" / "dunnage", **variables):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("DUNNAGE") and name != "LD_PRELOAD"}
        env.update({name: str(value) for name, value in variables.items()})
        return subprocess.run([program, *map(str, arguments)], env=env, capture_output=True, text=True, timeout=60)

    return call
