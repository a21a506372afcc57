#!/usr/bin/env python3
"""Writes docs/reference/commands.md, the page of all commands and options.

command_page.py TOOL FILE    asks the built command TOOL, and writes the page to FILE
"""
import pathlib
import sys

import commands


def cell(text):
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def spelled(option):
    if not option.names:
        return f"`{option.placeholder}`"
    value = {commands.NO: "", commands.MAY: f"[={option.placeholder}]", commands.MUST: f" {option.placeholder}"}
    names = ", ".join(option.names)
    return f"`{cell(names + value[option.value])}`"


def table(options):
    return ["| option | meaning |", "|---|---|",
            *(f"| {spelled(option)} | {cell(option.help)} |" for option in options)]


def page(dunnage):
    lines = ["# Commands", "",
             "<!-- Made by generate/command_page.py from what the command says: run `make docs`. -->", "",
             "The manual pages have this text too: `man dunnage-run`.", "",
             "| command | what it does |", "|---|---|"]
    lines += [f"| [`dunnage {one.name}`](#dunnage-{one.name}) | {cell(one.summary)} |" for one in dunnage.commands]
    for one in dunnage.commands:
        lines += ["", f"## dunnage {one.name}", ""]
        if one.description:
            lines += [one.description, ""]
        lines += table(one.options)
        if one.footer:
            lines += ["", " ".join(one.footer.split())]
    return "\n".join(lines) + "\n"


def main():
    tool, file = sys.argv[1:]
    dunnage, _ = commands.read(tool)
    commands.write(pathlib.Path(file), page(dunnage))


if __name__ == "__main__":
    main()
