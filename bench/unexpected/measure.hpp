// Takes the times of messages whose receiver is late.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda_aware/gpu.hpp"
#include "unexpected/calls.hpp"

namespace bench::unexpected {

/// What is sent.
struct Point {
  std::string call;
  int messages;
  std::size_t bytes, block;
};

struct Plan {
  std::vector<double> lateness;  ///< seconds
  int rounds = 3, each = 10, warm_ups = 2;
  bool sleep = false;                             ///< the late rank sleeps; otherwise it computes
  std::size_t most_bytes = std::size_t{1} << 28;  ///< of one rank in the iterations of a turn
};

/// What one lateness cost. Times are those of the slowest rank.
struct Series {
  double lateness = 0;
  std::vector<double> seconds;  ///< of each iteration, without the lateness
  std::vector<double> in_calls, in_wait;
  std::int64_t peak_on_time = 0, peak_late = 0;  ///< resident bytes of a process
  std::int64_t shared = 0;                       ///< bytes of all ranks together
  std::int64_t device = 0;                       ///< bytes beside the messages' own buffers
  bool verified = true;
};

/// Two ranks are a pair: the even one is on time, the odd one is late.
struct Pair {
  int rank, peer;
  bool is_late() const { return rank % 2 == 1; }
};

/// Tells how much memory of this GPU is used beside the buffers of the messages.
class DeviceUse {
 public:
  /// Collective. `gpu` is null if there is none.
  DeviceUse(const Gpu* gpu, int rank, int ranks);
  /// Returns the bytes that are used now and were not when this object was made. Other programs on
  /// the GPU count too.
  std::int64_t bytes(std::size_t buffers_of_a_rank) const;

 private:
  const Gpu* gpu_;
  int sharers_ = 0;  // ranks with this GPU
  std::size_t free_before_ = 0;
};

/// Collective. Returns a series for each lateness. `iteration` counts on through all calls.
std::vector<Series> measure(const Point& point, Where where, const Plan& plan, const Pair& pair,
                            const DeviceUse& device, int& iteration);

}  // namespace bench::unexpected
