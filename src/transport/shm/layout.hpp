// What stands in a process' shared memory: a header, the operations that the process offers, a
// mailbox for each other rank, what the ranks of a host agree on, what the process has found out,
// and the data of the operations.
//
// The owner of the memory writes everything, unless a comment names another writer. All processes
// of a job run the same version of Dunnage: the name of the memory contains the version of the
// protocol.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "transport/ticket.hpp"

namespace dunnage::transport::shm {

/// Where one other rank, the guest, asks the owner for something. The owner answers.
struct Mailbox {
  /// The guest goes from none to asked, perhaps by way of preparing. The owner goes on to accepted
  /// or refused, or from a GPU that is not the guest's to accepted_far.
  enum State : std::uint32_t { none, asked, accepted, refused, preparing, accepted_far };
  /// Written by the guest: some memory of its GPU, as the driver exports it, and the number that
  /// stands there. If the owner can read that number, the owner can read all that the guest exports
  /// of that GPU.
  struct Proof {
    unsigned char memory[112];
    std::uint64_t value;
    std::uint64_t gpu = 0;  // device::identity_of that GPU; 0 if the driver does not tell
  };
  std::uint32_t process = 0;               // by the guest: where its own memory is found
  std::uint32_t file = 0;                  // by the guest: likewise
  std::atomic<std::uint32_t> state{none};  // whether the owner has mapped the guest's memory
  std::atomic<std::uint32_t> scatters{0};  // by the guest: 1 if the guest scatters what it receives from the owner
  Proof proof{};                           // by the guest
  std::atomic<std::uint32_t> gpu{none};    // whether the owner can read the guest's GPU
  /// Memory of the guest's GPU that the guest passes to the owner as a descriptor
  /// (peers/passing.hpp). The guest does not replace an entry while it is asked for, or while an
  /// operation names it.
  struct Place {
    std::atomic<std::uint32_t> state{none};
    std::uint32_t unused = 0;
    std::uint64_t serial = 0;  // by the guest, which uses each serial once
  };
  static constexpr std::uint32_t places = 32;
  Place passed[places];
};

/// One operation: a large message from the owner to one receiver.
struct Slot {
  enum State : std::uint32_t { free, offered, claimed, done };
  enum Mover : std::uint32_t { nobody, receiver_gpu, sender_host };
  enum Packed : std::uint32_t { no, yes, failed };
  enum Kind : std::uint16_t { usual, brief, token };
  std::atomic<std::uint32_t> state{free};  // the receiver makes it claimed, and then done
  std::uint32_t receiver = 0;
  std::uint64_t serial = 0;
  std::int64_t size = 0;     // bytes of the whole data
  std::uint64_t region = 0;  // where the chunks stand, from the beginning of the memory's data
  std::int32_t tag = 0;
  std::atomic<std::uint32_t> packed{no};     // yes: the sender writes no more
  std::atomic<std::uint64_t> written{0};     // how many chunks the sender has written
  std::atomic<std::uint64_t> turned{0};      // from this chunk on, each chunk has a place of its own outside the ring
  std::uint16_t gpu = 0;                     // 1: the data are in a GPU's memory
  std::uint16_t kind = 0;                    // a Kind: which message announces the operation
  std::atomic<std::uint32_t> mover{nobody};  // which side copies the data: the first to claim it
  alignas(64) std::atomic<std::uint64_t> read{0};  // by the receiver: how many chunks it has read
  std::atomic<std::uint32_t> ready{0};             // of data in a GPU's memory: 1 if the receiver can read them there
  std::atomic<std::uint32_t> shares_length{0};     // 1: an ordinary message of the announcement's length came after it
  std::uint64_t name = 0;                          // the token, if the kind is token
};
static_assert(sizeof(Slot) == 128);

/// What stands beside the slot of data in a GPU's memory.
struct SlotDetails {
  static constexpr std::size_t head_size = 512;
  unsigned char head[head_size];  // if the kind is token: what a ticket would begin with
  ChannelStamp stamp;
};

/// Place of an agreement (agreement.hpp). Every rank may write it.
struct Agreement {
  std::atomic<std::uint64_t> name{0};  // 0: free
  std::atomic<std::uint64_t> state{0};
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
};

/// What the owner has found out about data of one kind (choices.hpp). Other ranks read it.
struct Choice {
  std::atomic<std::uint64_t> name{0};  // 0: free
  std::atomic<std::uint32_t> what{0};  // 0: nothing; else the user's
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);
};

/// What the owner offers to one other rank (offers.hpp).
struct Offer {
  std::atomic<std::uint64_t> name{0};  // 0: free
  std::atomic<std::uint64_t> begin{0}, serial{0};
};

