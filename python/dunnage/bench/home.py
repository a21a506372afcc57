"""Finds the library, the benchmark programs and the experiments."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

ROOT = Path(__file__).resolve().parents[3]  # the repository, or the folder that has python/


@dataclass(frozen=True)
class Home:
    """A build tree or an install tree.

    A build tree has bin/, lib/ and mpi/. An install tree has libexec/dunnage/mpi/ in place of mpi/.
    """

    path: Path

    @property
    def library(self) -> Path:
        """Returns the path of the preloaded library, which may not exist. A distribution's package
        has it in a folder for the architecture, without the name for linkers (src/tool/paths.cpp).
        """
        architecture = sysconfig.get_config_var("MULTIARCH")
        packaged = self.path / "lib" / (architecture or "") / "libdunnage.so.0"
        if architecture and packaged.exists():
            return packaged
        return self.path / "lib" / "libdunnage.so"

    @property
    def programs(self) -> Path:
        """Returns the folder that has one folder for each MPI."""
        installed = self.path / "libexec" / "dunnage" / "mpi"
        return installed if installed.is_dir() else self.path / "mpi"

    @property
    def simulator(self) -> Path:
        """Returns the folder of the simulated device."""
        return self.library.parent / "dunnage" / "sim"

    def program(self, mpi: str, name: str) -> Path:
        """Returns a benchmark program as it was built for one MPI."""
        return self.programs / mpi / name

    def script(self, name: str) -> Path:
        """Returns a script that benchmarks need, from the repository or from the installation."""
        own = ROOT / "scripts" / name
        return own if own.exists() else self.path / "libexec" / "dunnage" / name

    def mpis(self, program: str) -> List[str]:
        """Returns the MPIs for which the program was built, in alphabetical order."""
        return sorted(found.parent.name for found in self.programs.glob(f"*/{program}"))

    def launcher(self, mpi: str) -> Optional[str]:
        """Returns the launcher of an MPI: the one that CMake found if this is a build tree, else
        one on PATH.
        """
        cache = self.path / "CMakeCache.txt"
        text = cache.read_text() if cache.exists() else ""
        found = re.search(rf"^DUNNAGE_{re.escape(mpi)}_RUN:[^=]*=(.+)$", text, re.M)
        if found and not found.group(1).endswith("-NOTFOUND"):
            return found.group(1)
        return shutil.which(f"mpirun.{mpi}") or shutil.which("mpirun")


def find_home() -> Home:
    """Returns the tree that DUNNAGE_HOME names, else build/ of the repository that this file is in.
    """
    named = os.environ.get("DUNNAGE_HOME")
    return Home(Path(named).resolve() if named else ROOT / "build")


def experiment_files(home: Home) -> List[Path]:
    """Returns the files that describe the experiments, from the repository or from the install
    tree.
    """
    for folder in (ROOT / "bench" / "experiments", home.path / "share" / "dunnage" / "experiments"):
        found = sorted(folder.glob("*.toml"))
        if found:
            return found
    return []
