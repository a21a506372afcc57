// Messages beside the rings, for data that the MPI moves faster (plan/edge_way.hpp).
#pragma once

#include <memory>
#include <vector>

#include "memory/buffer.hpp"
#include "mpi/neighbours/neighbourhood.hpp"

namespace dunnage::mpi {

/// The messages of the exchanges of one operation. Not thread-safe. Codes are MPI error codes.
class RingMessages {
 public:
  /// `tags` is added to the number of each edge.
  RingMessages(std::shared_ptr<const MessageComm> comm, int tags) : comm_(std::move(comm)), tags_(tags) {}
  RingMessages(const RingMessages&) = delete;
  RingMessages& operator=(const RingMessages&) = delete;

  struct Partner {
    int peer;            // rank in the communicator
    std::uint32_t rank;  // in MPI_COMM_WORLD
    std::size_t edge;    // its number among those between the two ranks
  };
  /// Sends data in one piece of host memory.
  int send(const Partner& to, const memory::Buffer& buffer);
  /// Receives `bytes` bytes. Data that have no room in the buffer are dropped.
  int receive(const Partner& from, const memory::Buffer& buffer, std::int64_t bytes);

  /// Completes what has come. Returns whether no message is under way.
  bool test();
  /// The first error since forget_error().
  int code() const { return code_; }
  void forget_error() { code_ = MPI_SUCCESS; }
  /// Calls f(rank) for each rank with which a message is under way. Returns whether one call did.
  template <class F>
  bool any_partner(F&& f) const {
    for (const auto& message : messages_)
      if (f(message.rank)) return true;
    return false;
  }

 private:
  struct Message {
    MPI_Request request;
    std::uint32_t rank;
    std::unique_ptr<char[]> staged;  // null if the MPI has the program's memory
    memory::Buffer buffer;           // where staged data belong; empty if they are dropped
    std::int64_t bytes;
  };
  void end(const Message& message);
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }

  const std::shared_ptr<const MessageComm> comm_;
  const int tags_;
  std::vector<Message> messages_;
  int code_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
