#!/usr/bin/env python3
"""Makes the shim's generated sources from api/hooks.toml, api/buffers.toml and the MPI Forum's
table of the standard.

hooks.py TABLE BUFFERS FOLDER writes
  FOLDER/shim/hook_list.inc   DUNNAGE_HOOK(name) for every exported name, in the order that all parts share: all MPI_
                              names, then all PMPI_ names
  FOLDER/shim/hook_list_id.h  DUNNAGE_HOOK_LIST_ID, which is another text for another list
  FOLDER/shim/entries.inc     the exported entry points, in assembly
  FOLDER/shim/exports.map     the linker's version script, which exports these symbols and no others
  FOLDER/mpi/process/hook.hpp       enum class Hook and its names
  FOLDER/mpi/process/mpi_table.hpp  the tables of the MPI's own functions
  FOLDER/shim/hooks.inc       two functions for every hook: one for the MPI_ name and one for the PMPI_ name, by which
                              the MPIs' Fortran interfaces call (docs/decisions/0006-fortran.md)
  FOLDER/shim/prototypes.h    every function above as the standard declares it, to be compared with an mpi.h

The declarations of an mpi.h are not used, because one backend serves libraries newer and older than
its header.
"""
import dataclasses
import hashlib
import pathlib
import re
import sys
from typing import Optional

import pympistandard

from forwarders import forwarder, parameters
from staged import Buffers, staged

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib


@dataclasses.dataclass
class Hook:
    name: str
    prototype: str
    described: list  # the standard's parameters
    # A function of src/mpi. If None, the call is left to the MPI, with copies of buffers that it
    # cannot reach.
    handler: Optional[str] = None
    small: Optional[str] = None  # for a large-count function: the prototype of the other one
    # A class of src/mpi that is asked before the call is left to the MPI.
    first: Optional[str] = None
    extension: bool = False  # no part of the standard
    begin: str = ""  # statements at the begin of the function that stands in for the hook

    @property
    def words(self):
        """Returns the names of the arguments."""
        return [name for _, name in parameters(self.prototype)]

    @property
    def types(self):
        """Returns the names of the arguments that are one datatype."""
        return [name for type_, name in parameters(self.prototype) if type_ == "MPI_Datatype"]

    def call(self, function, *before):
        """Returns a call of `function` with the arguments `before` and then those of this hook."""
        return f"{function}({', '.join([*before, *self.words])})"

    def body(self, table):
        """Returns the C++ statements of the hook. `table` has the functions that the hook calls."""
        mpi = f"{table}.{self.name}"
        if self.extension:  # the MPI may ask itself, and is to get its own answer
            return (f"  if ({mpi} && caller(__builtin_return_address(0)) == Caller::mpi) return {self.call(mpi)};\n"
                    f"  return {self.call(f'mpi::{self.handler}', f'Hook::{self.name}', mpi)};\n")
        if self.handler:
            return f"  return {self.call(f'mpi::{self.handler}', f'Hook::{self.name}', mpi)};\n"
        name = self.name.removesuffix("_c")  # a library may lack the large-count form
        between = f"mpi::nothing_between({table}.{name}, mpi::process->own.{name[4:]})"
        return (self.asked(between) + f"  if (mpi::left_to_mpi()) return {self.call(mpi)};\n"
                f"  return {self.call(f'staged_{self.name}', mpi, 'true')};\n")

    def asked(self, unless="true"):
        """Returns the statements that ask `first`, a class whose object lives as long as the call.

        The communicator and the arguments after it come before those that describe the data.
        """
        if not self.first:
            return ""
        data = self.words.index("comm") if "comm" in self.words else len(self.words)
        arguments = ", ".join([f"Hook::{self.name}", *self.words[data:], *self.words[:data]])
        return (f"  std::optional<mpi::{self.first}> first;\n"
                f"  if (mpi::{self.first}::possible() && {unless}) first.emplace({arguments});\n"
                "  if (first && first->done()) return first->code();\n")

    def renamed(self, prefix):
        """Returns the prototype, with `prefix` before the function's name."""
        return self.prototype.replace(self.name + "(", f"{prefix}{self.name}(", 1)


