"""Large-count functions for an MPI that has only the others: each forwards what an int holds.

A count that no int holds becomes -1, which the MPI reports through the right error handler; where one is in an array,
the error is reported here. Arrays are copied. The copies of a nonblocking or persistent call live as long as its
request.
"""
import re

_PARAMETER = re.compile(r"(.*?)\s*(\w+)(\[\])?$")


def parameters(prototype):
    """(type, name) of each parameter of a C prototype; the type of an array ends in []."""
    inside = prototype[prototype.index("(") + 1:prototype.rindex(")")]
    if inside == "void":
        return []
    return [(m[1] + (m[3] or ""), m[2]) for m in (_PARAMETER.match(p.strip()) for p in inside.split(","))]


def _length(name, parameter):
    """How many elements of an array the MPI reads: a C++ expression."""
    side = parameter["name"]
    if parameter["root_only"]:
        return "calls::peers_at_root(root, comm)"
    if "eighbor" in name:
        return f"calls::neighbours(comm).{'out' if side.startswith('s') else 'in'}"
    if "educe_scatter" in name:
        return "calls::members(comm)"
    if side.startswith("s"):
        return "sendbuf == MPI_IN_PLACE ? 0 : calls::peers(comm)"
    return "calls::peers(comm)"


def forwarder(name, large, small, described):
    """The C++ function forward_NAME. `large`, `small`: the two prototypes; `described`: the standard's parameters."""
    if name == "MPI_Pack_size_c":  # its result is the large one
        words = ", ".join(word for _, word in parameters(large))
        return f"static {large.replace(name + '(', 'forward_' + name + '(', 1)} {{\n  return calls::large_pack_size({words});\n}}\n"
    described = {p["name"]: p for p in described}
    before, arguments, after, arrays = "", [], "", []
    for (large_type, argument), (small_type, _) in zip(parameters(large), parameters(small)):
        if large_type == small_type:
            arguments.append(argument)
        elif large_type.endswith("[]"):
            arrays.append(argument)
            before += f"  calls::Narrowed small_{argument}({argument}, {_length(name, described[argument])});\n"
            arguments.append(f"small_{argument}.data()")
        elif large_type.endswith("*"):
            if small_type == "int*":  # not every MPI refuses a negative position
                before += f"  if ({argument} && *{argument} > std::numeric_limits<int>::max()) return calls::too_large(comm);\n"
            before += f"  auto small_{argument} = {argument} ? calls::narrow<{small_type[:-1]}>(*{argument}) : {small_type[:-1]}{{0}};\n"
            after += f"  if (rc == MPI_SUCCESS && {argument}) *{argument} = small_{argument};\n"
            arguments.append(f"{argument} ? &small_{argument} : nullptr")
        elif argument in ("insize", "outsize"):  # of a buffer: more than fits is more than enough
            arguments.append(f"calls::clamp<{small_type}>({argument})")
        else:
            arguments.append(f"calls::narrow<{small_type}>({argument})")
    if arrays:
        lost = " || ".join(f"small_{a}.lost()" for a in arrays)
        before += f"  if ({lost}) return calls::too_large(comm);\n"
    if arrays and parameters(large)[-1][0] == "MPI_Request*":
        kept = ", ".join(f"std::move(small_{a})" for a in arrays)
        after += f"  if (rc == MPI_SUCCESS) calls::keep(*request, {'true' if '_init' in name else 'false'}, {kept});\n"
    return (f"static {large.replace(name + '(', 'forward_' + name + '(', 1)} {{\n{before}"
            f"  const int rc = hook_{name[:-2]}({', '.join(arguments)});\n{after}  return rc;\n}}\n")
