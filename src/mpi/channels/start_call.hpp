// A call that starts persistent requests. The MPI starts some of them when the call ends. So their
// messages, and their receives, are counted before those of requests that Dunnage starts, and
// perhaps begin after them.
#pragma once

#include <cstdint>

namespace dunnage::mpi {

/// A call of MPI_Start or MPI_Startall that is under way. Not thread-safe.
class StartCall {
 public:
  StartCall() { ++number_; }
  StartCall(const StartCall&) = delete;
  StartCall& operator=(const StartCall&) = delete;
  ~StartCall() { ++number_; }

 private:
  friend class PutOff;
  inline static std::uint64_t number_ = 1;
};

/// Whether the call that is under way has put off the start of a message or receive of a channel.
/// Not thread-safe.
class PutOff {
 public:
  void note() { in_call_ = StartCall::number_; }
  explicit operator bool() const { return in_call_ == StartCall::number_; }

 private:
  std::uint64_t in_call_ = 0;
};

}  // namespace dunnage::mpi
