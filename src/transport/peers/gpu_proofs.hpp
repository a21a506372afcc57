// Whether one rank's GPU reads the memory of another's.
//
// The owner exports some memory of its GPU with a number in it, which is the proof, and asks a
// reader by way of its mailbox. The reader tries to read the number, and answers. Both steps work
// on a device, so the callers provide them as functions. No lock is held while these functions run.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "transport/peers/peers.hpp"

namespace dunnage::transport::peers {

/// Thread-safe.
class GpuProofs {
 public:
  GpuProofs(const Memory& own, const Peers& peers) : own_(own), peers_(peers) {}

  using Proof = Mailbox::Proof;
  /// Whether that rank reads the memory of this process' GPU. To be asked if the peers' reaches()
  /// is true. At first it returns false and asks the rank, with the proof that make() returns. If
  /// make() returns nothing, or throws, the answer stays false. make() is called once for each
  /// rank.
  bool read_by(std::uint32_t rank, const std::function<std::optional<Proof>()>& make);

  /// Whether that rank has answered that it reads that memory, and works on another GPU.
  bool read_from_another_gpu(std::uint32_t rank) const;

  /// The answer to a proof: refused, accepted or accepted_far. Must not throw.
  using Check = std::function<Mailbox::State(const Proof&)>;
  /// How this process finds out whether it reads the memory of others. Until this is called others
  /// wait for an answer. The first call counts.
  void check_with(Check check);
  /// Answers that rank, if it has asked. World calls this, in one thread at a time.
  void answer(std::uint32_t rank);

 private:
  const Memory& own_;
  const Peers& peers_;
  std::mutex mutex_;  // guards check_
  Check check_;
};

}  // namespace dunnage::transport::peers
