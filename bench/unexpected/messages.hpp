// The messages of one rank: what it sends, where it receives, and whether the right bytes came.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "cuda_aware/memory.hpp"

namespace bench::unexpected {

/// Some messages of one length, contiguous or in blocks with gaps as long as the blocks.
class Messages {
 public:
  /// `block`: bytes of a block; 0 if the messages are contiguous. `bytes` is a multiple of `block`.
  Messages(Where where, int count, std::size_t bytes, std::size_t block);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  int count() const { return count_; }
  void* to_send(int k) const { return send_.place().at + offset(k); }
  void* received(int k) const { return receive_.place().at + offset(k); }
  /// How one message is described to MPI.
  MPI_Datatype type() const { return type_; }
  int elements() const { return block_ ? 1 : static_cast<int>(bytes_); }
  /// The bytes of both buffers, gaps included.
  std::size_t buffer_bytes() const { return send_.bytes() + receive_.bytes(); }

  /// Writes the bytes that `rank` sends in an iteration. Other ranks and iterations have others.
  void fill(int rank, int iteration);
  /// Writes a value into the receive buffer that no message has.
  void poison();
  /// Returns whether all messages of `rank` came, and no byte between their blocks changed.
  bool arrived(int rank, int iteration);

 private:
  std::size_t offset(int k) const { return static_cast<std::size_t>(k) * step_; }
  const std::byte* pattern(int rank, int iteration, int k) const;
  bool right(const std::byte* received, const std::byte* sent) const;

  const int count_;
  const std::size_t bytes_, block_, extent_, step_;
  Memory send_, receive_;
  MPI_Datatype type_;
  std::vector<std::byte> pattern_, poison_, image_;
};

}  // namespace bench::unexpected
