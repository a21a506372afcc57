#!/usr/bin/env python3
"""Holds every #include of the tree against the table of layers, src/layers.toml.

check_layers.py [--root FOLDER]     reports each violation with its place; fails if there is one
check_layers.py --files PATTERN...  lists and counts the files that includes reach from these files

The checks are:
  - a file includes only from the folders that the table allows, and every folder has a row;
  - the rows themselves form no cycle;
  - no cycle between stems (X.hpp and X.cpp together are the stem X);
  - special headers and conditional compilation only where the table says.

`pending` in the table lists rules that src/mpi or sim/ does not hold yet: "mpi/message -> mpi/ways"
for an include, "cycle mpi" for cycles between stems of mpi/, "CUDA in sim" for conditional
compilation. Their violations are printed as notes. If a pending rule holds, its entry in the list
is a violation.
"""
import argparse
import collections
import fnmatch
import graphlib
import pathlib
import posixpath
import re
import sys
import typing

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib

ENDINGS = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".S", ".inc"}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*", re.MULTILINE)


class Include(typing.NamedTuple):
    file: str            # of the including file: its name in the table, with its ending
    place: str           # path:line
    text: str            # as it is written
    target: typing.Optional[str]  # the name of the included file; None if it is not ours


class Violation(typing.NamedTuple):
    rule: str   # what `pending` calls it; empty if it cannot be pending
    text: str


def folder_of(name):
    return posixpath.dirname(name)


def stem_of(name):
    return posixpath.splitext(name)[0]


def without_comments(text):
    """The text without comments, every line at its old number.

    A // in a string cuts that line short, which does no harm: no directive has one.
    """
    if "/*" not in text:
        return text
    return COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def covers(pattern, name):
    """Whether a pattern of the table means this folder: "a", or "a/*" with all below a."""
    if pattern.endswith("/*"):
        return name == pattern[:-2] or name.startswith(pattern[:-1])
    return name == pattern


class Table:
    def __init__(self, root):
        data = tomllib.loads((root / "src" / "layers.toml").read_text(encoding="utf-8"))
        self.trees = data["trees"]
        self.groups = data.get("groups", {})
        self.layers = {row: self.expanded(allowed) for row, allowed in data["layers"].items()}
        self.headers = data.get("headers", {})
        self.conditionals = data.get("conditionals", {})
        self.generated = data.get("generated", {})
        self.pending = data.get("pending", [])

    def expanded(self, allowed):
        names = []
        for name in allowed:
            names += self.expanded(self.groups[name[1:]]) if name.startswith("@") else [name]
        return names

    def row(self, folder, file=""):
        """The row of a file, of its folder, or of the nearest "a/*" above; None if there is
        none."""
        for name in (file, folder):
            if name in self.layers:
                return name
        rows = [row for row in self.layers if row.endswith("/*") and covers(row, folder)]
        return max(rows, key=len, default=None)

    def allows(self, row, folder, file=""):
        return any(covers(pattern, folder) or pattern == file for pattern in self.layers[row])


class Tree:
    """The files that are checked, by their names in the table, and their includes."""

    def __init__(self, root, table):
        self.root, self.table = root, table
        self.texts = {}    # name -> text without comments
        self.paths = {}    # name -> path from the root
        for top in table.trees:
            for path in sorted((root / top).rglob("*")):
                if path.suffix in ENDINGS and path.is_file():
                    relative = path.relative_to(root).as_posix()
                    name = self.name_of(relative)
                    self.paths[name] = relative
                    self.texts[name] = without_comments(path.read_text(encoding="utf-8"))
        self.includes = [include for name in self.paths for include in self.includes_of(name)]
        for name, targets in table.generated.items():
            place = f"src/layers.toml [generated] {name}"
            self.includes += [Include(name, place, target, target) for target in targets]

    @staticmethod
    def name_of(path):
        return path[len("src/"):] if path.startswith("src/") else path

    def includes_of(self, name):
        for match in INCLUDE.finditer(self.texts[name]):
            text = match.group(2)
            target = self.resolved(name, text)
            if target is None and match.group(1) == '"':
                target = ""
            yield Include(name, f"{self.paths[name]}:{line_of(self.texts[name], match.start())}", text, target)

    def resolved(self, name, text):
        """The name of the file that an include means, None if none of ours has it."""
        path = self.paths[name]
        for start in [posixpath.dirname(path), *self.table.trees[path.split("/")[0]]]:
            target = self.name_of(posixpath.normpath(posixpath.join(start, text)))
            if target in self.paths or target in self.table.generated:
                return target
        return None


def check_rows(table):
    """The rows of src/ stand from the bottom to the top: no folder is below itself."""
    plain = [row for row in table.layers if not row.endswith("/*")]
    graph = {row: [other for other in plain if other != row and table.allows(row, other)] for row in plain}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield Violation("", "src/layers.toml: the rows form a cycle: " + " -> ".join(reversed(error.args[1])))


def check_includes(tree, table):
    for folder in sorted({folder_of(name) for name in tree.paths}):
        if table.row(folder) is None:
            yield Violation("", f"src/layers.toml: no row for the folder {folder}")
    for include in tree.includes:
        if include.target == "":
            yield Violation("", f'{include.place}: "{include.text}" is no file of the tree, and not in [generated]')
            continue
        own, folder = folder_of(include.file), folder_of(include.target or "")
        row = table.row(own, include.file)
        if include.target is None or row is None or own == folder or covers(row, folder):
            continue
        if not table.allows(row, folder, include.target):
            rule = f"{own} -> {folder}"
            yield Violation(rule, f'{include.place}: "{include.text}" breaks the table: '
                                  f"{row} may not include from {folder}")