# An mpi.h of MPI 3 has no MPI_Session, but the library that the program runs on may be newer.
SESSION = """#if MPI_VERSION < 4 && !defined(MPI_SESSION_NULL)
#ifdef OPEN_MPI
typedef struct ompi_instance_t* MPI_Session;
#else
typedef int MPI_Session;
#endif
#endif
"""


def procedure(name):
    """Returns the standard's description of a function. Ends the program if there is none."""
    found = pympistandard.PROCEDURES.get(name.lower())
    return found or sys.exit(f"api/hooks.toml: the standard has no {name}")


def both_counts(name, handler=None):
    """Yields the hook of a function and, if the standard has it, the hook of the large-count form.
    """
    described = procedure(name)
    small = str(described.express.iso_c)
    yield Hook(name, small, described._parseset["parameters"], handler)
    if described.has_embiggenment():
        large = str(described.express.embiggen.iso_c)
        yield Hook(name + "_c", large, described._parseset["parameters"], handler, small)


def moves_data(described):
    """Returns whether a function takes a buffer whose content a datatype describes."""
    kinds = {p["kind"] for p in described._parseset["parameters"]}
    return (not described._parseset["attributes"]["callback"] and "DATATYPE" in kinds
            and any(kind.endswith("BUFFER") for kind in kinds))


def all_hooks(table):
    """Returns the hooks with a handler, then those of all other functions that move data."""
    handled = [(name, handler) for handler, names in table["hooks"].items() for name in names]
    names = {name for name, _ in handled}
    rest = sorted(p._parseset["name"] for p in pympistandard.PROCEDURES.values()
                  if moves_data(p) and p._parseset["name"] not in names)
    every = [*handled, *((name, None) for name in rest)]
    hooks = [hook for name, handler in every for hook in both_counts(name, handler)]
    hooks += [Hook(name, prototype, [], handler, extension=True)
              for handler, functions in table["extensions"].items() for name, prototype in functions.items()]
    for hook in hooks:
        hook.first = table["first"].get(hook.name.removesuffix("_c"))
        if not hook.extension and (not hook.handler or hook.handler in table["begins"]["handlers"]):
            hook.begin = "  mpi::after_default_stream();\n"
    return hooks


# Several functions call a hook. If it were inlined, each would have a copy.
HOOK = "[[gnu::noinline]] static"


def counted(hook, prefix):
    """Returns the function that takes the hook's place if a report is wanted, or if calls are to
    wait for the default stream.
    """
    return (f"static {hook.renamed(f'counted_{prefix}')} {{\n"
            "  const NotedCall noted(__builtin_return_address(0));\n"
            + hook.begin +
            f"  return {hook.call(f'hook_{prefix}{hook.name}')};\n}}\n")


def pmpi_hook(hook, tracked):
    """Returns the function behind the PMPI_ name."""
    mpi = f"below.{hook.name}"
    text = f"{HOOK} {hook.renamed('hook_P')} {{\n"
    if hook.extension:
        return f"{text}{hook.body('below')}}}\n"
    if hook.handler:
        others = "== Caller::mpi" if hook.handler in tracked else "!= Caller::fortran"
        return (text + f"  if (caller(__builtin_return_address(0)) {others}) return {hook.call(mpi)};\n"
                f"{hook.body('below')}}}\n")
    unless = f" && !mpi::{hook.first}::possible()" if hook.first else ""
    return (text + f"  if (mpi::left_to_mpi(){unless}) return {hook.call(mpi)};\n"
            "  const auto who = caller(__builtin_return_address(0));\n"
            f"  if (who == Caller::mpi) return {hook.call(mpi)};\n" + hook.asked() +
            f"  return {hook.call(f'staged_{hook.name}', mpi, 'who == Caller::fortran')};\n}}\n")


def pointer(prototype, name, member):
    """Returns the declaration of a function pointer called `member`."""
    return f"  {prototype.replace(name + '(', f'(*{member})(', 1)} = nullptr;\n"


