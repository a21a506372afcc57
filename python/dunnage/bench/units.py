"""Numbers in the form in which people write them."""

from __future__ import annotations

import argparse
import re


def size(number: int) -> str:
    """Formats a number of bytes, for example as 512 KiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number} B"


def read_size(text: str) -> int:
    """Reads a number of bytes as the settings have it: 65536, 64K or 64KiB.

    Raises ArgumentTypeError, which argparse shows.
    """
    found = re.fullmatch(r"(\d+)(?:([KMGTkmgt])(?:iB)?)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is no size; write a number of bytes, for example 64KiB or 1M")
    return int(found[1]) << (10 * (" KMGT".index(found[2].upper()) if found[2] else 0))


def amount(number: float) -> str:
    """Formats a number of bytes to three digits, for example as 1.46 KiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{_three_digits(number)} {unit}"
        number /= 1024
    return f"{_three_digits(number)} TiB"


def duration(seconds: float) -> str:
    """Formats a time to three digits, for example as 12.5 us."""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{_three_digits(seconds / unit)} {name}"
    return f"{_three_digits(seconds / 1e-9)} ns" if seconds > 0 else "0 s"


def _three_digits(value: float) -> str:
    """Returns the number without an exponent."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"
