// The copy that an operation is compared with.
#pragma once

#include <mpi.h>

#include <optional>

#include "collectives/slowest.hpp"
#include "cuda_aware/gpu.hpp"
#include "cuda_aware/memory.hpp"

namespace bench::collectives {

/// One copy of so many bytes by each rank at once: from the next GPU if each rank has a GPU of its
/// own that can reach the next one, else within the rank's own memory.
class Limit {
 public:
  /// `gpu` is null for host memory; its context is current.
  Limit(const Gpu* gpu, int ranks, const Stream* stream, std::int64_t bytes) : stream_(stream), bytes_(bytes) {
    const auto where = gpu ? Where::device : Where::host;
    to_ = Memory(where, static_cast<std::size_t>(bytes));
    if (gpu && ranks > 1 && Gpu::count() >= ranks) next_.emplace((gpu->number() + 1) % ranks);
    if (next_ && !gpu->reach(*next_)) next_.reset();
    if (next_) next_->make_current();
    from_ = Memory(where, static_cast<std::size_t>(bytes));
    if (gpu) gpu->make_current();
  }
  std::vector<double> measure(int calls) const {
    return measured(calls, [&] { copy(from_.place(), to_.place(), bytes_, stream_); });
  }

 private:
  const Stream* const stream_;
  const std::int64_t bytes_;
  std::optional<Gpu> next_;
  Memory from_, to_;
};

}  // namespace bench::collectives
