// Which broadcast between hosts, by the costs of all.
#pragma once

#include "collective/cost.hpp"

namespace dunnage::collective {

/// Where nobody has measured: a network of 10 Gbit/s between hosts, and an MPI's messages within one.
inline constexpr LogGP between_hosts{20e-6, 3e-6, 1 / 1.2e9}, within_host{0.6e-6, 0.3e-6, 1 / 5e9};
/// Bytes from which broadcasts are ours, unless they are forced. Within a host shorter ones were not measured, and communicators that have only such are spared the setting up.
inline constexpr std::int64_t least_within_host = 4 << 10, least_between_hosts = 64 << 10;
/// Bytes beyond which none is: what the MPI has to pack must fit its integers.
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
/// The same of nonblocking ones within a host. The root's copy of all of it has to be kept until everyone has been there.
inline constexpr std::int64_t least_published = 16 << 10, most_published = std::int64_t{256} << 20;
/// Seconds that a broadcast takes among ranks of one host by memory that they share (transport/shm/window.hpp): what 17 to 33 ranks took on 64 cores of a Xeon,
/// docs/measurements, 2026-11-22. More ranks hardly change it while the data fit the caches.
inline double window_cost(std::int64_t bytes) { return 3e-6 + static_cast<double>(bytes) / 6e9; }

struct Choice {
  BcastAlgorithm algorithm = BcastAlgorithm::binomial;
  std::int64_t segment = 0;  // bytes
  double seconds = 0;        // predicted
};

/// Of all that can be the one of the least cost; `b.segment` is not looked at. A pure function: all ranks find the same.
Choice choose_bcast(const Bcast& b, const LogGP& network);

}  // namespace dunnage::collective
