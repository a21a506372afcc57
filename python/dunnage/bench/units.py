"""Numbers in the form in which people write them."""

from __future__ import annotations


def size(number: int) -> str:
    """Formats a number of bytes, for example as 512 KiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number} B"
