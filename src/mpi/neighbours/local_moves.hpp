// What a neighbour collective brings from this rank to itself: no messages, but copies from layout
// to layout.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mpi/lines/edge_buffers.hpp"
#include "mpi/message/fetch_batch.hpp"
#include "mpi/neighbours/edges.hpp"
#include "mpi/neighbours/neighbourhood.hpp"
#include "pack/gpu/launch.hpp"

namespace dunnage::mpi {

/// Longer data take longer to move than to plan, and are moved by other kernels or by the copy
/// engine.
inline constexpr std::int64_t most_prepared = 4 << 20;

/// Not thread-safe: a communicator's collectives come one at a time.
class LocalMoves {
 public:
  using Loops = std::span<const Neighbourhood::Loop>;
  /// `loops`: which data go where, by their places in `edges`. Throws device::Error,
  /// std::bad_alloc.
  LocalMoves(Loops loops, const Edges& edges);
  LocalMoves(const LocalMoves&) = delete;
  LocalMoves& operator=(const LocalMoves&) = delete;

  /// Whether there is anything to move: data that are in their place already are not moved.
  static bool needed(Loops loops, const Edges& edges);
  /// Whether it was made for such arguments, and the datatypes and the memory are still those.
  bool fits(Loops loops, const Edges& edges) const;
  /// Whether one launch does all copies, and the memory is still there.
  bool planned() const { return prepared_ && memory_.there(); }
  /// Packed bytes of all.
  std::int64_t bytes() const;
  /// The copies, if launches of kernels do them; else null. They live as long as this object.
  const std::vector<pack::gpu::MoveRange>* ranges() const { return prepared_ ? &ranges_ : nullptr; }
  /// The context of those launches.
  CUcontext context() const { return context_; }
  /// Begins or does all copies. What kernels move goes with other data of the thread's FetchBatch,
  /// which there must be. Returns an MPI error code.
  int begin();
  /// Does all copies, if one launch of kernels does them. Returns an MPI error code, or nothing if
  /// begin() is to be called.
  std::optional<int> run();

 private:
  struct Move {
    Side from_side, to_side;
    memory::Buffer from;
    memory::Landing to;
    std::int64_t bytes;
    bool too_long;
  };
  void prepare();

  std::vector<Move> moves_;
  std::vector<pack::gpu::MoveRange> ranges_;
  std::optional<pack::gpu::PreparedMoves> prepared_;  // of ranges_
  CUcontext context_ = nullptr;                       // of prepared_
  Allocations memory_;                                // of prepared_
};

}  // namespace dunnage::mpi
