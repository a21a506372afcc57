// The kernels by which a stream sends a partition. They do what include/dunnage_device.cuh does for
// the program's own kernels.
#pragma once

#include <cstdint>

#include "dunnage_device.cuh"

namespace dunnage::pack::cuda {

/// The parameter of the kernels `pready` (one block: waits for the receiver, moves, tells it),
/// `partition` (any number of blocks: only moves), and `wait_exchange` (one warp: waits for all of
/// the exchange, whose partitions may be stamped).
struct PartitionCall {
  DNG_Device exchange = nullptr;
  std::uint32_t request = 0, partition = 0;
};

/// Partitions of at most so many bytes are moved by one block.
inline constexpr std::int64_t most_of_one_block = 64 << 10;

}  // namespace dunnage::pack::cuda
