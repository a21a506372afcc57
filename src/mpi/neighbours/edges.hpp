// The arguments of a neighbour collective as one buffer for each edge of the topology.
#pragma once

#include <vector>

#include "mpi/lines/edge_data.hpp"
#include "mpi/neighbours/neighbourhood.hpp"

namespace dunnage::mpi {

/// In the order of the neighbourhood's targets and sources. Data from this rank to itself that are
/// in their place already have one description for both.
struct Edges {
  std::vector<EdgeData> sends, receives;
  bool in_place = false;  // what is to be sent lies in the receive buffers
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
  edges.sends.reserve(hood.targets.size());
  edges.receives.reserve(hood.sources.size());
  for (std::size_t i = 0; i < hood.targets.size(); ++i) edges.sends.push_back(out(i));
  for (std::size_t i = 0; i < hood.sources.size(); ++i) edges.receives.push_back(in(i));
  return edges;
}

/// Whether a rank sends its data to all others alike, or to the root only.
bool gathers(Hook hook);

/// Of an alltoall in place: what `receive` says of a rank's data is true of those for it, too.
template <class In>
Edges swapped_edges(const Neighbourhood& hood, In&& receive) {
  auto edges = edges_by(hood, receive, receive);
  edges.in_place = true;
  return edges;
}

/// Of allgather and alltoall.
template <class Count>
Edges edges_of(const Neighbourhood& hood, Hook hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, Count recvcount, MPI_Datatype recvtype) {
  const MPI_Aint in = recvcount * extent_of(recvtype);
  const auto receive = [&](std::size_t i) { return EdgeData{beyond(recvbuf, MPI_Aint(i) * in), recvcount, recvtype}; };
  if (sendbuf == MPI_IN_PLACE && !gathers(hook)) return swapped_edges(hood, receive);
  if (sendbuf == MPI_IN_PLACE)
    return edges_by(
        hood, [&](std::size_t) { return receive(hood.loops.front().source); }, receive);
  const MPI_Aint out = gathers(hook) ? 0 : sendcount * extent_of(sendtype);
  return edges_by(
      hood,
      [&](std::size_t i) {
        return EdgeData{beyond(sendbuf, MPI_Aint(i) * out), sendcount, sendtype};
      },
      receive);
}

/// Of allgatherv.
template <class Count, class Place>
Edges edges_of(const Neighbourhood& hood, Hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, const Count* recvcounts, const Place* displs, MPI_Datatype recvtype) {
  const MPI_Aint unit = extent_of(recvtype);
  const auto receive = [&](std::size_t i) {
    return EdgeData{beyond(recvbuf, displs[i] * unit), recvcounts[i], recvtype};
  };
  const auto own =
      sendbuf == MPI_IN_PLACE ? receive(hood.loops.front().source) : EdgeData{sendbuf, sendcount, sendtype};
  return edges_by(
      hood, [&](std::size_t) { return own; }, receive);
}

/// Of alltoallv.
template <class Count, class Place>
Edges edges_of(const Neighbourhood& hood, Hook, const void* sendbuf, const Count* sendcounts, const Place* sdispls,
               MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts, const Place* rdispls,
               MPI_Datatype recvtype) {
  const MPI_Aint in = extent_of(recvtype);
  const auto receive = [&](std::size_t i) {
    return EdgeData{beyond(recvbuf, rdispls[i] * in), recvcounts[i], recvtype};
  };
  if (sendbuf == MPI_IN_PLACE) return swapped_edges(hood, receive);
  const MPI_Aint out = extent_of(sendtype);
  return edges_by(
      hood,
      [&](std::size_t i) {
        return EdgeData{beyond(sendbuf, sdispls[i] * out), sendcounts[i], sendtype};
      },
      receive);
}

/// Of alltoallw, whose places are in bytes.
template <class Count, class Place>
Edges edges_of(const Neighbourhood& hood, Hook, const void* sendbuf, const Count* sendcounts, const Place* sdispls,
               const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts, const Place* rdispls,
               const MPI_Datatype* recvtypes) {
  // MPICH takes a null type where there is nothing to send or to receive. Other ranks do not know
  // that, and would wait for a call that is left to the MPI.
  const auto data = [](const void* at, Count count, MPI_Datatype type) {
    return EdgeData{at, count, count == 0 && type == MPI_DATATYPE_NULL ? MPI_BYTE : type};
  };
  const auto receive = [&](std::size_t i) { return data(beyond(recvbuf, rdispls[i]), recvcounts[i], recvtypes[i]); };
  if (sendbuf == MPI_IN_PLACE) return swapped_edges(hood, receive);
  return edges_by(
      hood, [&](std::size_t i) { return data(beyond(sendbuf, sdispls[i]), sendcounts[i], sendtypes[i]); }, receive);
}

}  // namespace dunnage::mpi
