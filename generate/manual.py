#!/usr/bin/env python3
"""Writes the manual pages: dunnage(1), a page for each of its commands, and dunnage-settings(7).

manual.py TOOL FOLDER    asks the built command TOOL for its options, and writes FOLDER/man/man[17]

The format is man(7) of groff and mandoc.
"""
import re

import commands
import settings as setting_table

LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def escaped(text):
    """Returns text in which no character means something to roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^(?=\.)", r"\\&", text, flags=re.MULTILINE)


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def prose(markdown):
    """Returns a paragraph of Markdown: links as their text, and code bold."""
    parts = LINK.sub(r"\1", " ".join(markdown.split())).split("`")
    return "".join(bold(part) if place % 2 else escaped(part) for place, part in enumerate(parts))


def paragraphs(text):
    return [line for part in text.strip().split("\n\n") for line in (".PP", prose(part))]


def head(name, section, summary):
    return [f".TH {escaped(name).upper()} {section} \"\" dunnage \"Dunnage\"", ".SH NAME",
            f"{escaped(name)} \\- {prose(summary)}"]


def with_value(option):
    """Returns the names of an option with its value, as they are written on a command line."""
    if not option.names:
        return italic(option.placeholder)
    names = ", ".join(map(bold, option.names))
    if option.value == commands.MAY:
        return f"{names}[={italic(option.placeholder)}]"
    return f"{names} {italic(option.placeholder)}" if option.value == commands.MUST else names


def option_list(options):
    lines = []
    for option in options:
        lines += [".TP", with_value(option), prose(option.help) or "\\&"]
        if option.choices and not option.names:
            lines += [".br", "One of: " + ", ".join(map(bold, option.choices)) + "."]
    return lines


def page(command, parent):
    """Returns the page of one sub-command."""
    words = [option for option in command.options if not option.names]
    usage = f"{bold(f'dunnage {command.name}')} [{italic('OPTIONS')}]"
    usage += "".join(f" {italic(option.placeholder)}" for option in words)
    usage += f" [\\-\\-] {italic('COMMAND')}..." if command.tail else ""
    lines = head(f"dunnage-{command.name}", 1, command.summary) + [".SH SYNOPSIS", usage]
    if command.description:
        lines += [".SH DESCRIPTION", prose(command.description)]
    lines += [".SH OPTIONS", *option_list(command.options)]
    if command.footer:
        lines += [".SH NOTES", prose(command.footer)]
    others = [f"{bold(f'dunnage-{one.name}')}(1)" for one in parent.commands if one is not command]
    return lines + [".SH SEE ALSO", ", ".join([f"{bold('dunnage')}(1)", *others, f"{bold('dunnage-settings')}(7)"])]


def front(dunnage):
    """Returns the page dunnage(1)."""
    lines = head("dunnage", 1, dunnage.summary)
    lines += [".SH SYNOPSIS", f"{bold('dunnage')} {italic('COMMAND')} [{italic('OPTIONS')}]", ".SH COMMANDS"]
    for command in dunnage.commands:
        own = bold(f"dunnage-{command.name}")
        lines += [".TP", bold(command.name), f"{prose(command.summary)}. See {own}(1)."]
    lines += [".SH OPTIONS", *option_list(dunnage.options)]
    others = [f"{bold(f'dunnage-{one.name}')}(1)" for one in dunnage.commands]
    return lines + [".SH SEE ALSO", ", ".join([*others, f"{bold('dunnage-settings')}(7)"])]


def settings_page(settings):
    """Returns the page dunnage-settings(7)."""
    lines = head("dunnage-settings", 7, "environment variables that set Dunnage")
    lines += [".SH DESCRIPTION", *paragraphs(setting_table.INTRODUCTION), ".SH SETTINGS"]
    for setting in settings:
        default = bold(setting["default"]) if setting["default"] else "unset"
        values = setting_table.allowed(setting)
        lines += [".SS " + escaped(setting["name"]), f"Values: {prose(values)}. Default: {default}.",
                  *paragraphs(setting["doc"])]
    others = [f"{bold(name)}(1)" for name in ("dunnage", "dunnage-run", "dunnage-info")]
    return lines + [".SH SEE ALSO", ", ".join(others)]


def main():
    options = commands.arguments(__doc__)
    dunnage, settings = commands.read(options.tool)
    pages = {"man1/dunnage.1": front(dunnage), "man7/dunnage-settings.7": settings_page(settings)}
    pages.update({f"man1/dunnage-{command.name}.1": page(command, dunnage) for command in dunnage.commands})
    for name, lines in pages.items():
        commands.write(options.folder / "man" / name, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
