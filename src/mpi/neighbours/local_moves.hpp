// What a neighbour collective brings from this rank to itself: no messages, but copies from layout
// to layout.
#pragma once

#include <optional>
#include <vector>

#include "mpi/message/fetch_batch.hpp"
#include "mpi/neighbours/edges.hpp"
#include "pack/gpu/launch.hpp"

namespace dunnage::mpi {

/// Not thread-safe: a communicator's collectives come one at a time.
class LocalMoves {
 public:
  /// Throws device::Error, std::bad_alloc.
  LocalMoves(const Neighbourhood& hood, const Edges& edges);
  LocalMoves(const LocalMoves&) = delete;
  LocalMoves& operator=(const LocalMoves&) = delete;

  /// Whether it was made for such arguments, and the datatypes and the memory are still those.
  bool fits(const Neighbourhood& hood, const Edges& edges) const;
  /// Packed bytes of all.
  std::int64_t bytes() const;
  /// Begins or does all copies. What kernels move goes with other data of the thread's FetchBatch,
  /// which there must be. Returns an MPI error code.
  int begin();
  /// Does all copies, if one launch of kernels does them. Returns an MPI error code, or nothing if
  /// begin() is to be called.
  std::optional<int> run();

 private:
  struct Side {
    Side(const EdgeData& data);
    bool operator==(const Side&) const = default;
    bool told() const { return type != 0 || count == 0; }
    const void* buffer;
    std::int64_t count;
    std::uint64_t type;  // KnownType::number(); 0 if it is not known, or not one that kernels move
  };
  struct Move {
    Side from_side, to_side;
    memory::Buffer from;
    memory::Landing to;
    std::int64_t bytes;
    bool too_long;
  };
  struct Memory {
    const void* address;
    unsigned long long id;  // of the allocation
  };
  void prepare();
  bool remember(const memory::Buffer& buffer);
  bool memory_is_there() const;

  std::vector<Move> moves_;
  std::optional<pack::gpu::PreparedMoves> prepared_;
  CUcontext context_ = nullptr;  // of prepared_
  std::vector<Memory> memory_;   // of prepared_
};

}  // namespace dunnage::mpi
