// The sender's part of a ring: the edges of an operation in host memory that go to one rank of this
// host.
#pragma once

#include <vector>

#include "mpi/lines/edge_buffers.hpp"
#include "mpi/neighbours/ring_messages.hpp"
#include "transport/shm/edge_ring.hpp"

namespace dunnage::mpi {

/// Not thread-safe. No member function throws or calls an error handler.
class OutRing {
 public:
  /// `peer`: the receiver's rank in the communicator. `receiver`: in MPI_COMM_WORLD. `edges`:
  /// places in the list of sends, in the order in which the receiver has them. `mutual`: data come
  /// from the receiver, too. `memory`: edge_ring_size() bytes of shared memory for the ring.
  OutRing(int peer, std::uint32_t receiver, std::vector<std::size_t> edges, bool mutual, void* memory,
          std::int64_t size)
      : peer_(peer),
        receiver_(receiver),
        edges_(std::move(edges)),
        mutual_(mutual),
        ring_(memory, edges_.size(), size) {}

  std::uint32_t receiver() const { return receiver_; }
  /// Takes the buffers of the exchanges to come. Returns an MPI error code. After an error the next
  /// exchange brings the receiver an error, too.
  int take(std::span<const EdgeData> sends);
  /// Packed bytes of an exchange.
  std::int64_t bytes() const { return buffers_.bytes(); }

  /// Begins the messages beside the ring, too.
  void begin(std::uint64_t exchange, RingMessages& messages);
  /// Writes what there is room for, up to `most` bytes. Returns whether all is written.
  bool write(std::int64_t most);
  bool written() const { return written_; }
  /// After all is written: whether the sender may end the exchange. It is at most one exchange
  /// ahead of the receiver. If data come from the receiver, they have told that already.
  bool ended() const { return mutual_ || ring_.begun(exchange_); }
  /// An MPI error code. The receiver hears of the error, too.
  int code() const { return code_; }

 private:
  void publish();
  void pack(char* to, std::int64_t begin, std::int64_t end);

  const int peer_;
  const std::uint32_t receiver_;
  const std::vector<std::size_t> edges_;
  const bool mutual_;
  transport::shm::EdgeRingWriter ring_;
  EdgeBuffers buffers_;
  std::vector<std::int64_t> sizes_;  // as the receiver is told them
  std::uint64_t exchange_ = 0;
  bool written_ = true, announced_ = true;
  std::size_t edge_ = 0;           // that is being written
  std::int64_t done_ = 0;          // bytes of it
  std::vector<char> packed_ = {};  // all of it, if it is not packed in pieces
  int code_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
