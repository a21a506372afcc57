// The receiver's part of a ring: the edges of an operation that come from one rank of this host.
#pragma once

#include <span>
#include <vector>

#include "mpi/lines/edge_buffers.hpp"
#include "mpi/neighbours/ring_messages.hpp"
#include "transport/shm/edge_ring.hpp"

namespace dunnage::mpi {

/// Not thread-safe. No member function throws or calls an error handler.
class InRing {
 public:
  /// `peer`: the sender's rank in the communicator. `sender`: in MPI_COMM_WORLD. `edges`: places in
  /// the list of receives, in the order in which the sender has them. `memory`: the ring in the
  /// sender's shared memory.
  InRing(int peer, std::uint32_t sender, std::vector<std::size_t> edges, void* memory, std::int64_t size)
      : peer_(peer), sender_(sender), edges_(std::move(edges)), ring_(memory, edges_.size(), size) {}

  std::uint32_t sender() const { return sender_; }
  /// Takes the buffers of the exchanges to come. Returns an MPI error code. After an error the next
  /// exchange drops what comes.
  int take(std::span<const EdgeData> receives);

  /// Before the first exchange of a persistent operation, when the sender has taken its buffers: so
  /// begin() knows what comes as messages.
  void know_sizes() {
    sizes_ = ring_.first_sizes();
    known_ = true;
  }

  void begin(std::uint64_t exchange, RingMessages& messages);
  /// Reads what is there, and begins to receive what comes as messages beside the ring. Returns
  /// whether all data in the ring have come.
  bool read(RingMessages& messages);
  bool ended() const { return ended_; }
  /// The first error since begin(): an MPI error code.
  int code() const { return code_; }

 private:
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  void begin_messages(RingMessages& messages);
  void begin_edge();
  void place(const char* from, std::int64_t bytes);
  void end_edge();

  const int peer_;
  const std::uint32_t sender_;
  const std::vector<std::size_t> edges_;
  transport::shm::EdgeRingReader ring_;
  EdgeBuffers buffers_;
  int taken_ = MPI_SUCCESS;  // what take() returned
  std::uint64_t exchange_ = 0;
  bool known_ = false;  // the sizes are those of all exchanges
  bool announced_ = true, ended_ = true;
  std::span<const std::int64_t> sizes_{};  // as the sender tells them; empty if they are not known
  std::size_t edge_ = 0;                   // that is being read
  std::int64_t done_ = 0;                  // bytes of it
  bool dropped_ = false;                   // its data have no place
  std::vector<char> packed_ = {};          // all of it, if it is not unpacked in pieces
  int code_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
