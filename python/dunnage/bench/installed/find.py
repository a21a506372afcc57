"""Finds benchmarks of others that are installed, and the MPI that each was built for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Dict, List, Optional

from ..home import Home


def find_programs(home: Home, names: List[str], folder: Optional[Path], mpis: Optional[str]) -> Dict[str, List[Path]]:
    """Returns for each MPI the programs of these names that are there.

    They belong to an MPI if they lie beside its launcher, or where OSU's benchmarks install
    themselves below its prefix. Those in `folder`, or on PATH, are taken for the one MPI that the
    user names by `mpis`.
    """
    asked = mpis.split(",") if mpis else sorted(one.name for one in home.programs.glob("*") if one.is_dir())
    found: Dict[str, List[Path]] = {}
    for mpi in asked:
        launcher = home.launcher(mpi)
        places = [folder] if folder else []
        if launcher and not folder:
            beside = Path(launcher).resolve().parent
            own = [Path(launcher).parent, beside, *sorted(beside.parent.glob("libexec/osu-micro-benchmarks/**/"))]
            # What lies in the system's own folder may be of any MPI.
            places = [place for place in own if place != Path("/usr/bin")]
        programs = [_in(places, name) or _on_path(name, len(asked) == 1 and mpis) for name in names]
        there = [program for program in programs if program]
        if there:
            found[mpi] = there
    return found


def _in(places: List[Path], name: str) -> Optional[Path]:
    return next((place / name for place in places if (place / name).is_file()), None)


def _on_path(name: str, wanted: object) -> Optional[Path]:
    program = shutil.which(name) if wanted else None
    return Path(program) if program else None
