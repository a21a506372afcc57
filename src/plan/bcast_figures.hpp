// What broadcasts cost. Times are in nanoseconds.
//
// The figures are plain numbers, so that they can travel in a message. All ranks of a job must
// choose by the figures of one rank. If ranks chose by different figures, they would run different
// algorithms and wait for each other for ever.
#pragma once

#include <cstdint>
#include <type_traits>

namespace dunnage::plan {

/// The cost of the MPI's own messages between two ranks, in the LogGP model.
struct NetworkCosts {
  double latency;
  double overhead;  // the time that each side spends on each message that it begins
  double byte;
  constexpr bool operator==(const NetworkCosts&) const = default;
};

/// The cost of the shared memory through which one rank of a host writes a broadcast and all others
/// read it (src/transport/shm).
struct WindowCosts {
  double call;
  double byte;    // for each byte of the message
  double reader;  // for each byte and each rank that reads: all read at once and share the memory's bandwidth
  constexpr double per_byte(std::int64_t readers) const { return byte + reader * static_cast<double>(readers); }
  constexpr double time(std::int64_t bytes, std::int64_t readers) const {
    return call + per_byte(readers) * static_cast<double>(bytes);
  }
  constexpr bool operator==(const WindowCosts&) const = default;
};

/// The built-in figures. `same_host` is an MPI's messages within a host, and `other_host` a network
/// of 10 Gbit/s. `window` was measured with 17 to 33 ranks on a Xeon of 64 cores. While the data
/// fit in the caches, more ranks hardly changed it (docs/measurements, 2026-11-22).
struct BcastFigures {
  NetworkCosts same_host{600, 300, 1 / 5.0};
  NetworkCosts other_host{20e3, 3e3, 1 / 1.2};
  WindowCosts window{3e3, 1 / 6.0, 0};
  /// The length, in bytes, from which broadcasts within a host may be Dunnage's. Shorter ones were
  /// not measured. A communicator that has only shorter ones is not set up for broadcasts.
  std::int64_t least_window = 4 << 10;
};
static_assert(std::is_trivially_copyable_v<BcastFigures>);

}  // namespace dunnage::plan
