#!/usr/bin/env python3
"""Writes the table of reasons into docs/reference/report.md, from python/dunnage/report/advice.py.

The table stands between two comments of the page. The rest of the page stays as it is.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from dunnage.report.advice import table  # noqa: E402  (the path has to be set first)

BEGIN, END = "<!-- reasons: `make docs` writes this table -->\n", "<!-- end of reasons -->\n"


def main(page: pathlib.Path) -> None:
    """Replaces the table of the page."""
    text = page.read_text()
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