/// The beginning of a process' shared memory.
struct SegmentHeader {
  std::uint64_t magic = 0;
  std::uint32_t process = 0, rank = 0, ranks = 0;
  std::atomic<std::uint32_t> leaving{0};    // 1: the process receives nothing any more
  std::atomic<std::uint32_t> finalizes{0};  // 1: the process is in MPI_Finalize, or later
  std::atomic<std::uint32_t> brief{0};      // 1: it has looked at receives of the short tickets' lengths since MPI_Init
  std::atomic<std::uint32_t> takes_descriptors{0};     // 1: at the socket of this name
  std::uint64_t socket[2] = {};                        // a DescriptorSocket::Name
  alignas(64) std::atomic<std::uint32_t> requests{0};  // by guests: how often one of them has asked for something
  std::atomic<std::uint32_t> takes_tokens{0};          // 0 once a receive that was not looked at may meet a token
  std::atomic<std::uint32_t> tokens{0};            // by senders: how many tokens are under way to here, or about to be
  alignas(64) std::atomic<std::uint32_t> rows{0};  // no operation is offered in this row of slots, or behind it
};

/// The sender packs data in chunks that fit the second-level cache together with the user's data.
/// The ring has so many chunks that both sides work at a time.
inline constexpr std::int64_t chunk = 64 << 10;
inline constexpr std::uint64_t ring = 16;

/// The length of the message that announces an operation.
constexpr std::int64_t length_of(const Slot& slot, std::uint32_t index) {
  return slot.kind == Slot::token ? slot.size : (slot.kind == Slot::brief ? gpu_lengths : host_lengths).of(index);
}
/// How many bytes of the data travel in that message.
constexpr std::int64_t carried(const Slot& slot, std::uint32_t index) {
  return slot.gpu ? 0 : transport::carried(index);
}
/// The copy engine takes long to begin, so chunks of data in a GPU's memory are larger. Between two
/// H200s of one host, chunks of 1 MiB moved data at 0.81 times the rate of one long copy, chunks of
/// 2 MiB at 0.89 times. A ring has `most_gpu_ring` bytes for either size of chunk.
inline constexpr std::int64_t gpu_chunk = 1 << 20, large_gpu_chunk = 2 << 20, most_gpu_ring = 16 << 20;
constexpr std::int64_t chunk_of(const Slot& slot) {
  return !slot.gpu ? chunk : slot.size > most_gpu_ring ? large_gpu_chunk : gpu_chunk;
}
/// How many chunks the ring of an operation has.
constexpr std::uint64_t ring_of(const Slot& slot) {
  return slot.gpu ? static_cast<std::uint64_t>(most_gpu_ring / chunk_of(slot)) : ring;
}
/// How many chunks the data of an operation have.
constexpr std::uint64_t chunks_of(const Slot& slot, std::uint32_t index) {
  return static_cast<std::uint64_t>((slot.size - carried(slot, index) + chunk_of(slot) - 1) / chunk_of(slot));
}
/// Where chunk `i` stands in its region. `turned`: the slot's.
constexpr std::int64_t place_of(const Slot& slot, std::uint64_t i, std::uint64_t turned) {
  return static_cast<std::int64_t>(i < turned ? i % ring_of(slot) : ring_of(slot) + (i - turned)) * chunk_of(slot);
}

constexpr std::size_t page = 4096;
constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }
/// Nobody writes slots, agreements, choices, offers and mailboxes before one is used, so the kernel
/// provides no memory for the others. What has zeros only is free, and in a mailbox of zeros nobody
/// has asked for anything.
constexpr std::size_t slots_begin() { return whole_pages(sizeof(SegmentHeader)); }
constexpr std::size_t details_begin() { return slots_begin() + transport::slots * sizeof(Slot); }
constexpr std::size_t agreements_begin() {
  return whole_pages(details_begin() + transport::slots * sizeof(SlotDetails));
}
inline constexpr std::uint32_t agreements = 1024, choices = 8192, offers = 2048;
constexpr std::size_t choices_begin() { return whole_pages(agreements_begin() + agreements * sizeof(Agreement)); }
constexpr std::size_t offers_begin() { return whole_pages(choices_begin() + choices * sizeof(Choice)); }
constexpr std::size_t mailboxes_begin() { return whole_pages(offers_begin() + offers * sizeof(Offer)); }
constexpr std::size_t data_begin(std::uint32_t ranks) {
  return whole_pages(mailboxes_begin() + ranks * sizeof(Mailbox));
}
/// Addresses for data, in bytes. The kernel provides memory only for pages that are written.
inline constexpr std::size_t data_size = std::size_t{64} << 30;
/// From here on the addresses are for data that come from a GPU's memory. A ring there stays
/// page-locked after its first use.
inline constexpr std::size_t gpu_regions_begin = data_size / 2;
/// How many bytes the ring for data of that size has.
constexpr std::size_t gpu_ring(std::int64_t size) {
  return std::bit_ceil(static_cast<std::size_t>(std::clamp<std::int64_t>(size, gpu_chunk, most_gpu_ring)));
}
/// How many bytes the region for data of that size has: the ring, and behind it a place for each
/// chunk.
constexpr std::size_t gpu_region(std::int64_t size) {
  const auto whole_ring = gpu_ring(std::numeric_limits<std::int64_t>::max());
  return size <= static_cast<std::int64_t>(whole_ring) ? gpu_ring(size)
                                                       : whole_ring + std::bit_ceil(static_cast<std::size_t>(size));
}

}  // namespace dunnage::transport::shm
