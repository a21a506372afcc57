// The layout of a rank's block of device memory, in which its peers tell it of an exchange.
//
// The block: a word by which others see that they have mapped the right memory, the epoch with a
// count of blocks behind it, the slots, tables of the slots of others, and the cells for stamped
// words. The slots: `ready` of each peer, `done` of each peer, a flag of each partition that
// comes, a flag of each partition that was sent, `open` of each peer and of this rank, and one
// that tells that the exchange is broken.
// Behind the flag of a partition that comes may lie a claim and cells (struct dng_stamp of
// dunnage_device.cuh).
#pragma once

#include "mpi/triggered/side.hpp"

namespace dunnage::mpi {

struct SlotBlock {
  std::shared_ptr<const device::Arena::Block> block;  // null if there is no memory that others reach
  std::uint64_t nonce = 0;                            // the first word of the block
  std::size_t count = 0, waited = 0;                  // slots, and those for which exchanges wait
  std::size_t broken = 0;                             // the place of the slot that only this rank writes
  std::uint64_t cells = 0;                            // for stamped words
  std::uint64_t cells_begin = 0;                      // bytes from the beginning of the block

  /// Bytes from the beginning of the block to a slot.
  static std::uint64_t offset(std::size_t place) { return (2 + place) * std::uint64_t{pack::cuda::slot_stride}; }
  std::uintptr_t at(std::size_t place) const { return static_cast<std::uintptr_t>(block->address) + offset(place); }
  std::uintptr_t tables() const { return at(count); }
  /// Bytes from the beginning of the block to a cell.
  std::uint64_t cell(std::uint64_t place) const { return cells_begin + place * sizeof(std::uint64_t); }
  std::uint64_t* epoch() const {
    return reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(block->address) + pack::cuda::slot_stride);
  }
  /// The word behind the epoch, in which the blocks of a kernel count themselves.
  static std::uint32_t* finished(std::uint64_t* epoch) { return reinterpret_cast<std::uint32_t*>(epoch + 1); }

  /// What tells slots of others the epoch. They stand in the tables too, from `place` on.
  /// `advance`: 1 if a new exchange begins.
  pack::cuda::Signal telling(const std::vector<std::uintptr_t>& targets, std::size_t place,
                             std::uint32_t advance) const;
  /// What waits for slots of this rank.
  pack::cuda::Signal waiting(std::size_t first, std::size_t number) const;
};

/// Takes the memory of a block with `made.cells` cells, and gives every peer, and `own` for
/// messages of this rank to itself, the places of its slots. Throws device::Error.
void make_slot_block(const device::Driver& driver, device::Gpu& gpu, MatchSides& sides, MatchSide& own,
                     SlotBlock& made);

/// Gives slots an epoch so great that nobody ever waits for them. Throws device::Error.
void retire_slots(const device::Driver& driver, device::Gpu& gpu, std::uintptr_t first, std::uint64_t count);

}  // namespace dunnage::mpi
