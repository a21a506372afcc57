"""Functions that give the MPI copies in host memory of buffers that are in a GPU's: api/buffers.toml."""
import re
import sys

from forwarders import parameters


class Buffers:
    """The table of buffers."""

    def __init__(self, table):
        self.table = table

    def of(self, name):
        """The buffers of a function: {argument: "role: shape"}."""
        base = name.removesuffix("_c")
        found = self.table["calls"].get(base)
        if not found and (access := re.match("MPI_File_i?(read|write)(_|$)", base)):
            found = self.table["files"][access[1]]
        if not found:
            blocking = re.sub("_init$", "", base)
            found = self.table["collectives"].get(blocking) or self.table["collectives"].get(
                re.sub("^MPI_I(.)", lambda m: "MPI_" + m[1].upper(), blocking))
        return found or sys.exit(f"api/buffers.toml: what does {name} do with its buffers?")


def _ending(name, words):
    """How the call's end is waited for: a member of StagedCall and what it takes after the MPI's result."""
    if "request" in words:
        return f"begun({{}}, request, {'true' if name.removesuffix('_c').endswith('_init') else 'false'})"
    if "win" in words:
        return "until_synchronized({}, win, target_rank)"
    if name.removesuffix("_c").endswith("_begin"):
        return "until_end({}, fh)"
    return "ended({})"


def staged(hook, buffers):
    """The C++ function staged_NAME. It takes the MPI's function, and whether the call is to be counted, before the arguments."""
    words = hook.words
    owner = next((f"calls::errors_of_{kind}({word})" for word, kind in (("comm", "comm"), ("win", "win"), ("fh", "file")) if word in words),
                 "calls::errors_of_comm(MPI_COMM_WORLD)")
    comm = "comm" if "comm" in words else "MPI_COMM_NULL"
    text = (f"[[gnu::noinline]] static int staged_{hook.name}(decltype(calls::NextTable::{hook.name}) mpi, bool counted, "
            f"{', '.join(_declared(hook.prototype))}) {{\n  using namespace dunnage::calls;\n"
            f"  StagedCall call(Hook::{hook.name}, {owner}, {comm}, counted, {{{', '.join(hook.types)}}});\n")
    for buffer, how in buffers.of(hook.name).items():
        role, shape = how.split(": ", 1)
        text += f"  {buffer} = call.{role}({buffer}, {shape});\n"
    persistent = "true" if "_init" in hook.name and "request" in words else ""
    ending = _ending(hook.name, words).format(hook.call("mpi"))
    return text + f"  if (!call.ready({persistent})) return call.error();\n  return call.{ending};\n}}\n"


def _declared(prototype):
    """The parameters as they are declared."""
    return [f"{type_[:-2]} {name}[]" if type_.endswith("[]") else f"{type_} {name}" for type_, name in parameters(prototype)]
