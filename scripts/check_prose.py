#!/usr/bin/env python3
"""Checks how long lines are: prose ends at column 100, code at column 120.

check_prose.py [--root FOLDER] [--list] [FOLDER...]

Prose is a line that is only a comment, in C++, Fortran, Python, shell, CMake, assembly or TOML, a
line of a Python docstring, and a line of text in Markdown. Code is every other line. The script
prints for each folder the number of lines that are too long, and with --list their places. The exit
status is 1 if there is one.

A line that is indented within its comment or docstring is a table or an example: it counts as code.

Four kinds of lines are not counted: code of shell scripts and CMake; Markdown's tables, headings,
code blocks, pictures and HTML; generated pages; and lines with a word of more than 80 columns,
because an address cannot be broken.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

PROSE, CODE = 100, 120
LONGEST_WORD = 80
INDENTED = re.compile(r"^(//+|#|!|/?\*+)? {2,}\S")  # within a comment; in a docstring, beyond its margin
MARKS = {  # by ending: what begins a line that is only a comment
    **dict.fromkeys([".cpp", ".hpp", ".c", ".h", ".cu", ".cuh", ".inc"], ("//", "/*", "*/", "* ")),
    ".S": ("#", "//", "/*", "* "), ".f90": ("!",), ".F90": ("!",),
    **dict.fromkeys([".py", ".sh", ".toml", ".cmake"], ("#",)),
}
DOCSTRING = re.compile(r'^[ru]?("""|\'\'\')')
# In Markdown: what is laid out by other rules.
LAYOUT = re.compile(r"^ *(\||#|!\[|\[!\[|<|\[[^\]]+\]: )")
GENERATED = {"docs/reference/settings.md", "docs/reference/compatibility.md", "docs/reference/commands.md"}


def tracked(root, folders):
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders],
                             cwd=root, capture_output=True, check=True)
    return sorted(set(filter(None, listing.stdout.decode().split("\0"))))


def markdown(lines):
    """(number, text, limit) of every line of prose."""
    fence = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            fence = not fence
        elif not (fence or line.startswith("    ") or LAYOUT.match(line)):
            yield number, line, PROSE


def source(lines, marks, python=False):
    """(number, text, limit) of every line. `marks` begin a comment. Docstrings are prose."""
    quotes = None  # of the docstring that the line is in
    margin = 0  # of that docstring
    constant = False  # within a constant of several lines
    for number, line in enumerate(lines, 1):
        text = line.lstrip()
        if python and quotes is None and (constant or not DOCSTRING.match(text)):
            constant ^= line.count('"""') % 2 == 1
            if constant or '"""' in line:
                yield number, line, CODE
                continue
        prose = text.startswith(marks) or quotes is not None
        if python and quotes is None and DOCSTRING.match(text):
            prose, quotes, margin = True, DOCSTRING.match(text).group(1), len(line) - len(text)
            text = text.split(quotes, 1)[1]
        if quotes and quotes in text:
            quotes = None
        if not prose and marks == ("#",) and not python:
            continue
        indented = INDENTED.match(line.lstrip() if line.lstrip().startswith(marks) else line[margin:])
        yield number, line, PROSE if prose and not indented else CODE


def lines_of(path):
    """(number, text, limit) of every line that is checked, none if the kind of file is not."""
    ending = ".cmake" if path.name in ("CMakeLists.txt", "Makefile") else path.suffix
    if ending != ".md" and ending not in MARKS:
        return ()
    lines = path.read_text(encoding="utf-8").splitlines()
    return markdown(lines) if ending == ".md" else source(lines, MARKS[ending], ending == ".py")


def too_long(root, folders):
    """(path, number, length, limit) of every line that is too long."""
    for path in tracked(root, folders):
        if path in GENERATED or not (root / path).is_file() or (root / path).is_symlink():
            continue
        for number, line, limit in lines_of(root / path):
            if len(line) > limit and max(map(len, line.split()), default=0) <= LONGEST_WORD:
                yield path, number, len(line), limit


def folder_of(path):
    """The folder that the counts are of: up to two levels below src/, up to one elsewhere."""
    parts = pathlib.PurePath(path).parts[:-1]
    return "/".join(parts[:3 if parts[:1] == ("src",) else 2]) or "."


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="the whole tree if none is given")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--list", action="store_true", help="print the place of each line")
    options = parser.parse_args(arguments)
    counts = collections.defaultdict(collections.Counter)
    for path, number, length, limit in too_long(options.root, options.folders):
        counts[folder_of(path)][limit] += 1
        if options.list:
            print(f"{path}:{number}: {length} columns, at most {limit} for {'prose' if limit == PROSE else 'code'}")
    for folder in sorted(counts):
        print(f"{folder:32} {counts[folder][PROSE]:5} of prose {counts[folder][CODE]:5} of code")
    prose, code = (sum(count[limit] for count in counts.values()) for limit in (PROSE, CODE))
    print(f"lines that are too long: {prose} of prose (over {PROSE} columns), {code} of code (over {CODE})")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