def mpi_table(hooks, uses):
    """Returns mpi/process/mpi_table.hpp."""
    places = {hook.name: i for i, hook in enumerate(hooks)}
    return ("#pragma once\n\n#include <mpi.h>\n\n" + SESSION + "\nnamespace dunnage::mpi {\n\n"
            "/// The next functions of the hooks' names, in the order of hook_names: the MPI's, or those of a\n"
            "/// profiling tool in between.\n"
            "struct NextTable {\n"
            + "".join(pointer(h.prototype, h.name, h.name) for h in hooks)
            + "};\n\n/// The MPI's own functions, under their PMPI names.\nstruct OwnTable {\n"
            + "".join(pointer(p, n, n[4:]) for n, p, _ in uses)
            + "};\n\n/// Calls f(name, its place among hook_names or -1, function pointer, whether Dunnage needs it)\n"
            "/// for every entry.\n"
            + "template <class F>\nvoid each(OwnTable& table, F&& f) {\n"
            + "".join(f'  f("P{n}", {places.get(n, -1)}, table.{n[4:]}, {str(needed).lower()});\n'
                      for n, _, needed in uses)
            + "}\n\n}  // namespace dunnage::mpi\n")


def hook_functions(hooks, tracked, buffers):
    """Returns shim/hooks.inc."""
    text = ""
    for hook in hooks:
        if not hook.handler:
            text += staged(hook, buffers)
        text += f"{HOOK} {hook.renamed('hook_')} {{\n{hook.body('next')}}}\n" + pmpi_hook(hook, tracked)
        text += "".join(counted(hook, prefix) for prefix in ("", "P"))
        if hook.small:
            text += forwarder(hook.name, hook.prototype, hook.small, hook.described, hook.begin)
    twice = [(prefix, hook) for prefix in ("", "P") for hook in hooks]
    text += ("/// In the order of hook_list.inc. A function with large counts stands behind the other one.\n"
             "static const Exported exported[] = {\n")
    for prefix, hook in twice:
        forward = f"reinterpret_cast<void*>(forward_{hook.name})" if hook.small else "nullptr"
        text += (f'    {{reinterpret_cast<void*>(hook_{prefix}{hook.name}), '
                 f'reinterpret_cast<void*>(counted_{prefix}{hook.name}), {forward}, '
                 f"{'false' if hook.handler or hook.first else 'true'}, {str(hook.extension).lower()}}},\n")
    return text + "};\n"


def main():
    pympistandard.use_api_version(1)
    table = tomllib.loads(pathlib.Path(sys.argv[1]).read_text())
    buffers = Buffers(tomllib.loads(pathlib.Path(sys.argv[2]).read_text()))
    out = pathlib.Path(sys.argv[3])
    hooks = all_hooks(table)
    uses = []  # (name, prototype, whether Dunnage needs it)
    for kind, names in table["uses"].items():
        for name in names:
            standard = {hook.name: hook.prototype for hook in both_counts(re.sub("_c$", "", name))}
            uses.append((name, standard[name], kind == "functions"))
    names = [prefix + hook.name for prefix in ("", "P") for hook in hooks]

    def write(path, text):
        path = out / path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = text if path.suffix in {".map"} else f"// Generated from api/hooks.toml.\n{text}"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    write("shim/hook_list.inc", "".join(f"DUNNAGE_HOOK({name})\n" for name in names))
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    write("shim/hook_list_id.h", f'#define DUNNAGE_HOOK_LIST_ID "{digest}"\n')
    write("shim/entries.inc", "".join(f"entry {name}, {i}\n" for i, name in enumerate(names)))
    write("shim/exports.map", "{\n  global:\n    dunnage_version;\n"
          + "".join(f"    {name};\n" for name in names) + "  local: *;\n};\n")
    write("mpi/process/hook.hpp", "#pragma once\n\nnamespace dunnage::mpi {\n\nenum class Hook {\n"
          + "".join(f"  {hook.name},\n" for hook in hooks)
          + "};\n\ninline constexpr const char* hook_names[] = {\n"
          + "".join(f'    "{hook.name}",\n' for hook in hooks)
          + f"}};\ninline constexpr int hook_count = {len(hooks)};\n\n}}  // namespace dunnage::mpi\n")
    write("mpi/process/mpi_table.hpp", mpi_table(hooks, uses))
    write("shim/prototypes.h", SESSION + "".join(sorted(
        {f"{prototype};\n" for hook in hooks for prototype in (hook.prototype, hook.renamed("P"))}
        | {f"{prototype};\n" for _, prototype, _ in uses})))
    write("shim/hooks.inc", hook_functions(hooks, table["tracks"]["handlers"], buffers))


main()
