"""Says which Python packages are missing, in place of a traceback."""

from __future__ import annotations

import importlib.util
import sys

# What the commands import. python/requirements.txt has the versions that they are tested with.
NEEDED = ("numpy", "matplotlib", "tabulate", *(() if sys.version_info >= (3, 11) else ("tomli",)))


def require(command: str, *more: str) -> None:
    """Ends the program with status 2 if a package is missing: those of NEEDED, and `more`."""
    missing = [name for name in (*NEEDED, *more) if importlib.util.find_spec(name) is None]
    if missing:
        names = " ".join(missing)
        print(f"dunnage {command}: {sys.executable} lacks Python packages: {names}; "
              f"install them, for example: {sys.executable} -m pip install {names}", file=sys.stderr)
        sys.exit(2)
