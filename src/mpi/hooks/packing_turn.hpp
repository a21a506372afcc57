// Whose turn a packing call is, the MPI's or ours, and how long it takes.
#pragma once

#include <chrono>

#include "mpi/message/accept.hpp"

namespace dunnage::mpi {

/// Of one call.
class PackingTurn {
 public:
  explicit PackingTurn(const Accepted& accepted)
      : trial_(accepted.trial), stores_(accepted.buffer.program()->stores()) {
    if (!trial_) return;
    turn_ = trial_->next();
    stores_ = turn_.packer == plan::Packer::streamed ? pack::Stores::streamed : pack::Stores::cached;
  }
  bool is_librarys() const { return trial_ && turn_.packer == plan::Packer::library; }
  pack::Stores stores() const { return stores_; }

  /// Calls work(), which returns an error code, and measures it if the trial needs that.
  template <class Work>
  int measure(Work&& work) const {
    if (!trial_ || !turn_.measured) return work();
    const auto start = std::chrono::steady_clock::now();
    const int code = work();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    if (code == MPI_SUCCESS) trial_->took(turn_, time.count());
    return code;
  }

 private:
  plan::PackTrial* const trial_;
  plan::PackTrial::Turn turn_{};
  pack::Stores stores_;
};

}  // namespace dunnage::mpi
