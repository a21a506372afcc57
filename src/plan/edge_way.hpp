// How the data along one edge of a neighbour collective in host memory travel within a host.
#pragma once

#include <cstdint>
#include <limits>

namespace dunnage::plan {

enum class EdgeWay { ring, message };

/// The sender chooses. Data in one piece gain nothing by being packed, and from this length on an
/// MPI copies them once, from the one process to the other. A ring copies them twice. Found on an
/// AMD EPYC with Open MPI 4.1 and MPICH 4.0.
inline constexpr std::int64_t edge_message = 16 << 10;

/// `contiguous`: the sender's data lie in one piece.
constexpr EdgeWay edge_way(bool contiguous, std::int64_t bytes) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();  // of one message
  return contiguous && bytes >= edge_message && bytes <= most ? EdgeWay::message : EdgeWay::ring;
}

}  // namespace dunnage::plan
