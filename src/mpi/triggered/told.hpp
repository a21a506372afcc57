// What two ranks tell each other when they match an exchange: plain bytes, in messages on the
// private world.
#pragma once

#include <cstring>
#include <vector>

#include "device/ipc.hpp"
#include "mpi/process/lineage.hpp"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {

/// The beginning of what a rank tells a peer.
struct MatchOpening {
  std::uint64_t version = 4;
  std::uint64_t usable = 0;           // whether this rank can have direct messages at all
  std::uint64_t proxy = 0;            // whether a thread of this rank can do messages for its streams
  std::int64_t farewell_tag = -1;     // on the private world
  std::uint64_t device = 0, mps = 0;  // which device it uses, and whether by MPS
  std::uint64_t sends = 0, receives = 0;
  std::uint64_t nonce = 0;  // the first word of the block
  device::Exported block{};
  // The receiver of this writes there, from the beginning of the block. `arrived` is the first of
  // the flags of all partitions that the receiver of this sends.
  std::uint64_t ready = 0, done = 0, open = 0, arrived = 0;
  std::uint64_t board = 0, board_serial = 0;
};
struct MatchSend {
  Lineage comm{};
  std::int64_t tag = 0, possible = 0, partitions = -1, size = 0;
  std::int64_t proxy_tag = -1;         // on the private world; -1 if the proxy cannot send the message
  std::int64_t stamped_words = 0;      // pack::cuda::StampedSide::words; of partitions likewise
  transport::gpu::GpuSource source{};  // if not partitioned
  transport::gpu::GpuSource packed{};  // a copy, which a receiver on another GPU reads; empty if there is none
};
struct MatchReceive {
  Lineage comm{};
  std::int64_t tag = 0, possible = 0, partitions = -1, capacity = 0;
  std::int64_t proxy = 0;              // whether the proxy can receive the message
  std::int64_t stamped_words = 0;      // pack::cuda::StampedSide::words; of partitions likewise
  std::uint64_t cells = 0;             // for stamped words: bytes from the beginning of the block
  transport::gpu::GpuSource target{};  // if partitioned
};
struct MatchAnswer {
  std::uint64_t direct = 0, has_board = 0;
};
/// After the answers.
struct MatchPromise {
  std::uint64_t proxy = 0;    // whether the proxy can do the messages, if they do not go directly
  std::uint64_t kernels = 0;  // whether streams wait by kernels, now and always
};
template <class T>
void append(std::vector<char>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}
template <class T>
bool take(const std::vector<char>& from, std::size_t& at, T& value) {
  if (from.size() - at < sizeof value) return false;
  std::memcpy(static_cast<void*>(&value), from.data() + at, sizeof value);
  at += sizeof value;
  return true;
}

}  // namespace dunnage::mpi
