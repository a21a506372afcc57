// The arguments of a neighbour collective as one buffer for each edge of the topology.
#pragma once

#include <vector>

#include "mpi/neighbours/neighbourhood.hpp"

namespace dunnage::mpi {

/// What goes along one edge, or comes.
struct EdgeData {
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;
};

/// In the order of the neighbourhood's targets and sources.
struct Edges {
  std::vector<EdgeData> sends, receives;
};

/// Bytes from one element to the next. 0 if the type has none, which the MPI is to refuse.
MPI_Aint extent_of(MPI_Datatype type);

/// Addresses may be MPI_BOTTOM plus a displacement, which is no offset into an object.
inline const void* beyond(const void* base, MPI_Aint bytes) {
  return reinterpret_cast<const void*>(reinterpret_cast<MPI_Aint>(base) + bytes);
}

template <class Out, class In>
Edges edges_by(const Neighbourhood& hood, Out&& out, In&& in) {
  Edges edges;
  for (std::size_t i = 0; i < hood.targets.size(); ++i) edges.sends.push_back(out(i));
  for (std::size_t i = 0; i < hood.sources.size(); ++i) edges.receives.push_back(in(i));
  return edges;
}

constexpr bool gathers(Hook hook) {
  switch (hook) {
    case Hook::MPI_Neighbor_allgather:
    case Hook::MPI_Neighbor_allgather_c:
    case Hook::MPI_Ineighbor_allgather:
    case Hook::MPI_Ineighbor_allgather_c:
    case Hook::MPI_Neighbor_allgather_init:
    case Hook::MPI_Neighbor_allgather_init_c: return true;
    default: return false;
  }
}

/// Of allgather and alltoall.
template <class Count>
Edges edges_of(const Neighbourhood& hood, Hook hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, Count recvcount, MPI_Datatype recvtype) {
  const MPI_Aint out = gathers(hook) ? 0 : sendcount * extent_of(sendtype);
  const MPI_Aint in = recvcount * extent_of(recvtype);
  return edges_by(
      hood,
      [&](std::size_t i) {
        return EdgeData{beyond(sendbuf, MPI_Aint(i) * out), sendcount, sendtype};
      },
      [&](std::size_t i) {
        return EdgeData{beyond(recvbuf, MPI_Aint(i) * in), recvcount, recvtype};
      });
}

/// Of allgatherv.
template <class Count, class Place>
Edges edges_of(const Neighbourhood& hood, Hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, const Count* recvcounts, const Place* displs, MPI_Datatype recvtype) {
  const MPI_Aint unit = extent_of(recvtype);
  return edges_by(
      hood,
      [&](std::size_t) {
        return EdgeData{sendbuf, sendcount, sendtype};
      },
      [&](std::size_t i) {
        return EdgeData{beyond(recvbuf, displs[i] * unit), recvcounts[i], recvtype};
      });
}

/// Of alltoallv.
template <class Count, class Place>
Edges edges_of(const Neighbourhood& hood, Hook, const void* sendbuf, const Count* sendcounts, const Place* sdispls,
               MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts, const Place* rdispls,
               MPI_Datatype recvtype) {
  const MPI_Aint out = extent_of(sendtype), in = extent_of(recvtype);
  return edges_by(
      hood,
      [&](std::size_t i) {
        return EdgeData{beyond(sendbuf, sdispls[i] * out), sendcounts[i], sendtype};
      },
      [&](std::size_t i) {
        return EdgeData{beyond(recvbuf, rdispls[i] * in), recvcounts[i], recvtype};
      });
}

/// Of alltoallw.
template <class Count>
Edges edges_of(const Neighbourhood& hood, Hook, const void* sendbuf, const Count* sendcounts, const MPI_Aint* sdispls,
               const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts, const MPI_Aint* rdispls,
               const MPI_Datatype* recvtypes) {
  return edges_by(
      hood,
      [&](std::size_t i) {
        return EdgeData{beyond(sendbuf, sdispls[i]), sendcounts[i], sendtypes[i]};
      },
      [&](std::size_t i) {
        return EdgeData{beyond(recvbuf, rdispls[i]), recvcounts[i], recvtypes[i]};
      });
}

}  // namespace dunnage::mpi
