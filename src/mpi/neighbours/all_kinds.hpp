// What all ranks of a communicator know of a collective call, each from its own arguments. The
// functions take the arguments of a call that describe its buffers.
#pragma once

#include <bit>

#include "mpi/neighbours/edges.hpp"

namespace dunnage::mpi {

struct AllKind {
  enum class Collective : std::uint64_t {
    none,  // not to be done by Dunnage
    alltoall,
    alltoallv,
    alltoallw,
    alltoall_in_place,
    alltoallv_in_place,
    alltoallw_in_place,
    allgather,
    allgatherv,
    gather,
    gatherv,
    scatter,
    scatterv
  };
  static constexpr int no_root = -1;
  static constexpr std::uint64_t more_than_widths = 128;

  Collective collective = Collective::none;
  std::uint64_t width = 0;  // of the bytes that a rank has for another, if all ranks know them
  int root = no_root;

  bool has_root() const { return collective >= Collective::gather; }
  /// Different for kinds and sizes that the ranks decide about apart.
  std::uint64_t number() const { return static_cast<std::uint64_t>(collective) * more_than_widths + width; }
  static std::uint64_t width_of_number(std::uint64_t number) { return number % more_than_widths; }
  /// Whether all calls of a kind have about as many bytes.
  static bool has_width(std::uint64_t number) { return width_of_number(number) > 0; }
};

inline std::uint64_t width_of(std::int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (type != MPI_DATATYPE_NULL && process->own.Type_size_x(type, &size) != MPI_SUCCESS) size = 0;
  return static_cast<std::uint64_t>(
      std::bit_width(static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size)));
}

/// Of allgather and alltoall.
template <class Count>
AllKind kind_of(Hook hook, const void* sendbuf, Count, MPI_Datatype, void*, Count recvcount, MPI_Datatype recvtype) {
  if (gathers(hook)) return {AllKind::Collective::allgather, width_of(recvcount, recvtype)};
  return {sendbuf == MPI_IN_PLACE ? AllKind::Collective::alltoall_in_place : AllKind::Collective::alltoall,
          width_of(recvcount, recvtype)};
}

/// Of allgatherv.
template <class Count, class Place>
AllKind kind_of(Hook, const void*, Count, MPI_Datatype, void*, const Count*, const Place*, MPI_Datatype) {
  return {AllKind::Collective::allgatherv};
}

/// Of alltoallv and alltoallw.
template <class Count, class Place, class Type>
AllKind kind_of(Hook, const void* sendbuf, const Count*, const Place*, Type, void*, const Count*, const Place*, Type) {
  using Collective = AllKind::Collective;
  const bool in_place = sendbuf == MPI_IN_PLACE;  // on all ranks alike
  if constexpr (std::is_same_v<Type, MPI_Datatype>)
    return {in_place ? Collective::alltoallv_in_place : Collective::alltoallv};
  return {in_place ? Collective::alltoallw_in_place : Collective::alltoallw};
}

/// Of gather and scatter. Only the root knows both sizes, which are equal.
template <class Count>
AllKind kind_of(Hook hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                MPI_Datatype recvtype, int root) {
  const bool sent = gathers(hook) ? sendbuf != MPI_IN_PLACE : recvbuf == MPI_IN_PLACE;
  return {gathers(hook) ? AllKind::Collective::gather : AllKind::Collective::scatter,
          sent ? width_of(sendcount, sendtype) : width_of(recvcount, recvtype), root};
}

/// Of gatherv.
template <class Count, class Place>
AllKind kind_of(Hook, const void*, Count, MPI_Datatype, void*, const Count*, const Place*, MPI_Datatype, int root) {
  return {AllKind::Collective::gatherv, 0, root};
}

/// Of scatterv.
template <class Count, class Place>
AllKind kind_of(Hook, const void*, const Count*, const Place*, MPI_Datatype, void*, Count, MPI_Datatype, int root) {
  return {AllKind::Collective::scatterv, 0, root};
}

}  // namespace dunnage::mpi
