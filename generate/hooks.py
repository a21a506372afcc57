#!/usr/bin/env python3
"""Makes the shim's generated sources from api/hooks.toml and the MPI Forum's table of the standard.

hooks.py TABLE FOLDER writes
  FOLDER/shim/hook_list.inc   DUNNAGE_HOOK(name) for every exported name, in the one order that all parts share: all MPI_
                              names, then all PMPI_ names
  FOLDER/shim/entries.inc     the exported entry points, in assembly
  FOLDER/shim/exports.map     the linker's version script: these symbols and no others
  FOLDER/calls/hook.hpp       enum class Hook and its names
  FOLDER/calls/mpi_table.hpp  struct MpiTable: the MPI's own functions
  FOLDER/shim/hooks.inc       two functions for every hook, calling its handler: one for the MPI_ name, and one for the
                              PMPI_ name, by which the MPIs' Fortran interfaces call (docs/decisions/0006-fortran.md)
"""
import pathlib
import re
import sys

import pympistandard

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib


def prototypes(names):
    """For each name and, where there is one, its large-count form: (name, C prototype)."""
    pympistandard.use_api_version(1)
    for name in names:
        if name.lower() not in pympistandard.PROCEDURES:
            sys.exit(f"api/hooks.toml: the standard has no {name}")
        procedure = pympistandard.PROCEDURES[name.lower()]
        yield name, str(procedure.express.iso_c)
        if procedure.has_embiggenment():
            yield name + "_c", str(procedure.express.embiggen.iso_c)


def arguments(prototype):
    """The parameter names of a C prototype."""
    inside = prototype[prototype.index("(") + 1:prototype.rindex(")")]
    return [] if inside == "void" else [re.search(r"(\w+)(\[\])?$", p.strip()).group(1) for p in inside.split(",")]


def parameters(prototype):
    """(type, name) of each parameter of a C prototype."""
    inside = prototype[prototype.index("(") + 1:prototype.rindex(")")]
    return [] if inside == "void" else [re.match(r"(.*?)\s*(\w+)(?:\[\])?$", p.strip()).groups() for p in inside.split(",")]


def forwarder(name, prototype, small):
    """A large-count function for an MPI that has only the other: it forwards what an int holds. What it does not
    hold becomes -1, which the MPI reports through the right error handler."""
    before, arguments, after = "", [], ""
    for (large_type, argument), (small_type, _) in zip(parameters(prototype), parameters(small)):
        if large_type == small_type:
            arguments.append(argument)
        elif large_type.endswith("*"):
            before += f"  int small_{argument} = {argument} ? narrow(*{argument}) : 0;\n"
            after += f"  if ({argument}) *{argument} = small_{argument};\n"
            arguments.append(f"{argument} ? &small_{argument} : nullptr")
        else:
            arguments.append(f"narrow({argument})")
    return (f"static {prototype.replace(name + '(', 'hook_' + name + '(', 1)} {{\n{before}"
            f"  const int rc = hook_{name[:-2]}({', '.join(arguments)});\n{after}  return rc;\n}}\n")


def pmpi_hook(name, prototype, handler, tracks):
    """The function behind the PMPI_ name."""
    words = ", ".join(arguments(prototype))
    call = ", ".join(filter(None, [f"Hook::{name}", f"below.{name}", words]))
    declined = "== Caller::mpi" if tracks else "!= Caller::fortran"
    return (f"static {prototype.replace(name + '(', 'hook_P' + name + '(', 1)} {{\n"
            f"  if (caller(__builtin_return_address(0)) {declined}) return below.{name}({words});\n"
            f"  return calls::{handler}({call});\n}}\n"
            f"static_assert(std::is_same_v<decltype(&hook_P{name}), decltype(&::P{name})>);\n")


def guarded(name, line):
    """The large-count forms exist from MPI 4 on."""
    return f"#if MPI_VERSION >= 4\n{line}\n#endif\n" if name.endswith("_c") else line + "\n"


def main():
    table = tomllib.loads(pathlib.Path(sys.argv[1]).read_text())
    out = pathlib.Path(sys.argv[2])
    hooks = [(name, prototype, handler) for handler, names in table["hooks"].items()
             for name, prototype in prototypes(names)]
    uses = [u for u in table["uses"]["functions"]]
    exported = [prefix + name for prefix in ("", "P") for name, _, _ in hooks]

    def write(path, text):
        path = out / path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text if path.suffix in {".map"} else f"// Generated from api/hooks.toml.\n{text}"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    write("shim/hook_list.inc", "".join(f"DUNNAGE_HOOK({name})\n" for name in exported))
    write("shim/entries.inc", "".join(f"entry {name}, {i}\n" for i, name in enumerate(exported)))
    write("shim/exports.map", "{\n  global:\n    dunnage_version;\n"
          + "".join(f"    {name};\n" for name in exported) + "  local: *;\n};\n")
    write("calls/hook.hpp", "#pragma once\n\nnamespace dunnage::calls {\n\nenum class Hook {\n"
          + "".join(f"  {name},\n" for name, _, _ in hooks)
          + "};\n\ninline constexpr const char* hook_names[] = {\n"
          + "".join(f'    "{name}",\n' for name, _, _ in hooks)
          + f"}};\ninline constexpr int hook_count = {len(hooks)};\n\n}}  // namespace dunnage::calls\n")
    write("calls/mpi_table.hpp",
          "#pragma once\n\n#include <mpi.h>\n\nnamespace dunnage::calls {\n\n"
          "/// The functions that come next: the MPI's, or those of a profiling tool in between.\nstruct NextTable {\n"
          + "".join(guarded(n, f"  decltype(&::{n}) {n} = nullptr;") for n, _, _ in hooks)
          + "};\n\n/// The MPI's own functions, under their PMPI names.\nstruct OwnTable {\n"
          + "".join(guarded(n, f"  decltype(&::{n}) {n[4:]} = nullptr;") for n in uses)
          + "};\n\n/// Calls f(name, function pointer) for every entry.\ntemplate <class F>\n"
          "void each(NextTable& table, F&& f) {\n"
          + "".join(guarded(n, f'  f("{n}", table.{n});') for n, _, _ in hooks)
          + "}\ntemplate <class F>\nvoid each(OwnTable& table, F&& f) {\n"
          + "".join(guarded(n, f'  f("P{n}", table.{n[4:]});') for n in uses)
          + "}\n\n}  // namespace dunnage::calls\n")
    body = ""
    for name, prototype, handler in hooks:
        call = ", ".join([f"Hook::{name}", f"next.{name}"] + arguments(prototype))
        function = (f"{prototype.replace(name + '(', 'hook_' + name + '(', 1)} {{\n"
                    f"  return calls::{handler}({call});\n}}\n"
                    f"static_assert(std::is_same_v<decltype(&hook_{name}), decltype(&::{name})>);")
        function += "\n" + pmpi_hook(name, prototype, handler, handler in table["tracks"]["handlers"])
        if name.endswith("_c"):
            small = next(p for n, p, _ in hooks if n == name[:-2])
            body += (f"#if MPI_VERSION >= 4\nstatic {function}#else\n{forwarder(name, prototype, small)}"
                     f"constexpr auto hook_P{name} = hook_{name};\n#endif\n")
        else:
            body += "static " + function
    body += "static void* const hooks[] = {\n" + "".join(
        f"    reinterpret_cast<void*>(hook_{n}),\n" for n in exported) + "};\n"
    write("shim/hooks.inc", body)


main()
