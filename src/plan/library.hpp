// Which MPI library this is, and what it does otherwise than the standard or than others do.
//
// The ABI does not tell: libmpi.so.12 may be MPICH's or Intel's, libmpi.so.40 Open MPI 4 or 5. The text of
// MPI_Get_library_version does. Everything here is a pure function of that text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dunnage::plan {

/// An MPI library, as its version text names it. What is not known is `other`, of version 0.0.
struct Library {
  enum class Kind { open_mpi, mpich, intel, other };
  Kind kind = Kind::other;
  int major = 0, minor = 0;  // of MPICH where the library is derived from one and says so
  bool operator==(const Library&) const = default;
};

Library identify(std::string_view version);

/// "Open MPI", "MPICH", "Intel MPI", "other".
std::string_view name_of(Library::Kind kind);
std::string describe(const Library& library);  // "Open MPI 4.1"
/// The kind of that name, or nothing.
std::optional<Library::Kind> kind_of(std::string_view name);

/// Datatypes that a library packs in an order of its own (type/quirks.hpp says which these are).
struct OwnOrder {
  bool stride_of_minus_one = false, empty_struct_member = false, negative_extent = false, zero_extent = false,
       stride_of_blocklength = false, cyclic_blocks = false, large_elements_off_grid = false;
};

struct Behaviour {
  OwnOrder own_order;
  /// A type may end otherwise than through MPI_Type_free or PMPI_Type_free.
  bool frees_types_unseen = false;
  /// A long message of bytes that is received into a type of mixed elements ends in a truncation.
  bool truncates_bytes_into_mixed = false;
};

Behaviour behaviour_of(const Library& library);

}  // namespace dunnage::plan
