// What this rank knows of a peer while it matches an exchange.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mpi/message/persistent.hpp"
#include "mpi/process/farewell.hpp"
#include "mpi/process/proxied_message.hpp"
#include "mpi/triggered/exchange.hpp"
#include "mpi/triggered/told.hpp"
#include "pack/cuda/plan_stamped.hpp"
#include "pack/gpu/pack.hpp"

namespace dunnage::mpi {

/// One message of this rank.
struct MatchMessage {
  PersistentMessage what;
  std::size_t request = 0;
  pack::cuda::StampedSide stamped{};
  std::uint64_t cell = 0;  // of a receive: the first of its cells among this rank's
};

/// A message by stamped words.
struct StampedMessage {
  const MatchMessage* message;
  std::uint64_t cells;  // the receiver's, as this rank's device sees them
  std::int64_t size, word;
};

/// A move between two buffers that this rank reaches.
struct PlannedMove {
  pack::gpu::Described from, to;
  std::int64_t size;
};

/// A copy that is packed before others are told of it, and its memory.
struct PackedCopy {
  PlannedMove pack;
  std::shared_ptr<const device::Arena::Block> block;
};

/// One partitioned message, as one of its ranks knows it.
struct MatchPartitions {
  const MatchMessage* message = nullptr;
  std::int64_t flag = 0;        // the place of its first flag among those of all partitions between the two ranks
  std::int64_t partitions = 0;  // of the other rank
  std::int64_t size = 0;        // bytes of all that is sent
  Nest to{};                    // if this rank sends
  std::int64_t word = 0;        // of stamped partitions; 0: they are not stamped
};

/// Partitions between two ranks, in one direction.
inline std::uint64_t partitions_of(const std::vector<MatchMessage>& sends) {
  std::uint64_t all = 0;
  for (const auto& send : sends)
    if (send.what.partitions > 0) all += static_cast<std::uint64_t>(send.what.partitions);
  return all;
}

/// This rank's view of a peer.
struct MatchSide {
  std::vector<MatchMessage> sends, receives;
  std::vector<char> out, in;
  MatchOpening opening_out;
  std::vector<MatchSend> sends_out;
  std::vector<MatchReceive> receives_out;
  std::uint64_t out_size = 0, in_size = 0;
  std::uint64_t outgoing = 0, incoming = 0;  // partitions
  std::vector<MatchPartitions> partitions_out, partitions_in;
  std::size_t arrived = 0, sent = 0, open = 0;  // places of slots
  MatchOpening opening;                         // of the peer
  bool understood = false;                      // what the peer has told
  std::vector<MatchSend> told_sends;
  std::vector<MatchReceive> told_receives;
  TriggerPeer peer;
  std::vector<std::pair<pack::gpu::Described, const MatchMessage*>> sources;  // of receives, in the peer's memory
  std::vector<std::int64_t> sizes;
  std::vector<std::shared_ptr<const device::Import>> mappings;
  std::vector<PlannedMove> packs;  // of what the peer cannot read in place, or reads slowly there
  std::vector<PackedCopy> copies;  // that the peer reads if it uses another GPU
  bool shares_gpu = false;         // with this rank, without MPS
  std::string objection;           // to messages that go directly
  MatchAnswer answer, answered;    // about these
  MatchPromise promise, promised;  // of this rank, and of the peer
  std::vector<StampedMessage> stamped_out, stamped_in;
  // If the messages do not go directly:
  std::optional<Tags> farewell_tags;
  std::vector<Tags> proxy_tags;  // of each send, if the proxy can send it
  std::shared_ptr<Farewell> farewell;
  std::vector<ProxiedMessage> proxied;
  std::vector<PlannedMove> proxy_packs, proxy_unpacks;  // between buffers and the memory of `proxied`
  std::string proxy_objection;
};

/// The peers, by their ranks in MPI_COMM_WORLD.
using MatchSides = std::map<int, MatchSide>;

/// Bytes of a message in device memory.
inline std::int64_t size_of(const PersistentMessage& message) { return message.buffer ? message.buffer.size() : 0; }

template <class Told>
bool belong(const PersistentMessage& own, const Told& told) {
  return own.comm == told.comm && own.comm != Lineage{} && own.tag == told.tag &&
         (own.partitions >= 0) == (told.partitions >= 0);
}

/// The peer's messages that belong to those of this rank, in the order of the requests. Null where
/// there is none.
template <class Told>
std::vector<const Told*> counterparts(const std::vector<MatchMessage>& own, const std::vector<Told>& all) {
  std::vector<bool> taken(all.size());
  std::vector<const Told*> found;
  for (const auto& message : own) {
    std::size_t i = 0;
    while (i < all.size() && (taken[i] || !belong(message.what, all[i]))) ++i;
    found.push_back(i < all.size() ? &all[i] : nullptr);
    if (i < all.size()) taken[i] = true;
  }
  return found;
}

/// Whether the proxy could do a message.
inline bool suits_proxy(const PersistentMessage& message) {
  return message.on_device && message.partitions < 0 &&
         (!message.sends || size_of(message) <= ProxiedMessage::most_bytes);
}

}  // namespace dunnage::mpi
