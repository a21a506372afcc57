#include "plan/library.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace dunnage::plan {
namespace {

using Kind = Library::Kind;

/// How a version text names a library, and the text that stands before the version number.
struct Name {
  std::string_view name, before;
  Kind kind;
};

constexpr Name names[] = {
    {"Open MPI", "Open MPI v", Kind::open_mpi}, {"Intel(R) MPI", "Library ", Kind::intel},
    {"CRAY MPICH", "(ANL base ", Kind::mpich},  {"MVAPICH", "", Kind::other},
    {"MPICH", "MPICH Version:", Kind::mpich},
};

// indexed by Kind
constexpr std::string_view kind_names[] = {"Open MPI", "MPICH", "Intel MPI", "other"};

/// Returns the number at the beginning of `text`. Removes the number and a point behind it from
/// `text`.
int take_number(std::string_view& text) {
  int number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return number;
}

/// The facts below were found by tests/mpi/c/quirks.cpp and the contract programs, in the versions
/// that docs/reference/limits.md names. An untested version is taken for the tested version before
/// it. An unknown library is taken to have all defects.
Behaviour open_mpi(int major) {
  Behaviour b;
  b.own_order.stride_of_minus_one = true;
  b.own_order.empty_struct_member = true;
  b.own_order.large_elements_off_grid = major >= 5;
  b.tells_truncated_length = true;
  b.takes_graphs_for_cartesian = major >= 5;
  b.frees_types_unseen = true;  // a component of Open MPI may free a type with an internal function
  return b;
}

/// MPICH's Fortran calls the C functions, so every type is seen to end. An attribute would not do.
/// MPICH 4.0 drops its lock around the callback, even in the middle of its progress engine, where
/// another thread can then interfere.
Behaviour mpich(int major) {
  Behaviour b;
  b.own_order.negative_extent = true;
  b.truncates_bytes_into_mixed = major < 5;
  b.handled_is_success = b.asking_ends_persistent = major >= 5;
  b.single_calls = major >= 5 ? Behaviour::Raises::on_its_own : Behaviour::Raises::on_world;
  b.array_calls = b.mrecv = major >= 5 ? Behaviour::Raises::on_self : Behaviour::Raises::on_world;
  return b;
}

Behaviour intel() {
  Behaviour b;
  b.own_order.zero_extent = b.own_order.stride_of_blocklength = b.own_order.cyclic_blocks = true;
  b.single_calls = b.array_calls = b.mrecv = Behaviour::Raises::on_world;
  b.asking_ends_persistent = b.loses_comm_of_sends = true;
  return b;
}

Behaviour other() {
  return {.own_order = {true, true, true, true, true, true, true},
          .truncates_bytes_into_mixed = true,
          .takes_graphs_for_cartesian = true,
          .asking_ends_persistent = true,
          .loses_comm_of_sends = true};
}

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
