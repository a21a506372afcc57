"""Model files for tests."""

import json
import os
import pathlib
import subprocess


def machine():
    """This machine as a model file names it, by other means than Dunnage's."""
    names = [
        line.split(":", 1)[1].strip()
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    cache = subprocess.run(["getconf", "LEVEL2_CACHE_SIZE"], capture_output=True, text=True, check=True).stdout
    return {
        "processor": names[0],
        "cores": os.sysconf("SC_NPROCESSORS_CONF"),
        "second_level_cache": int(cache or 0) or 1 << 20,
    }


def prices(engine, library):
    """What each block costs; nothing else costs anything."""

    def of(block):
        return {"call": 0, "block": block, "byte": 0, "far_byte": 0}

    side = {"engine": of(engine), "library": of(library), "engine_eager_byte": 0, "library_eager_block": library}
    message = {"send": side, "receive": side}
    return {
        "engine_pack": of(engine),
        "library_pack": of(library),
        "least_ticket": 1 << 40,
        "messages": {"same_host": message, "other_host": message},
    }


def write(path, libraries, **figures):
    """A file that has the same figures for each (name, major, minor)."""
    mpis = [{"library": name, "major": major, "minor": minor, **figures} for name, major, minor in libraries]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {
                "format": "dunnage model",
                "version": 1,
                "made": {"date": "2026-11-21T20:00:00+00:00"},
                "machine": machine(),
                "mpis": mpis,
            }
        )
    )
    return path
