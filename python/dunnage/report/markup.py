"""HTML as trees of elements. The tree escapes all text, so no value can become markup."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterable, List, Union
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

Child = Union[str, int, float, None, Element, Iterable[Any]]

LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def tag(name: str, /, *children: Child, **attributes: Any) -> Element:
    """Returns an element.

    Children that are None are left out, and lists are taken apart. In an attribute's name a
    trailing underscore is dropped, and other underscores become hyphens.
    """
    element = Element(name, {key.rstrip("_").replace("_", "-"): str(value) for key, value in attributes.items()})
    for child in children:
        _append(element, child)
    return element


def _append(element: Element, child: Child) -> None:
    if child is None:
        return
    if isinstance(child, Element):
        element.append(child)
    elif isinstance(child, (str, int, float)):
        if len(element):
            element[-1].tail = (element[-1].tail or "") + str(child)
        else:
            element.text = (element.text or "") + str(child)
    else:
        for one in child:
            _append(element, one)


def document(root: Element) -> str:
    """Returns the text of an HTML file."""
    return "<!DOCTYPE html>\n" + ElementTree.tostring(root, encoding="unicode", method="html") + "\n"


def section(title: str, *children: Any) -> Element:
    """Returns a section with its heading."""
    return tag("section", tag("h2", title), *children)


# One number or a range, with a unit perhaps: "2.5 GB/s", "30 to 3,000 times", "12 %".
NUMBER = re.compile(r"\d[\d.,]*( to \d[\d.,]*)?( ?(%|[^\W\d]{1,8}(/s)?))?")


def table(head: List[Any], rows: List[List[Any]], note: str = "") -> Element:
    """Returns a table, with a note below it. Numbers, with their units, stand at the right."""
    def cell(value: Any) -> Element:
        number = isinstance(value, int) or (isinstance(value, str) and NUMBER.fullmatch(value))
        shown = f"{value:,}" if isinstance(value, int) else value
        return tag("td", shown, class_="number") if number else tag("td", shown)

    made = tag("table", tag("thead", tag("tr", [tag("th", name) for name in head])),
               tag("tbody", [tag("tr", [cell(value) for value in row]) for row in rows]))
    return tag("div", made, tag("p", note, class_="note") if note else None, class_="wide")


def style() -> Element:
    """Returns the style sheet of all pages."""
    return tag("style", Path(__file__).with_name("page.css").read_text())


def plain(markdown: str) -> str:
    """Returns the text without links and backquotes."""
    return LINK.sub(r"\1", markdown).replace("`", "")


def spans(markdown: str) -> Iterable[Child]:
    """Returns the text without links, what stands in backquotes as <code>."""
    for place, part in enumerate(LINK.sub(r"\1", markdown).split("`")):
        yield tag("code", part) if place % 2 else part
