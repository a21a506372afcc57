#!/usr/bin/env python3
"""Makes the C++ table and the reference page of the settings from api/settings.toml.

settings.py TABLE --cpp FOLDER    writes FOLDER/settings_table.hpp and .cpp
settings.py TABLE --docs FILE     writes the page
"""
import argparse
import json
import pathlib
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib

CPP_TYPE = {"flag": "bool", "count": "int", "size": "std::uint64_t", "path": "std::string", "string": "std::string",
            "output": "Output"}
ALLOWED = {"flag": "on, off", "count": "a number from 1 to 1024",
           "size": "a number of bytes, for example 64KiB or 1M (powers of 1024)",
           "path": "a path", "string": "any text",
           "output": "0, 1, or the path of a JSON file (ending in .json or containing a /)"}
SIZE_SUFFIX = {"K": 10, "M": 20, "G": 30, "T": 40}
INTRODUCTION = """\
Environment variables set Dunnage. They are read once, at the program's first MPI call. If a value
is not allowed or a name does not exist, Dunnage prints one line on standard error and uses the
default. `dunnage info` lists every setting with its value and where the value came from."""
REQUIRED = {"name", "field", "type", "default", "doc"}


def load(path):
    settings = tomllib.loads(pathlib.Path(path).read_text())["setting"]
    for s in settings:
        missing = REQUIRED - s.keys()
        if missing:
            sys.exit(f"{path}: {s.get('name', 'a setting')} has no {', '.join(sorted(missing))}")
        if s["type"] != "enum" and s["type"] not in CPP_TYPE:
            sys.exit(f"{path}: {s['name']} is of unknown type {s['type']}")
        if s["type"] == "enum" and s["default"] not in s["values"]:
            sys.exit(f"{path}: the default of {s['name']} is not among its values")
    return settings


def enumerator(value):
    return "automatic" if value == "auto" else value.replace("-", "_")  # `auto` is a keyword


def cpp_type(s):
    return s["enum"] if s["type"] == "enum" else CPP_TYPE[s["type"]]


def cpp_default(s):
    kind, text = s["type"], s["default"]
    if kind == "flag":
        return "true" if text == "on" else "false"
    if kind == "enum":
        return f"{s['enum']}::{enumerator(text)}"
    if kind == "size":
        digits, shift = (text[:-1], SIZE_SUFFIX[text[-1]]) if text[-1] in SIZE_SUFFIX else (text, 0)
        return f"std::uint64_t{{{int(digits)}}} << {shift}"
    if kind == "count":
        return str(int(text))
    if kind == "output":
        assert text == "0", "an output is off unless it is asked for"
        return "{}"
    return json.dumps(text)


def allowed(s):
    return ", ".join(s["values"]) if s["type"] == "enum" else ALLOWED[s["type"]]


def paragraph(s):
    return " ".join(s["doc"].split())


def header(settings):
    out = ["// Made by generate/settings.py from api/settings.toml.", "#pragma once", "",
           "#include <cstdint>", "#include <string>", "", '#include "base/setting_kinds.hpp"', "",
           "namespace dunnage::base {", ""]
    for s in settings:
        if s["type"] == "enum":
            out.append(f"enum class {s['enum']} {{ {', '.join(map(enumerator, s['values']))} }};")
    out += ["", "struct SettingsFields {"]
    for s in settings:
        out.append(f"    {cpp_type(s)} {s['field']} = {cpp_default(s)};  // {s['name']}")
    out += ["};", "", "}  // namespace dunnage::base"]
    return out


def source(settings):
    out = ["// Made by generate/settings.py from api/settings.toml.", '#include "base/settings.hpp"', "",
           "namespace dunnage::base {", "namespace {", ""]
    for s in settings:
        if s["type"] == "enum":
            names = ", ".join(json.dumps(v) for v in s["values"])
            out.append(f"constexpr std::string_view {s['field']}_names[] = {{{names}}};")
    out += ["", "constexpr Setting table[] = {"]
    for s in settings:
        names = f", {s['field']}_names" if s["type"] == "enum" else ""
        head = [json.dumps(text) for text in (s["name"], allowed(s), s["default"], s.get("bare", ""))]
        out += [f"    {{{', '.join(head)},",
                f"     {json.dumps(paragraph(s), ensure_ascii=False)},",
                f"     [](SettingsFields& to, std::string_view text) "
                f"{{ return parse_{s['type']}(text, to.{s['field']}{names}); }},",
                f"     [](const SettingsFields& from) {{ return show_{s['type']}(from.{s['field']}{names}); }}}},"]
    out += ["};", "", "}  // namespace", "",
            "std::span<const Setting> setting_table() { return table; }", "",
            "}  // namespace dunnage::base"]
    return out


def page(settings):
    out = ["# Settings", "",
           "<!-- Made by generate/settings.py from api/settings.toml: edit that table, then run `make docs`. -->", "",
           INTRODUCTION, "",
           "| setting | values | default |", "| --- | --- | --- |"]
    for s in settings:
        default = f"`{s['default']}`" if s["default"] else "unset"
        values = ", ".join(f"`{v}`" for v in s["values"]) if s["type"] == "enum" else allowed(s)
        out.append(f"| [`{s['name']}`](#{s['name'].lower()}) | {values} | {default} |")
    for s in settings:
        out += ["", f"## {s['name']}", "", s["doc"].strip()]
    return out


def write(path, lines):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--cpp", metavar="FOLDER")
    parser.add_argument("--docs", metavar="FILE")
    args = parser.parse_args()
    settings = load(args.table)
    if args.cpp:
        write(pathlib.Path(args.cpp) / "settings_table.hpp", header(settings))
        write(pathlib.Path(args.cpp) / "settings_table.cpp", source(settings))
    if args.docs:
        write(args.docs, page(settings))


if __name__ == "__main__":
    main()
