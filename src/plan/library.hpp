// Which MPI library this is, and where it differs from the standard or from other MPIs.
//
// The ABI does not identify the library: libmpi.so.12 may be MPICH's or Intel's, and libmpi.so.40
// may be Open MPI 4 or 5. The text of MPI_Get_library_version identifies it. Everything here is a
// pure function of that text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dunnage::plan {

/// An MPI library, as its version text names it. An unknown library is `other`, version 0.0.
struct Library {
  enum class Kind { open_mpi, mpich, intel, other };
  Kind kind = Kind::other;
  // if the library is derived from MPICH and says so, the version of that MPICH
  int major = 0, minor = 0;
  bool operator==(const Library&) const = default;
};

/// Returns the library that a version text names.
Library identify(std::string_view version);

/// Returns "Open MPI", "MPICH", "Intel MPI" or "other".
std::string_view name_of(Library::Kind kind);
/// Returns the name and version, for example "Open MPI 4.1".
std::string describe(const Library& library);
/// Returns the kind of that name, or nothing if no kind has it.
std::optional<Library::Kind> kind_of(std::string_view name);

/// Which datatypes a library packs in an order that is not the standard's. type/quirks.hpp
/// describes them.
struct OwnOrder {
  bool stride_of_minus_one = false, empty_struct_member = false, negative_extent = false, zero_extent = false,
       stride_of_blocklength = false, cyclic_blocks = false, large_elements_off_grid = false;
};

struct Behaviour {
  OwnOrder own_order;
  /// A type may end in another way than through MPI_Type_free or PMPI_Type_free.
  bool frees_types_unseen = false;
  /// If a long message of bytes is received into a type of mixed elements, the MPI reports a
  /// truncation.
  bool truncates_bytes_into_mixed = false;
  /// If an error handler of the program returns, a call that receives or completes one message
  /// returns MPI_SUCCESS.
  bool handled_is_success = false;
  /// On which communicator a call that completes requests, or receives a message that a probe has
  /// matched, raises the error of a message.
  enum class Raises { on_its_own, on_world, on_self };
  Raises single_calls = Raises::on_its_own;  // MPI_Wait, MPI_Test
  Raises array_calls = Raises::on_its_own;   // those that take an array of requests
  Raises mrecv = Raises::on_its_own;         // MPI_Mrecv
  /// If the MPI truncates a message, the status tells how long the message is. Codes of errors are
  /// classes.
  bool tells_truncated_length = false;
  /// MPI_Topo_test takes a distributed graph that was made from a Cartesian communicator for a
  /// Cartesian one, and MPI_Cartdim_get of it ends the program.
  bool takes_graphs_for_cartesian = false;
  /// MPI_Request_get_status ends a persistent request that is complete: MPI_Waitany and its kin
  /// then take it for inactive.
  bool asking_ends_persistent = false;
  /// A program ends whose synchronous send is under way when its communicator is freed.
  bool loses_comm_of_sends = false;
};

Behaviour behaviour_of(const Library& library);

}  // namespace dunnage::plan
