"""Where the library, the benchmark programs and the experiments are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import List

ROOT = Path(__file__).resolve().parents[3]  # of the repository, or the folder that holds python/


@dataclass(frozen=True)
class Home:
    """A build or install tree: a folder that holds bin/, lib/ and mpi/."""

    path: Path

    @property
    def library(self) -> Path:
        """The preload library, whether it is there or not."""
        return self.path / "lib" / "libdunnage.so"

    def program(self, mpi: str, name: str) -> Path:
        """A benchmark program as built for one MPI."""
        return self.path / "mpi" / mpi / name

    def mpis(self, program: str) -> List[str]:
        """The MPIs for which the program was built, in alphabetical order."""
        return sorted(found.parent.name for found in self.path.glob(f"mpi/*/{program}"))


def find_home() -> Home:
    """The tree named by DUNNAGE_HOME, else build/ of the repository that this file is in."""
    named = os.environ.get("DUNNAGE_HOME")
    return Home(Path(named).resolve() if named else ROOT / "build")


def experiment_files(home: Home) -> List[Path]:
    """The files that describe the experiments, from the repository or from the install tree."""
    for folder in (ROOT / "bench" / "experiments", home.path / "share" / "dunnage" / "experiments"):
        found = sorted(folder.glob("*.toml"))
        if found:
            return found
    return []
