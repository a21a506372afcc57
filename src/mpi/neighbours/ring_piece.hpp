// How data go through rings.
#pragma once

#include <cstdint>

namespace dunnage::mpi {

/// After so many bytes the other rank is told: so it reads while this rank writes, and writes while
/// this rank reads.
inline constexpr std::int64_t ring_piece = 32 << 10;

/// What the receiver is told in place of the size of data that come as a message beside the ring.
/// Called again, returns the size.
constexpr std::int64_t by_message(std::int64_t size) { return -size; }

}  // namespace dunnage::mpi