def check_headers(tree, table):
    for include in tree.includes:
        for header, places in table.headers.items():
            if fnmatch.fnmatchcase(include.text, header) and not allowed_at(include.file, places):
                yield Violation("", f"{include.place}: <{include.text}> is only for {', '.join(places)}")


def check_conditionals(tree, table):
    for name, text in tree.texts.items():
        for match in CONDITIONAL.finditer(text):
            for word, places in table.conditionals.items():
                if word in match.group() and not allowed_at(name, places):
                    place = f"{tree.paths[name]}:{line_of(text, match.start())}"
                    yield Violation(f"{word} in {name.split('/')[0]}",
                                    f"{place}: conditional compilation on {word} is only for {', '.join(places)}")


def allowed_at(name, places):
    return any(covers(place, folder_of(name)) or place == name for place in places)


def check_cycles(tree):
    edges = collections.defaultdict(dict)  # stem -> stem -> place of an include
    for include in tree.includes:
        if include.target and stem_of(include.target) != stem_of(include.file):
            edges[stem_of(include.file)].setdefault(stem_of(include.target), include.place)
    for knot in knots(edges):
        stems = shortest_cycle(edges, knot)
        pairs = list(zip(stems, stems[1:]))
        path = " -> ".join(stems)
        places = ", ".join(edges[a][b] for a, b in pairs)
        tops = {stem.split("/")[0] for stem in knot}
        rule = f"cycle {tops.pop()}" if len(tops) == 1 else ""
        yield Violation(rule, f"a cycle between stems: {path} ({places}); {len(knot)} stems depend on each other: "
                        + ", ".join(sorted(knot)))


def knots(edges):
    """The sets of two or more stems that all depend on each other (Tarjan's algorithm)."""
    number, low, stack, found = {}, {}, [], []
    for start in sorted(edges):
        if start in number:
            continue
        work = [(start, iter(sorted(edges[start])))]
        number[start] = low[start] = len(number)
        stack.append(start)
        on_stack = set(stack)
        while work:
            stem, targets = work[-1]
            for target in targets:
                if target not in number:
                    number[target] = low[target] = len(number)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(edges.get(target, ())))))
                    break
                if target in on_stack:
                    low[stem] = min(low[stem], number[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[stem])
                if low[stem] == number[stem]:
                    at = stack.index(stem)
                    if len(stack) - at > 1:
                        found.append(set(stack[at:]))
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return found


def shortest_cycle(edges, knot):
    """A shortest path from a stem of the knot back to itself, over all stems of the knot."""
    best = None
    for start in sorted(knot):
        before = {start: None}
        queue = collections.deque([start])
        while queue:
            stem = queue.popleft()
            if start in edges[stem]:
                path = [start]
                while stem is not None:
                    path.append(stem)
                    stem = before[stem]
                path.reverse()
                if best is None or len(path) < len(best):
                    best = path
                break
            for target in sorted(edges[stem]):
                if target in knot and target not in before:
                    before[target] = stem
                    queue.append(target)
    return best


def check_pending(table, violations):
    broken = {violation.rule for violation in violations}
    for rule in table.pending:
        if not re.match(r"mpi/|(cycle|\w+ in) (mpi|sim)$", rule):
            yield Violation("", f'src/layers.toml: pending "{rule}": only rules of mpi/ and sim/ may be pending')
        elif rule not in broken:
            yield Violation("", f'src/layers.toml: pending "{rule}" holds now: take it out of the list')


def check(tree, table):
    """All violations, and the notes on those that are pending."""
    found = [*check_rows(table), *check_includes(tree, table), *check_headers(tree, table),
             *check_conditionals(tree, table), *check_cycles(tree)]
    violations = [violation.text for violation in found if violation.rule not in table.pending]
    notes = [f"{violation.text} (pending)" for violation in found if violation.rule in table.pending]
    return violations + [violation.text for violation in check_pending(table, found)], notes


def reached(tree, patterns):
    """The files that match the patterns, and all that includes reach from them, sorted.

    Throws ValueError if a pattern matches no file.
    """
    targets = collections.defaultdict(set)
    for include in tree.includes:
        if include.target:
            targets[include.file].add(include.target)
    found = set()
    for pattern in patterns:
        names = [name for name, path in tree.paths.items() if fnmatch.fnmatchcase(path, pattern)]
        if not names:
            raise ValueError(f"no file matches {pattern}")
        found.update(names)
    queue = list(found)
    while queue:
        new = targets[queue.pop()] - found
        found |= new
        queue += new
    return sorted(tree.paths.get(name, f"{name} (generated)") for name in found)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1],
                        help="the repository; this one if it is not given")
    parser.add_argument("--files", nargs="+", metavar="PATTERN",
                        help="files to start from, as paths from the root; * and ? stand for any characters")
    options = parser.parse_args(arguments)
    table = Table(options.root)
    tree = Tree(options.root, table)
    if options.files:
        try:
            files = reached(tree, options.files)
        except ValueError as error:
            parser.error(str(error))
        print(*files, sep="\n")
        print(f"{len(files)} files")
        return 0
    violations, notes = check(tree, table)
    for note in notes:
        print("note:", note)
    for violation in violations:
        print(violation)
    print(f"{len(tree.paths)} files, {len(tree.includes)} includes: {len(violations)} violations, {len(notes)} pending")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
