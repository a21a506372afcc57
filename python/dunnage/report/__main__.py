"""The command line of ``dunnage report``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import List, Optional

from ..terminal import colour_output
from .page import page
from .reports import NoReport, read
from .text import as_json, summary


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    parser = argparse.ArgumentParser(
        prog="dunnage report",
        description="Makes one HTML page from reports, and prints what is most important in them. "
        "A program writes a report if it is run by: dunnage run --report=FILE.json -- COMMAND")
    parser.add_argument("reports", nargs="+", type=Path, metavar="FILE.json",
                        help="a report; several are shown side by side")
    parser.add_argument("--output", type=Path, metavar="FILE.html",
                        help="the page (default: the first report's name with .html)")
    parser.add_argument("--json", action="store_true", help="print JSON in place of text")
    return parser


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command.

    Returns 0 if it is done, and 2 if a report cannot be read or the page cannot be written.
    """
    options = parser().parse_args(arguments)
    try:
        reports = [read(path) for path in options.reports]
    except NoReport as error:
        print(f"dunnage report: {error}", file=sys.stderr)
        return 2
    output = options.output or options.reports[0].with_suffix(".html")
    try:
        output.write_text(page(reports), encoding="utf-8")
    except OSError as error:
        print(f"dunnage report: cannot write {output}: {error.strerror}; name another file with --output",
              file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps({"page": str(output), "reports": [as_json(report) for report in reports]}, indent=2))
    else:
        print("\n\n".join(summary(report) for report in reports) + f"\n\npage: {output}")
    return 0


if __name__ == "__main__":
    colour_output()
    sys.exit(main())
