"""Makes large-count functions for an MPI that has only the functions with int counts.

Each forwards to the function with int counts. If a count does not fit in an int, it becomes -1, and
the MPI reports the error through the right error handler. If such a count is in an array, the error
is reported here. Arrays are copied. The copies of a nonblocking or persistent call live as long as
its request.
"""
import re

_PARAMETER = re.compile(r"(.*?)\s*(\w+)(\[\])?$")


def parameters(prototype):
    """Returns (type, name) for each parameter of a C prototype. The type of an array ends in []."""
    inside = prototype[prototype.index("(") + 1:prototype.rindex(")")]
    if inside == "void":
        return []
    return [(m[1] + (m[3] or ""), m[2]) for m in (_PARAMETER.match(p.strip()) for p in inside.split(","))]


def _length(name, parameter):
    """Returns a C++ expression for the number of elements of an array that the MPI reads."""
    side = parameter["name"]
    if parameter["root_only"]:
        return "mpi::peers_at_root(root, comm)"
    if "eighbor" in name:
        return f"mpi::neighbours(comm).{'out' if side.startswith('s') else 'in'}"
    if "educe_scatter" in name:
        return "mpi::members(comm)"
    if side.startswith("s"):
        return "sendbuf == MPI_IN_PLACE ? 0 : mpi::peers(comm)"
    return "mpi::peers(comm)"


def forwarder(name, large, small, described, begin=""):
    """Returns the C++ function forward_NAME.

    `large` and `small` are the two prototypes, and `described` is the standard's description of the
    parameters. `begin`: statements that come first.
    """
    if name == "MPI_Pack_size_c":  # the result is a large count
        words = ", ".join(word for _, word in parameters(large))
        return (f"static {large.replace(name + '(', 'forward_' + name + '(', 1)} {{\n"
                f"  return mpi::large_pack_size({words});\n}}\n")
    described = {p["name"]: p for p in described}
    before, arguments, after, arrays = begin, [], "", []
    for (large_type, argument), (small_type, _) in zip(parameters(large), parameters(small)):
        if large_type == small_type:
            arguments.append(argument)
        elif large_type.endswith("[]"):
            arrays.append(argument)
            before += f"  mpi::Narrowed small_{argument}({argument}, {_length(name, described[argument])});\n"
            arguments.append(f"small_{argument}.data()")
        elif large_type.endswith("*"):
            reads = described[argument]["param_direction"] != "out"
            if reads and small_type == "int*":  # some MPIs accept a negative position
                before += (f"  if ({argument} && *{argument} > std::numeric_limits<int>::max())"
                           " return mpi::too_large(comm);\n")
            narrow = small_type[:-1]
            value = f"{argument} ? mpi::narrow<{narrow}>(*{argument}) : {narrow}{{0}}" if reads else f"{narrow}{{0}}"
            before += f"  auto small_{argument} = {value};\n"
            after += f"  if (rc == MPI_SUCCESS && {argument}) *{argument} = small_{argument};\n"
            arguments.append(f"{argument} ? &small_{argument} : nullptr")
        # The size of a buffer: it may be larger than an int, and the call needs no more than an int
        # holds.
        elif argument in ("insize", "outsize"):
            arguments.append(f"mpi::clamp<{small_type}>({argument})")
        else:
            arguments.append(f"mpi::narrow<{small_type}>({argument})")
    if arrays:
        lost = " || ".join(f"small_{a}.lost()" for a in arrays)
        before += f"  if ({lost}) return mpi::too_large(comm);\n"
    if arrays and parameters(large)[-1][0] == "MPI_Request*":
        kept = ", ".join(f"std::move(small_{a})" for a in arrays)
        after += f"  if (rc == MPI_SUCCESS) mpi::keep(*request, {'true' if '_init' in name else 'false'}, {kept});\n"
    return (f"static {large.replace(name + '(', 'forward_' + name + '(', 1)} {{\n{before}"
            f"  const int rc = hook_{name[:-2]}({', '.join(arguments)});\n{after}  return rc;\n}}\n")
