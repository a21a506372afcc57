"""Makes the `dunnage` package and the tests' own helpers importable from the source tree."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]
import installed  # noqa: E402,F401  # its settings of Open MPI are for all programs
