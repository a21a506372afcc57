// What a block of a reduction's kernel does in a handshake (reduction.hpp).
#pragma once

#include "pack/cuda/reduction.hpp"
#include "pack/cuda/signal.hpp"

namespace dunnage::pack::cuda {

/// Bytes of a rank's slots.
inline constexpr std::uint64_t handshake_bytes =
    std::uint64_t{Handshake::most_blocks} * Handshake::most_ranks * sizeof(std::uint64_t);

/// From the first slot to that of a block and a rank, in bytes.
DUNNAGE_HD std::uint64_t slot_offset(std::uint64_t block, std::uint32_t rank) {
  return (block * Handshake::most_ranks + rank) * sizeof(std::uint64_t);
}

/// Tells a rank that the block has read its elements. `reach` gives the address of a slot.
template <class Reach>
DUNNAGE_HD void tell_block(const Handshake& h, std::uint64_t block, std::uint32_t rank, Reach reach) {
  store_release(reach(h.put[rank] + slot_offset(block, 0)), h.number);
}

/// Whether a rank has told the block.
DUNNAGE_HD bool block_told(const Handshake& h, std::uint64_t block, std::uint32_t rank) {
  const auto* slot = reinterpret_cast<const std::uint64_t*>(h.slots + slot_offset(block, rank));
  return static_cast<std::int64_t>(load_acquire(slot) - h.number) >= 0;
}

}  // namespace dunnage::pack::cuda
