// What stands in a process' shared memory: the greeting, a mailbox, the operations that it offers, and their data.
//
// Written by this process unless it says otherwise. All processes of a job run the same version: its name is in the memory's.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "transport/ticket.hpp"

namespace dunnage::transport::shm {

/// A place where another rank asks to be let in.
struct Letter {
  enum State : std::uint32_t { none, asked, accepted, refused };
  /// By the other: some memory of its GPU, as the driver exports it, and what stands there. Who can read it can read all that is
  /// exported of that GPU.
  struct Proof {
    unsigned char memory[112];
    std::uint64_t value;
  };
  std::uint32_t process = 0;  // by the other: where its own memory is found
  std::uint32_t file = 0;
  std::atomic<std::uint32_t> state{none};
  std::atomic<std::uint32_t> scatters{0};  // by the other: what it receives from here goes to many places
  Proof proof{};
  std::atomic<std::uint32_t> gpu{none};
  /// Memory of the other's GPU that it passes to this process as a descriptor (shm/passing.hpp). What stands at a place stays there while it is
  /// asked about, and while an operation names it.
  struct Place {
    std::atomic<std::uint32_t> state{none};
    std::uint32_t unused = 0;
    std::uint64_t serial = 0;  // by the other, which uses none twice
  };
  static constexpr std::uint32_t places = 32;
  Place passed[places];
};

struct Slot {
  enum State : std::uint32_t { free, offered, claimed, done };
  enum Mover : std::uint32_t { nobody, receiver_gpu, sender_host };
  enum Packed : std::uint32_t { no, yes, failed };
  enum Kind : std::uint16_t { usual, brief, token };
  std::atomic<std::uint32_t> state{free};  // the receiver makes it claimed and done
  std::uint32_t receiver = 0;
  std::uint64_t serial = 0;
  std::int64_t size = 0;    // of the whole data
  std::uint64_t region = 0;  // where its chunks stand, from the beginning of the data
  std::int32_t tag = 0;
  std::atomic<std::uint32_t> packed{no};   // nothing more will be written
  std::atomic<std::uint64_t> written{0};   // chunks
  std::atomic<std::uint64_t> turned{0};    // the first chunk that is not in the ring, from which on each has a place of its own
  std::uint16_t gpu = 0;                   // whether the data are in a GPU's memory
  std::uint16_t kind = 0;                  // of the ticket
  std::atomic<std::uint32_t> mover{nobody};  // of these: whoever comes first
  alignas(64) std::atomic<std::uint64_t> read{0};  // by the receiver: chunks
  std::atomic<std::uint32_t> ready{0};     // of data in a GPU's memory: they can be read there
  std::uint64_t name = 0;                  // what a token says
};
static_assert(sizeof(Slot) == 128);

inline constexpr std::size_t head_size = 512;

struct Greeting {
  std::uint64_t magic = 0;
  std::uint32_t process = 0, rank = 0, ranks = 0;
  std::atomic<std::uint32_t> leaving{0};  // it receives nothing any more
  std::uint32_t brief = 0;                // it has looked at receives of the shorter tickets' lengths from the beginning
  std::atomic<std::uint32_t> post{0};     // whether it takes descriptors
  std::uint64_t post_name[2] = {};        // at this socket (shm/post.hpp)
  alignas(64) std::atomic<std::uint32_t> letters{0};  // by others: asked so far
  std::atomic<std::uint32_t> takes_tokens{0};  // it has looked at all receives so far, and none with room for a token was of host memory
  std::atomic<std::uint32_t> tokens{0};   // by others: under way to here, or about to be
  alignas(64) Slot slots[transport::slots];
  unsigned char heads[transport::slots][head_size] = {};  // of tokens: what a ticket would begin with
};

/// Data moves in chunks that the second cache holds with room for the user's; the ring is as many of them as let both sides work
/// at a time.
inline constexpr std::int64_t chunk = 64 << 10;
inline constexpr std::uint64_t ring = 16;

constexpr std::int64_t length_of(const Slot& slot, std::uint32_t index) {
  return slot.kind == Slot::token ? slot.size : (slot.kind == Slot::brief ? gpu_lengths : host_lengths).of(index);
}
constexpr std::int64_t carried(const Slot& slot, std::uint32_t index) { return slot.gpu ? 0 : transport::carried(index); }
/// The copy engine takes that long to begin that chunks are larger for it: by those of 1 MiB two H200s of one host moved 0.81 of what one long copy
/// moves, by those of 2 MiB 0.89. A ring takes this much of them in any case.
inline constexpr std::int64_t gpu_chunk = 1 << 20, large_gpu_chunk = 2 << 20, most_gpu_ring = 16 << 20;
constexpr std::int64_t chunk_of(const Slot& slot) { return !slot.gpu ? chunk : slot.size > most_gpu_ring ? large_gpu_chunk : gpu_chunk; }
/// Chunks of a ring.
constexpr std::uint64_t ring_of(const Slot& slot) { return slot.gpu ? static_cast<std::uint64_t>(most_gpu_ring / chunk_of(slot)) : ring; }
constexpr std::uint64_t chunks_of(const Slot& slot, std::uint32_t index) {
  return static_cast<std::uint64_t>((slot.size - carried(slot, index) + chunk_of(slot) - 1) / chunk_of(slot));
}
/// Where a chunk stands in its region.
constexpr std::int64_t place_of(const Slot& slot, std::uint64_t i, std::uint64_t turned) {
  return static_cast<std::int64_t>(i < turned ? i % ring_of(slot) : ring_of(slot) + (i - turned)) * chunk_of(slot);
}

constexpr std::size_t page = 4096;
constexpr std::size_t letters_begin() { return (sizeof(Greeting) + page - 1) / page * page; }
constexpr std::size_t data_begin(std::uint32_t ranks) { return (letters_begin() + ranks * sizeof(Letter) + page - 1) / page * page; }
/// Addresses for data; memory is only taken where something is written.
inline constexpr std::size_t data_size = std::size_t{64} << 30;
/// The second half of them is for data that come from a GPU's memory. The rings there are page-locked once they have been used.
inline constexpr std::size_t gpu_regions_begin = data_size / 2;
/// What a ring takes for data of that size, and the whole region.
constexpr std::size_t gpu_ring(std::int64_t size) {
  return std::bit_ceil(static_cast<std::size_t>(std::clamp<std::int64_t>(size, gpu_chunk, most_gpu_ring)));
}
constexpr std::size_t gpu_region(std::int64_t size) {
  const auto whole_ring = gpu_ring(std::numeric_limits<std::int64_t>::max());
  return size <= static_cast<std::int64_t>(whole_ring) ? gpu_ring(size) : whole_ring + std::bit_ceil(static_cast<std::size_t>(size));
}

}  // namespace dunnage::transport::shm
