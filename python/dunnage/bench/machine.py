"""Describes the machine: what figures depend on besides the code."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

from .home import ROOT


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _cpu_model() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        if line.lower().startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _caches() -> List[str]:
    caches = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(str(index / name)) for name in ("level", "type", "size"))
        caches.append(f"L{level} {kind} {size}")
    return caches


def _memory_bytes() -> Optional[int]:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def git_commit() -> Optional[str]:
    """Returns the commit of the sources, or None if they are not in a repository."""
    if os.environ.get("BENCH_COMMIT"):  # if the files were copied without their history
        return os.environ["BENCH_COMMIT"]

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def describe() -> Dict[str, Any]:
    """Returns the machine, the commit and the command line, for the head of a results file."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": sys.argv,
        "git_commit": git_commit(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "memory_bytes": _memory_bytes(),
        "huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": platform.release(),
        "environment": {name: value for name, value in os.environ.items() if name.startswith("DUNNAGE_")},
    }
