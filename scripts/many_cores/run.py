#!/usr/bin/env python3
"""Runs the differential machine, the faults, the soak or the search for slower calls on a host with
many cores, from a checkout and what bundle.sh beside this file made. Arguments are those of the
machine, faults.py, soak.py and regressions.py:

    scripts/many_cores/run.py ARCHIVE machine --seconds 240 --jobs 64 --first 1000000 --no-shrink
    scripts/many_cores/run.py ARCHIVE faults --seconds 130 --jobs 60 --seed 31 --count 100000
    scripts/many_cores/run.py ARCHIVE soak --hours 0.1 --mpi openmpi5
    scripts/many_cores/run.py ARCHIVE regressions --seconds 280
"""

import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def moved(entry, tree):
    """What mpis.json of the build says of an MPI, with the paths of the bundle."""
    name = entry["name"]
    if name == "openmpi":  # the host's; by its path it would put its own folder before the simulated device's
        return {**entry, "launcher": "mpirun", "moved": False}
    home = tree / ("mpich" if name == "mpich" else f"wheels/{name}")
    launcher = "mpirun" if name.endswith("5") else "mpiexec.hydra"
    return {**entry, "launcher": str(home / "bin" / launcher), "libraries": str(home / "lib"), "moved": True}


def make_starter(path, libraries, command):
    """A script that starts a command which finds its libraries."""
    path.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {command} "$@"\n')
    path.chmod(0o755)


def make_launchers(mpis, folder):
    """mpirun.NAME for each MPI, as the benchmarks look for them on PATH."""
    folder.mkdir()
    for entry in mpis:
        libraries = entry["libraries"] if entry["moved"] else ""
        make_starter(folder / f"mpirun.{entry['name']}", f"{libraries}:$LD_LIBRARY_PATH", entry["launcher"])
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def main():
    archive, what, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        subprocess.run(["tar", "-C", folder, "-xJf", archive], check=True)
        build = tree / "build"
        mpis = [e for e in json.loads((build / "mpis.json").read_text()) if (build / "mpi" / e["name"]).exists()]
        mpis = [moved(entry, tree) for entry in mpis]
        (build / "mpis.json").write_text(json.dumps(mpis))
        starter = tree / "mpich" / "bin" / "mpiexec.hydra"  # finds its libraries
        starter.rename(starter.with_suffix(".real"))
        make_starter(starter, f"{tree}/mpich/lib", starter.with_suffix(".real"))
        os.environ.update(
            DUNNAGE_HOME=str(build),
            PYTHONDONTWRITEBYTECODE="1",
            PYTHONUNBUFFERED="1",
            # On a host with GPUs hwloc's plug-in for OpenCL starts the real driver in every
            # process, which takes a second of the kernel's time.
            HWLOC_PLUGINS_PATH="/nonexistent",
            HWLOC_COMPONENTS="-opencl,-cuda,-nvml,-gl",
            # With 30 jobs beside each other plain MPICH 4 hung in MPI_Finalize, over TCP.
            UCX_TLS="sm,self",
        )
        print((tree / "commit").read_text().strip(), os.cpu_count(), "cores", flush=True)
        sys.path[:0] = [str(ROOT / "tests" / name) for name in ("support", "differential", "faults")]
        sys.path[:0] = [str(ROOT / "python")]
        sys.argv[1:] = rest
        if what == "regressions":
            import regressions

            make_launchers(mpis, tree / "bin")
            return regressions.main(rest)
        if what == "machine":
            import machine.__main__

            return machine.__main__.main()
        runpy.run_path(str(ROOT / f"tests/faults/{what}.py"), run_name="__main__")


if __name__ == "__main__":
    sys.exit(main())
