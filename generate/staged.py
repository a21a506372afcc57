"""Makes functions that replace buffers in a GPU's memory by copies in host memory, from
api/buffers.toml.
"""
import re
import sys

from forwarders import parameters


class Buffers:
    """The table of buffers (api/buffers.toml)."""

    def __init__(self, table):
        self.table = table

    def of(self, name):
        """Returns the buffers of a function as {argument: "role: shape"}. Ends the program if the
        table has none.
        """
        base = name.removesuffix("_c")
        found = self.table["calls"].get(base)
        if not found and (access := re.match("MPI_File_i?(read|write)(_|$)", base)):
            found = self.table["files"][access[1]]
        if not found:
            blocking = re.sub("_init$", "", base)
            found = self.table["collectives"].get(blocking) or self.table["collectives"].get(
                re.sub("^MPI_I(.)", lambda m: "MPI_" + m[1].upper(), blocking))
        return found or sys.exit(f"api/buffers.toml: no entry says what {name} does with its buffers")


def _ending(name, words):
    """Returns how the end of the call is waited for: a member of StagedCall, with {} for the call
    of the MPI.
    """
    if "partitions" in words:
        return f"partitions_begun({{}}, request, partitions, {'true' if 'send' in name else 'false'})"
    if "request" in words:
        return f"begun({{}}, request, {'true' if name.removesuffix('_c').endswith('_init') else 'false'})"
    if "win" in words:
        return "until_synchronized({}, win, target_rank)"
    if name.removesuffix("_c").endswith("_begin"):
        return "until_end({}, fh)"
    return "ended({})"


def staged(hook, buffers):
    """Returns the C++ function staged_NAME.

    Before the arguments, it takes the MPI's function and whether the call is to be counted.
    """
    words = hook.words
    owners = (("comm", "comm"), ("win", "win"), ("fh", "file"))
    owner = next((f"mpi::errors_of_{kind}({word})" for word, kind in owners if word in words),
                 "mpi::errors_of_comm(MPI_COMM_WORLD)")
    comm = "comm" if "comm" in words else "MPI_COMM_NULL"
    text = (f"[[gnu::noinline]] static int staged_{hook.name}(decltype(mpi::NextTable::{hook.name}) mpi, bool counted, "
            f"{', '.join(_declared(hook.prototype))}) {{\n  using namespace dunnage::mpi;\n"
            f"  StagedCall call(Hook::{hook.name}, {owner}, {comm}, counted, {{{', '.join(hook.types)}}});\n")
    for buffer, how in buffers.of(hook.name).items():
        role, shape = how.split(": ", 1)
        text += f"  {buffer} = call.{role}({buffer}, {shape});\n"
    persistent = "true" if "_init" in hook.name and "request" in words else ""
    ending = _ending(hook.name, words).format(hook.call("mpi"))
    return text + f"  if (!call.ready({persistent})) return call.error();\n  return call.{ending};\n}}\n"


def _declared(prototype):
    """Returns the parameters as they are declared."""
    return [f"{type_[:-2]} {name}[]" if type_.endswith("[]") else f"{type_} {name}"
            for type_, name in parameters(prototype)]
