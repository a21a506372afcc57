#include "plan/library.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace dunnage::plan {
namespace {

using Kind = Library::Kind;

/// How a library names itself, and what stands before its version.
struct Name {
  std::string_view name, before;
  Kind kind;
};

constexpr Name names[] = {
    {"Open MPI", "Open MPI v", Kind::open_mpi},
    {"Intel(R) MPI", "Library ", Kind::intel},
    {"CRAY MPICH", "(ANL base ", Kind::mpich},
    {"MVAPICH", "", Kind::other},
    {"MPICH", "MPICH Version:", Kind::mpich},
};

constexpr std::string_view kind_names[] = {"Open MPI", "MPICH", "Intel MPI", "other"};  // by Kind

/// The number at the beginning of `text`, which is cut off, with the point behind it.
int take_number(std::string_view& text) {
  int number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return number;
}

/// The facts, as tests/mpi/c/quirks.cpp and the contract programs find them in the versions that docs/reference/limits.md
/// names. A version that nobody has looked at is taken for the one before it, a library for one with the defects of all.
Behaviour open_mpi(int major) {
  Behaviour b;
  b.own_order.stride_of_minus_one = true;
  b.own_order.empty_struct_member = true;
  b.own_order.large_elements_off_grid = major >= 5;
  b.frees_types_unseen = true;  // a component of it may free one by a function inside
  return b;
}

/// Its Fortran goes through the C functions. (An attribute would not do: MPICH 4.0 drops its lock around the callback
/// even in the middle of its progress engine, where another thread then trips over it.)
Behaviour mpich(int major) {
  Behaviour b;
  b.own_order.negative_extent = true;
  b.truncates_bytes_into_mixed = major < 5;
  return b;
}

Behaviour intel() {
  Behaviour b;
  b.own_order.zero_extent = b.own_order.stride_of_blocklength = b.own_order.cyclic_blocks = true;
  return b;
}

Behaviour other() { return {.own_order = {true, true, true, true, true, true, true}, .truncates_bytes_into_mixed = true}; }

}  // namespace

Library identify(std::string_view version) {
  for (const auto& [name, before, kind] : names) {
    if (version.find(name) == version.npos) continue;
    Library library{kind};
    if (const auto at = version.find(before); !before.empty() && at != version.npos) {
      auto text = version.substr(at + before.size());
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      library.major = take_number(text);
      library.minor = take_number(text);
    }
    return library;
  }
  return {};
}

std::string_view name_of(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::string describe(const Library& library) {
  return fmt::format("{} {}.{}", name_of(library.kind), library.major, library.minor);
}

std::optional<Kind> kind_of(std::string_view name) {
  const auto found = std::find(std::begin(kind_names), std::end(kind_names), name);
  if (found == std::end(kind_names)) return std::nullopt;
  return static_cast<Kind>(found - std::begin(kind_names));
}

Behaviour behaviour_of(const Library& library) {
  switch (library.kind) {
    case Kind::open_mpi: return open_mpi(library.major);
    case Kind::mpich: return mpich(library.major);
    case Kind::intel: return intel();
    case Kind::other: break;
  }
  return other();
}

}  // namespace dunnage::plan
