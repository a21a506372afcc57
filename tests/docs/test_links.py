"""What the documents name exists: links, files of the repository, commands and settings."""
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Settings that are gone, and the decision records that tell why.
WITHDRAWN = {"DUNNAGE_STREAMS": "docs/decisions/0011-streams.md"}


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout


# Files that are new count as well as those that git knows; a file that was deleted does not.
FILES = {name for name in git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
         if (ROOT / name).is_file()}
FOLDERS = {str(parent) for name in FILES for parent in Path(name).parents} - {"."}
TOP = sorted({name.split("/")[0] for name in FILES if "/" in name})
DOCUMENTS = sorted(name for name in FILES if name.endswith(".md"))
# A path of the repository begins with a folder of the top level. The text before it must not be a
# part of another path, of an address or of an option.
PATH = re.compile(r"(?<![\w./$~{}:-])(?:%s)(?:/[\w.*{},-]+)+/?" % "|".join(map(re.escape, TOP)))
# A source file must be named from the root of the repository. What a build makes is not in it.
SOURCE = re.compile(r"(?<![\w./$~{}:*-])(?!build)\w[\w-]*(?:/[\w.{},*-]+)+\.(?:cpp|hpp|cu|c|h|S|py|sh|toml|cmake|f90|F90)\b")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def braces(path):
    """`a/{b,c}.sh` means a/b.sh and a/c.sh."""
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [one for word in found[1].split(",") for one in braces(path[:found.start()] + word + path[found.end():])]


def exists(path):
    path = path.rstrip("/.,")
    if "*" in path:
        return any(Path(name).match(path) for name in FILES)
    return path in FILES or path in FOLDERS


def anchors(text):
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(document, text):
    for target in LINK.findall(text):
        if re.match(r"\w+:", target):
            continue
        page, _, anchor = target.partition("#")
        path = os.path.normpath(Path(document).parent / page) if page else document
        if path not in FILES and path not in FOLDERS:
            yield target
        elif anchor and anchor not in anchors((ROOT / path).read_text()):
            yield target


def dead_paths(text):
    for path in dict.fromkeys(PATH.findall(text) + SOURCE.findall(LINK.sub("", text))):
        yield from (one for one in braces(path) if not exists(one))


def code(text):
    """The code of a document: indented lines, fenced blocks and code spans."""
    spans = re.findall(r"`([^`\n]+)`", text)
    return "\n".join(re.findall(r"^    .*$", text, re.MULTILINE) + FENCE.findall(text) + spans)


def unknown_commands(text):
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9]+):", makefile, re.MULTILINE))
    experiments = {Path(name).stem.replace("_", "-") for name in FILES if name.startswith("bench/experiments/")}
    experiments |= {"pack", "halo", "higrad", "unexpected"}  # with --memory: pack_host or pack_device
    main = (ROOT / "src/tool/main.cpp").read_text()
    commands = set(re.findall(r'add_subcommand\("(\w+)"', main))
    for found in re.finditer(r"(?<![\w/-])make ([a-z0-9]+)", code(text)):
        if found[1] not in targets:
            yield found[0]
    for found in re.finditer(r"(?<![\w/.\x22-])dunnage ([a-z]+)(?: ([a-z][a-z-]*))?", code(text)):
        if found[1] not in commands or (found[1] == "bench" and found[2] and found[2] not in experiments):
            yield found[0]


def unknown_settings(document, text):
    names = set(re.findall(r"\bDUNNAGE_[A-Z][A-Z_]*[A-Z]\b", text))
    for name in sorted(names):
        if WITHDRAWN.get(name) == document:
            continue
        if name in WITHDRAWN or not re.search(rf"\b{name}\b", SOURCES):
            yield name


def read_sources():
    """The files that read settings: the table, CMake, scripts, the simulated device, the tests."""
    wanted = re.compile(r"(^api/settings\.toml|CMakeLists\.txt|\.cmake|^scripts/.*|^sim/.*|^Makefile|^tests/.*)$")
    return "\n".join((ROOT / name).read_text(errors="replace") for name in sorted(FILES)
                     if wanted.search(name) and not name.startswith("tests/docs/"))


SOURCES = read_sources()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_named_exists(document):
    text = (ROOT / document).read_text()
    found = {
        "dead links": list(dead_links(document, text)),
        "paths that are not in the repository": list(dead_paths(text)),
        "commands that do not exist": list(unknown_commands(text)),
        "settings that do not exist": list(unknown_settings(document, text)),
    }
    assert not any(found.values()), found


def test_the_checks_can_fail():
    """Each check finds what is wrong, and nothing else."""
    assert list(dead_links("docs/status.md", "[a](nowhere.md) [b](glossary.md#nothing) [c](../README.md)")) == [
        "nowhere.md", "glossary.md#nothing"]
    assert list(dead_paths("`src/calls/tickets.cpp`, `src/{base,engine}/`, `sim/` and `type/spec.hpp`")) == [
        "src/calls/tickets.cpp", "src/engine/", "type/spec.hpp"]
    assert list(unknown_commands("    make coffee\n    make demo\n`dunnage bench nothing`, `dunnage info`")) == [
        "make coffee", "dunnage bench nothing"]
    assert list(unknown_settings("README.md", "DUNNAGE_STREAMS DUNNAGE_NOTHING DUNNAGE_FORCE")) == [
        "DUNNAGE_NOTHING", "DUNNAGE_STREAMS"]
