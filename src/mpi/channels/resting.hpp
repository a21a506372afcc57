// Complete operations of a channel, which serve again for later messages.
#pragma once

#include <memory>
#include <vector>

#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// Making an operation, and a handle that the MPI knows, takes longer than all else that a
/// nonblocking call by a channel does. Not thread-safe.
class Resting {
 public:
  /// Takes an operation that stays in the table of requests. Returns false if there are enough.
  bool put(Request* operation) {
    if (all_.size() == most) return false;
    all_.emplace_back(operation);
    operation->rests(true);
    return true;
  }
  /// Null if there is none.
  std::unique_ptr<Request> take() {
    if (all_.empty()) return nullptr;
    auto operation = std::move(all_.back());
    all_.pop_back();
    operation->rests(false);
    return operation;
  }

 private:
  static constexpr std::size_t most = 32;
  std::vector<std::unique_ptr<Request>> all_;
};

}  // namespace dunnage::mpi
