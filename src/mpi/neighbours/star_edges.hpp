// The arguments of a collective with a root as one buffer for each edge between the root and a
// rank.
#pragma once

#include "mpi/neighbours/edges.hpp"

namespace dunnage::mpi {

/// `own`: the data of this rank. `blocks`, `type`, `count`, `place`: the root has count(i) elements
/// for rank i, place(i) bytes behind `blocks`. Beside the root these mean nothing, and are not
/// looked at. `to_root`: the root gets the data.
template <class CountOf, class PlaceOf>
Edges star_edges(const Neighbourhood& star, bool to_root, EdgeData own, const void* blocks, MPI_Datatype type,
                 CountOf&& count, PlaceOf&& place) {
  const bool at_root = !star.loops.empty();
  const bool in_place = own.buffer == MPI_IN_PLACE;
  const auto block = [&](std::size_t i) { return EdgeData{beyond(blocks, place(i)), count(i), type}; };
  if (in_place) own = {blocks, 0, at_root ? type : MPI_DATATYPE_NULL};  // the MPI is to refuse it beside the root
  const auto own_edge = [&](std::size_t) { return own; };
  auto edges = to_root ? edges_by(star, own_edge, block) : edges_by(star, block, own_edge);
  if (!in_place) return edges;
  for (const auto& loop : star.loops) edges.sends[loop.target].count = edges.receives[loop.source].count = 0;
  return edges;
}

/// Of gather and scatter.
template <class Count>
Edges edges_of(const Neighbourhood& star, Hook hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, Count recvcount, MPI_Datatype recvtype, int) {
  const EdgeData sent{sendbuf, sendcount, sendtype}, received{recvbuf, recvcount, recvtype};
  const bool to_root = gathers(hook);
  const auto &own = to_root ? sent : received, &block = to_root ? received : sent;
  const MPI_Aint step = star.loops.empty() ? 0 : static_cast<MPI_Aint>(block.count) * extent_of(block.type);
  return star_edges(
      star, to_root, own, block.buffer, block.type, [&](std::size_t) { return block.count; },
      [&](std::size_t i) { return MPI_Aint(i) * step; });
}

/// Of gatherv.
template <class Count, class Place>
Edges edges_of(const Neighbourhood& star, Hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
               void* recvbuf, const Count* recvcounts, const Place* displs, MPI_Datatype recvtype, int) {
  const MPI_Aint unit = star.loops.empty() ? 0 : extent_of(recvtype);
  return star_edges(
      star, true, {sendbuf, sendcount, sendtype}, recvbuf, recvtype, [&](std::size_t i) { return recvcounts[i]; },
      [&](std::size_t i) { return displs[i] * unit; });
}

/// Of scatterv.
template <class Count, class Place>
Edges edges_of(const Neighbourhood& star, Hook, const void* sendbuf, const Count* sendcounts, const Place* displs,
               MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, int) {
  const MPI_Aint unit = star.loops.empty() ? 0 : extent_of(sendtype);
  return star_edges(
      star, false, {recvbuf, recvcount, recvtype}, sendbuf, sendtype, [&](std::size_t i) { return sendcounts[i]; },
      [&](std::size_t i) { return displs[i] * unit; });
}

}  // namespace dunnage::mpi
