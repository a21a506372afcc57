// What broadcasts cost. Times are in nanoseconds.
//
// Plain numbers, so that they can travel in a message: all ranks of a job must choose by the figures of one of them. Ranks that read different ones
// would take different algorithms, and wait for each other for ever.
#pragma once

#include <cstdint>
#include <type_traits>

namespace dunnage::plan {

/// The MPI's own messages between two ranks, in the LogGP model.
struct NetworkCosts {
  double latency;
  double overhead;  // of each side, for each message that it begins
  double byte;
  constexpr bool operator==(const NetworkCosts&) const = default;
};

/// The window of shared memory in which one rank of a host writes and all others read (transport/shm/window.hpp).
struct WindowCosts {
  double call;
  double byte;    // for each byte of the message
  double reader;  // for each byte and each rank that copies it out: they all do so at once, and share the host's memory
  constexpr double per_byte(std::int64_t readers) const { return byte + reader * static_cast<double>(readers); }
  constexpr double time(std::int64_t bytes, std::int64_t readers) const { return call + per_byte(readers) * static_cast<double>(bytes); }
  constexpr bool operator==(const WindowCosts&) const = default;
};

/// As built in: an MPI's messages within a host; a network of 10 Gbit/s; and what 17 to 33 ranks took on 64 cores of a Xeon, where more ranks hardly changed it
/// while the data fit the caches (docs/measurements, 2026-11-22).
struct BcastFigures {
  NetworkCosts same_host{600, 300, 1 / 5.0};
  NetworkCosts other_host{20e3, 3e3, 1 / 1.2};
  WindowCosts window{3e3, 1 / 6.0, 0};
  /// Bytes from which broadcasts within a host may be Dunnage's. Shorter ones were not measured, and communicators that have only such are spared the setting up.
  std::int64_t least_window = 4 << 10;
};
static_assert(std::is_trivially_copyable_v<BcastFigures>);

}  // namespace dunnage::plan
