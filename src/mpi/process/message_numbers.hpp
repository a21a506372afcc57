// Numbers of messages, on which the two ranks of a message agree without another message: each rank
// counts those that it sends to, or receives from, one rank, and that have one size.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace dunnage::mpi {

/// Thread-safe. Two kinds of messages may share a count. Then ranks may disagree.
class MessageNumbers {
 public:
  /// The number of the next message. `peer`: in its communicator, or MPI_ANY_SOURCE.
  std::uint32_t next(bool sends, int peer, std::int64_t bytes) {
    const auto kind = static_cast<std::uint64_t>(peer) * 31 + static_cast<std::uint64_t>(bytes);
    const auto place = (kind * 0x9e3779b97f4a7c15) >> 56;
    return counts_[sends ? 1 : 0][place].fetch_add(1, std::memory_order_relaxed);
  }

 private:
  std::array<std::array<std::atomic<std::uint32_t>, 256>, 2> counts_{};
};

}  // namespace dunnage::mpi
