// The ticket: a message of a few KiB that travels through the MPI in place of a large one. The MPI
// matches the ticket as it would match the large message, and the ticket tells the receiver where
// the rest of the data is. Other libraries call a ticket a rendezvous request (RTS).
//
// A ticket begins with the first bytes of the data, which is what the receiver's buffer begins
// with. A ticket ends with a struct Ticket. The receiver knows a ticket by its length, which tells
// a few of the sender's slots, and by the struct Ticket, which must name an operation that the
// sender still offers to this receiver.
//
// The ticket of data in a GPU's memory carries none of the data: reading them first would take
// longer than all the rest. This kind of ticket is shorter.
#pragma once

#include <cstdint>

namespace dunnage::transport {

struct Ticket {
  std::uint64_t magic;
  std::uint64_t serial;            // of the operation: a process uses each serial once
  std::int64_t size;               // bytes of the whole data
  std::uint32_t sender, receiver;  // ranks of MPI_COMM_WORLD
  std::uint32_t slot;
  std::uint32_t way;        // a Way: how the data travels
  std::uint64_t unused[3];  // to 64 bytes, so that the data after those in the ticket begin at a multiple of 64 bytes
  enum Way : std::uint32_t { shared_memory, gpu, self };
  static constexpr std::uint64_t known_magic = 0x44'74'65'6b'63'69'74'64;  // "dticketD": the version of the protocol
};
static_assert(sizeof(Ticket) == 64);

/// How many lengths one kind of ticket may have.
inline constexpr std::uint32_t length_count = 128;
/// The slots stand in rows. A row has one slot for each length, so `rows` slots share a length.
inline constexpr std::uint32_t rows = 256;
/// A process offers at most this many operations at a time.
inline constexpr std::uint32_t slots = length_count * rows;

/// The lengths of one kind of ticket. Each is a whole number of elements of every basic type,
/// because MPICH 4 and Intel MPI report an error for a part of an element.
inline constexpr std::int64_t step = 32;
struct Lengths {
  std::int64_t least;
  /// The length of the ticket of a slot.
  constexpr std::int64_t of(std::uint32_t slot) const { return least + slot % length_count * step; }
  constexpr bool has(std::int64_t bytes) const {
    return static_cast<std::uint64_t>(bytes - least) < static_cast<std::uint64_t>(length_count * step) &&
           (bytes - least) % step == 0;
  }
  /// Which of the lengths this is, from 0.
  constexpr std::uint32_t index(std::int64_t length) const {
    return static_cast<std::uint32_t>((length - least) / step);
  }
  /// The smallest message that may travel by ticket: longer than any ticket.
  constexpr std::int64_t least_size() const { return least + length_count * step; }
};

/// Tickets of data in host memory: short enough to travel at little cost, and long enough that
/// Dunnage need not look at receives of small messages.
inline constexpr Lengths host_lengths{12 << 10};
/// Tickets of data in a GPU's memory, for receivers that have looked at shorter receives since
/// MPI_Init. Each has room for a GpuSource and a Ticket.
inline constexpr Lengths gpu_lengths{1 << 10};
static_assert(gpu_lengths.least_size() <= host_lengths.least);

/// Whether a message of that length may be a ticket of either kind.
constexpr bool ticket_length(std::int64_t bytes) { return host_lengths.has(bytes) || gpu_lengths.has(bytes); }
/// Which of its kind's lengths this is: the slot of such a ticket has this number modulo
/// `length_count`.
constexpr std::uint32_t index_of(std::int64_t length) {
  return (gpu_lengths.has(length) ? gpu_lengths : host_lengths).index(length);
}
/// Bytes of the data that the ticket of data in host memory carries.
constexpr std::int64_t carried(std::uint32_t slot) {
  return host_lengths.of(slot) - static_cast<std::int64_t>(sizeof(Ticket));
}

/// Data in a GPU's memory that are shorter than any ticket travel with a token. The message has the
/// length of the data and begins with the token, 8 bytes that stand in the sender's slot too. What
/// a ticket would say stands beside that slot. Receivers that take tokens look at every receive
/// with room for one.
inline constexpr std::int64_t token_size = 8;
static_assert(sizeof(std::uint64_t) == token_size);
/// Whether a message of that length may begin with a token.
constexpr bool token_length(std::int64_t bytes) { return bytes >= token_size && bytes < gpu_lengths.least_size(); }

/// Names a channel (transport/gpu/channel.hpp) and one of its messages. The sender writes it beside
/// the slot of a message that went by the MPI, so that the receiver finds the channel.
struct ChannelStamp {
  std::uint64_t begin = 0, serial = 0;  // by which the channel is found in the sender's memory
  std::uint64_t number = 0;             // of the message
  std::uint32_t sender = 0;             // its rank in MPI_COMM_WORLD
  explicit operator bool() const { return serial != 0; }
};

/// What a token consists of: the sender's slot, the sender's rank modulo `ranks`, and a nonce in
/// the other bits.
struct Token {
  static constexpr std::uint32_t ranks = 1 << 16;
  /// Never 0.
  static constexpr std::uint64_t make(std::uint64_t nonce, std::uint32_t sender, std::uint32_t slot) {
    return (nonce | 1) * ranks * slots + sender % ranks * slots + slot;
  }
  static constexpr std::uint32_t slot(std::uint64_t token) { return static_cast<std::uint32_t>(token % slots); }
  static constexpr std::uint32_t rank(std::uint64_t token) { return static_cast<std::uint32_t>(token / slots % ranks); }
};

}  // namespace dunnage::transport
