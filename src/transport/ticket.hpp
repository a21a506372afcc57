// The ticket: a message of a few KiB that travels through the MPI in place of a large one, matches in its place, and tells where
// the rest of the data is.
//
// Its first bytes are the first bytes of the data, where the receiver wants them; its last ones are the Ticket. What makes a
// message a ticket is its length, one of some that stand for as many operations under way, and the Ticket, which must name
// an operation that its sender still offers to this receiver (shm/world.hpp).
//
// The ticket of data in a GPU's memory carries none of them, which would take longer than all the rest, and is shorter.
#pragma once

#include <cstdint>

namespace dunnage::transport {

struct Ticket {
  std::uint64_t magic;
  std::uint64_t serial;  // of the operation; no two of a process have the same
  std::int64_t size;     // bytes of the whole data
  std::uint32_t sender, receiver;  // ranks of MPI_COMM_WORLD
  std::uint32_t slot;
  std::uint32_t way;     // by which the data travels
  std::uint64_t job[2];  // chance, the same for all of a job; only where the sender's operation cannot be looked up
  std::uint64_t piece;   // bytes of each piece

  enum Way : std::uint32_t { shared_memory, pieces, gpu };
  static constexpr std::uint64_t known_magic = 0x35'74'65'6b'63'69'74'64;  // "dticket5", the version of the protocol
};
static_assert(sizeof(Ticket) == 64);

/// The lengths that tickets of one kind have, one for each slot: a whole number of elements of every basic type, since MPICH 4 and
/// Intel MPI take less for an error.
inline constexpr std::uint32_t slots = 128;
inline constexpr std::int64_t step = 32;
struct Lengths {
  std::int64_t least;
  constexpr std::int64_t of(std::uint32_t slot) const { return least + slot * step; }
  constexpr bool has(std::int64_t bytes) const {
    return static_cast<std::uint64_t>(bytes - least) < static_cast<std::uint64_t>(slots * step) && (bytes - least) % step == 0;
  }
  constexpr std::uint32_t slot(std::int64_t length) const { return static_cast<std::uint32_t>((length - least) / step); }
  /// What a ticket stands for is longer than any ticket.
  constexpr std::int64_t least_size() const { return least + slots * step; }
};

/// Of data in host memory. Small enough to travel at little cost; large enough that receives of small messages, which cannot take
/// one, need not be looked at.
inline constexpr Lengths host_lengths{12 << 10};
/// Of data in a GPU's memory, for receivers that have looked at shorter receives from MPI_Init on. They have room for a GpuSource and a Ticket.
inline constexpr Lengths gpu_lengths{1 << 10};
static_assert(gpu_lengths.least_size() <= host_lengths.least);

/// Shorter data in a GPU's memory have a message of their own length, which begins with a token: chance that stands in the sender's slot too, beside what a
/// ticket would say. Receivers that take them look at every receive with room for one.
inline constexpr std::int64_t token_size = 8;
static_assert(sizeof(std::uint64_t) == token_size);
/// Whether a message of that length may be one.
constexpr bool token_length(std::int64_t bytes) { return bytes >= token_size && bytes < gpu_lengths.least_size(); }

/// Whether a message of that length may be a ticket, of either kind.
constexpr bool ticket_length(std::int64_t bytes) { return host_lengths.has(bytes) || gpu_lengths.has(bytes); }
/// Of a ticket of that length.
constexpr std::uint32_t slot_of(std::int64_t length) { return (gpu_lengths.has(length) ? gpu_lengths : host_lengths).slot(length); }
/// Bytes of the data that travel in the ticket of data in host memory.
constexpr std::int64_t carried(std::uint32_t slot) { return host_lengths.of(slot) - static_cast<std::int64_t>(sizeof(Ticket)); }

}  // namespace dunnage::transport
