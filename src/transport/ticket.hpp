// The ticket: a message of a few KiB that travels through the MPI in place of a large one, matches in its place, and tells where
// the rest of the data is.
//
// Its first bytes are the first bytes of the data, where the receiver wants them; its last ones are the Ticket. What makes a
// message a ticket is its length, one of some that stand for as many operations under way, and the Ticket, which must name
// an operation that its sender still offers to this receiver (shm/world.hpp).
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

  enum Way : std::uint32_t { shared_memory, pieces };
  static constexpr std::uint64_t known_magic = 0x32'74'65'6b'63'69'74'64;  // "dticket2", the version of the protocol
};
static_assert(sizeof(Ticket) == 64);

/// A ticket's length tells the slot of its operation. Small enough to travel at little cost; large enough that receives of small
/// messages, which cannot take one, need not be looked at. A whole number of elements of every basic type: MPICH 4 and Intel MPI
/// take less for an error.
inline constexpr std::int64_t least_length = 12 << 10;
inline constexpr std::uint32_t slots = 128;
inline constexpr std::int64_t step = 32;
/// What a ticket stands for is longer than any ticket.
inline constexpr std::int64_t least_size = least_length + slots * step;

constexpr std::int64_t length_of(std::uint32_t slot) { return least_length + slot * step; }
/// Whether a message of that length may be a ticket.
constexpr bool ticket_length(std::int64_t bytes) {
  return static_cast<std::uint64_t>(bytes - least_length) < static_cast<std::uint64_t>(slots * step) && (bytes - least_length) % step == 0;
}
/// Of a ticket of that length.
constexpr std::uint32_t slot_of(std::int64_t length) { return static_cast<std::uint32_t>((length - least_length) / step); }
/// Bytes of the data that travel in the ticket.
constexpr std::int64_t carried(std::uint32_t slot) { return length_of(slot) - static_cast<std::int64_t>(sizeof(Ticket)); }

}  // namespace dunnage::transport
