#!/usr/bin/env python3
"""Looks in the headers of src/ and sim/ for names of the standard library without their header.

check_includes.py [--root FOLDER]     reports each such name with its place; fails if there is one

A name's header may be included by another header that the file includes. The target header_checks
finds what else is missing, but it compiles the headers of src/mpi after a precompiled header that
brings most of the standard library.
"""
import argparse
import pathlib
import re
import sys

from check_layers import COMMENT, INCLUDE

HEADERS = {
    "algorithm": "all_of any_of clamp copy fill max min",
    "array": "array",
    "atomic": "atomic atomic_thread_fence memory_order_acq_rel memory_order_acquire memory_order_relaxed "
    "memory_order_release",
    "bit": "bit_cast bit_ceil bit_floor bit_width countr_zero endian has_single_bit rotl",
    "barrier": "barrier",
    "bitset": "bitset",
    "chrono": "chrono",
    "condition_variable": "condition_variable",
    "cstddef": "byte size_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "cstdio": "fputs",
    "cstdlib": "getenv",
    "cstring": "memcpy",
    "deque": "deque",
    "exception": "exception",
    "filesystem": "filesystem",
    "functional": "function less",
    "initializer_list": "initializer_list",
    "iterator": "prev ssize",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map",
    "memory": "addressof enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "memory_resource": "pmr",
    "mutex": "call_once lock_guard mutex once_flag unique_lock",
    "new": "bad_alloc",
    "optional": "nullopt optional",
    "random": "minstd_rand mt19937_64",
    "ratio": "nano",
    "semaphore": "counting_semaphore",
    "set": "set",
    "span": "span",
    "stdexcept": "runtime_error",
    "string": "char_traits string",
    "string_view": "string_view",
    "system_error": "system_error",
    "thread": "this_thread thread",
    "tuple": "tie tuple",
    "type_traits": "conditional_t has_unique_object_representations_v integral_constant invoke_result_t is_pointer_v "
    "is_same_v is_trivially_copyable_v is_unsigned_v is_void_v remove_cvref_t remove_reference_t",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange forward get index_sequence make_index_sequence move pair swap",
    "variant": "variant",
    "vector": "erase_if vector",
}
# What the standard says that a header also brings, where we rely on it.
ALSO = {
    "chrono": ["ratio"],
    "cstring": ["cstddef"],
    "stdexcept": ["string"],
    "string": ["initializer_list"],
    "vector": ["initializer_list"],
    "map": ["initializer_list"],
}
ANYWHERE = {  # declared by more headers than one
    "size_t": {"cstdint", "cstdio", "cstdlib", "cstring", "ctime", "array", "span", "string", "string_view", "vector"},
    "get": {"array", "tuple", "variant"},
    "less": {"map", "set"},
    "prev": {"array", "deque", "list", "map", "set", "span", "string", "vector"},
    "erase_if": {"deque", "list", "map", "set", "unordered_map"},
    "exception": {"stdexcept", "system_error", "new"},
}
PLACES = {name: {header} for header, names in HEADERS.items() for name in names.split()}
for name, others in ANYWHERE.items():
    PLACES[name] |= others
NAME = re.compile(r"\bstd::([a-z_0-9]+)")


def without_comments(path):
    """The text of a file, every line at its old number. check_layers.without_comments leaves some
    comments where they are, and names in comments must not count here."""
    return COMMENT.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())


class Tree:
    def __init__(self, root):
        self.root = root
        self.folders = [root / "src", root, root / "include"]
        self.known = {}

    def brings(self, path):
        """The headers of the standard library that a file includes, itself or by others."""
        if path in self.known:
            return self.known[path]
        found = self.known[path] = set()  # before those it includes: they may include it
        for bracket, name in INCLUDE.findall(without_comments(path)):
            if bracket == "<":
                found |= {name, *ALSO.get(name, [])}
            for target in (folder / name for folder in [*self.folders, path.parent] if bracket == '"'):
                if target.exists():
                    found |= self.brings(target)
                    break
        return found

    def violations(self):
        for path in sorted([*self.root.glob("src/**/*.hpp"), *self.root.glob("sim/**/*.hpp")]):
            brought, told = self.brings(path), set()
            for number, line in enumerate(without_comments(path).splitlines(), 1):
                for name in NAME.findall(line):
                    places = PLACES.get(name)
                    if name in told or (places and places & brought):
                        continue
                    told.add(name)
                    what = "add it to HEADERS in scripts/check_includes.py"
                    if places:
                        what = f"include <{sorted(places)[0]}>"
                    yield f"{path.relative_to(self.root)}:{number}: std::{name}: {what}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    found = list(Tree(parser.parse_args().root).violations())
    print("\n".join(found) if found else "check_includes: nothing found")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
