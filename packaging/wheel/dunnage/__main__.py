"""The dunnage command of the wheel, for `python -m dunnage`."""

import importlib.metadata
import os
import sys


def program() -> str:
    """Returns the path of the command that the wheel has installed."""
    files = importlib.metadata.files("dunnage") or []
    return next(os.path.realpath(file.locate()) for file in files if file.parts[-2:] == ("bin", "dunnage"))


if __name__ == "__main__":
    os.execv(program(), ["dunnage", *sys.argv[1:]])
