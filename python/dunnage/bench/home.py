"""Where the library, the benchmark programs and the experiments are."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

ROOT = Path(__file__).resolve().parents[3]  # of the repository, or the folder that holds python/


@dataclass(frozen=True)
class Home:
    """A build tree, which holds bin/, lib/ and mpi/, or an install tree, with libexec/dunnage/mpi/ in its place."""

    path: Path

    @property
    def library(self) -> Path:
        """The preload library, whether it is there or not."""
        return self.path / "lib" / "libdunnage.so"

    @property
    def programs(self) -> Path:
        """The folder with one folder for each MPI."""
        installed = self.path / "libexec" / "dunnage" / "mpi"
        return installed if installed.is_dir() else self.path / "mpi"

    @property
    def simulator(self) -> Path:
        """The folder of the simulated device."""
        return self.path / "lib" / "dunnage" / "sim"

    def program(self, mpi: str, name: str) -> Path:
        """A benchmark program as built for one MPI."""
        return self.programs / mpi / name

    def script(self, name: str) -> Path:
        """One of the scripts that benchmarks need, in the repository or as installed."""
        own = ROOT / "scripts" / name
        return own if own.exists() else self.path / "libexec" / "dunnage" / name

    def mpis(self, program: str) -> List[str]:
        """The MPIs for which the program was built, in alphabetical order."""
        return sorted(found.parent.name for found in self.programs.glob(f"*/{program}"))

    def launcher(self, mpi: str) -> Optional[str]:
        """The launcher of an MPI: the one that CMake found in a build tree, else one on PATH."""
        cache = self.path / "CMakeCache.txt"
        text = cache.read_text() if cache.exists() else ""
        found = re.search(rf"^DUNNAGE_{re.escape(mpi)}_RUN:[^=]*=(.+)$", text, re.M)
        if found and not found.group(1).endswith("-NOTFOUND"):
            return found.group(1)
        return shutil.which(f"mpirun.{mpi}") or shutil.which("mpirun")


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
