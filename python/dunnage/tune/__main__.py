"""Command line of ``dunnage tune``."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import List, Optional, Union

from ..bench.packages import require

require("tune", "scipy")  # before the modules that need them

from ..bench.home import Home, find_home
from ..bench.runner import RunError
from ..terminal import colour_output
from . import bcast, bcast_measure, device, model_file
from .evaluate import Tuned
from .measure import PROGRAM, WrongBytes, measure_all
from .options import parse
from .table import report

Figures = Union[List[Tuned], List[device.Gpu], List[bcast.Broadcasts]]
SAME_LIBRARY = {"mpi_abi": "mpich5"}  # the first is the second once more, with the same figures in the file


def mpis_of(home: Home, asked: Optional[str], program: str = PROGRAM) -> List[str]:
    """Returns the MPIs to measure.

    Raises RunError if there are none, if one is not built, or if the library is missing.
    """
    built = home.mpis(program)
    mpis = asked.split(",") if asked else [mpi for mpi in built if SAME_LIBRARY.get(mpi) not in built]
    missing = [mpi for mpi in mpis if mpi not in built]
    if missing or not mpis:
        raise RunError(f"{program} is not built for {', '.join(missing) or 'any MPI'} in {home.path} "
                       f"(built: {', '.join(built) or 'none'});"
                       " build it with make, or set DUNNAGE_HOME")
    if not home.library.exists():
        raise RunError(f"{home.library} is missing: build it with make, or set DUNNAGE_HOME")
    return mpis


def write(tuned: Figures, output: Optional[Path]) -> Path:
    """Writes the figures to the file and returns its path."""
    header = tuned[0].header
    if not output and not header["model_file"]:
        raise RunError("neither HOME nor XDG_CACHE_HOME says where the file belongs; name it with --output")
    path = output or Path(header["model_file"])
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    old, why = model_file.read(path, header["machine"])
    if why:
        print(f"dunnage tune: {why}", file=sys.stderr)
    made = {"date": date, "dunnage": header.get("dunnage_version", ""), "command": sys.argv[1:]}
    merge = model_file.merge
    if isinstance(tuned[0], bcast.Broadcasts):
        merge = bcast.merge
    elif isinstance(tuned[0], device.Gpu):
        merge = device.merge
    model_file.write(path, header["machine"], made, merge(old, tuned, date))
    return path


def said(one: Union[Tuned, device.Gpu, bcast.Broadcasts]) -> str:
    """Returns what was found out about one MPI, as text."""
    if isinstance(one, bcast.Broadcasts):
        return bcast.report(one)
    return device.report(one) if isinstance(one, device.Gpu) else report(one)


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command.

    Returns 0 if it is done, 1 if Dunnage gave wrong bytes, 2 if it could not run, and 130 if it was
    interrupted.
    """
    options = parse(arguments)
    home = find_home()
    try:
        def say(line: str) -> None:
            print(f"dunnage tune: {line}", file=sys.stderr)

        tuned: Figures
        if options.collective:
            mpis_of(home, options.mpi, bcast_measure.PROGRAM)
            mpis = mpis_of(home, options.mpi)
            tuned = bcast_measure.measure_all(home, mpis, options.launch, options.seconds, options.ranks, say)
        elif options.memory == "device":
            tuned = device.measure_all(home, mpis_of(home, options.mpi, device.PROGRAM), options.launch, say)
        else:
            tuned = measure_all(home, mpis_of(home, options.mpi, PROGRAM), options.launch, options.seconds, say)
        if not tuned:
            raise RunError("nothing was measured, and no file written")
        for one in tuned:
            print(f"\n{said(one)}")
        print(f"\nWritten: {write(tuned, options.output)}")
    except WrongBytes as error:
        print(f"dunnage tune: {error}; no file was written", file=sys.stderr)
        return 1
    except (RunError, OSError) as error:
        print(f"dunnage tune: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dunnage tune: interrupted; no file was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    colour_output()
    sys.exit(main())
