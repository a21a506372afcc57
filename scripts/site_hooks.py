"""What MkDocs does besides its own work when it builds the site of mkdocs.yml.

The documents are written to be read in the repository too. So some stand outside docs/, and their
links lead through the folders of the repository. Links to files that the site does not have become
plain text. Python-Markdown differs from other readers of Markdown in two ways, which are evened
out: a list needs an empty line before it, and a table keeps the backslash of `\\|` within code.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
# Documents outside docs/, by their place in the site.
OUTSIDE = {
    "index.md": "README.md",
    **{name: name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "packaging/README.md",
                               "tests/differential/README.md")},
}
DECISIONS = "decisions/index.md"
PLACES = {file: place for place, file in OUTSIDE.items()}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s#]*)(#[^)\s]*)?\)")
LIST = re.compile(r"^(?!- |\d+\. |[|>#<\s])(.+)\n(?=- |\d+\. )", re.MULTILINE)
FENCE = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)


def on_files(files, config):
    """Adds the documents outside docs/, and a list of the decisions."""
    for place, file in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / file).read_text(encoding="utf-8")))
    files.append(File.generated(config, DECISIONS, content=list_of_decisions()))
    return files


def list_of_decisions():
    """Returns the page that lists the decisions by their titles."""
    rows = [f"- [{path.read_text(encoding='utf-8').splitlines()[0].lstrip('# ')}](../docs/decisions/{path.name})"
            for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    return "\n".join(["# Decisions", "", *rows]) + "\n"


def in_repository(place):
    """Returns the path of a page in the repository."""
    return place if place == DECISIONS else OUTSIDE.get(place) or f"docs/{place}"


def in_site(path):
    """Returns the place of a file of the repository in the site, or None if the site has it not."""
    if path in PLACES:
        return PLACES[path]
    if path == "docs/decisions":
        return DECISIONS
    return path[len("docs/"):] if path.startswith("docs/") and (ROOT / path).is_file() else None


def relinked(text, place):
    """Returns Markdown with its links as the page at `place` of the site needs them."""
    folder = posixpath.dirname(in_repository(place))

    def link(found):
        words, target, anchor = found[1], found[2], found[3] or ""
        if not target or re.match(r"\w+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        there = in_site(path)
        if there is None and (ROOT / path).exists():
            return words[1:-1]
        if there is None:
            return found[0]  # MkDocs complains about it
        return f"{words}({posixpath.relpath(there, posixpath.dirname(place) or '.')}{anchor})"

    parts = FENCE.split(text)  # fenced code stands at the odd places
    parts[::2] = [LIST.sub(r"\1\n\n", LINK.sub(link, part)) for part in parts[::2]]
    return "".join(parts)


def on_page_markdown(markdown, page, **_):
    """Rewrites the links of a page."""
    return relinked(markdown, page.file.src_uri)


def on_page_content(html, **_):
    """Takes the backslashes of tables out of code."""
    return re.sub(r"<code>[^<]*</code>", lambda code: code[0].replace("\\|", "|"), html)
