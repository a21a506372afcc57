// Chooses the broadcast between hosts by the costs of all algorithms.
#pragma once

#include <vector>

#include "collective/cost.hpp"
#include "plan/bcast_figures.hpp"

namespace dunnage::collective {

/// Converts costs from nanoseconds to seconds.
constexpr LogGP network(const plan::NetworkCosts& ns) {
  return {1e-9 * ns.latency, 1e-9 * ns.overhead, 1e-9 * ns.byte};
}
/// The length, in bytes, from which broadcasts between hosts are Dunnage's, unless DUNNAGE_BCAST
/// forces them.
inline constexpr std::int64_t least_between_hosts = 64 << 10;
/// The length, in bytes, above which a broadcast is the MPI's. The length of the data that the MPI
/// packs must fit in an int.
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
/// The shortest and the longest nonblocking broadcast within a host that is Dunnage's, in bytes. A
/// copy of all of the root's data must be kept until every rank has read it.
inline constexpr std::int64_t least_published = 16 << 10, most_published = std::int64_t{256} << 20;

/// An algorithm with its segments and its predicted time.
struct Choice {
  BcastAlgorithm algorithm = BcastAlgorithm::binomial;
  std::int64_t segment = 0;  // bytes
  double seconds = 0;        // predicted
};

/// Returns all possible algorithms, the cheapest first. The closed ring is left out, because the
/// opened ring sends fewer messages. `b.segment` is ignored.
std::vector<Choice> bcast_choices(const Bcast& b, const LogGP& network);
/// Returns the cheapest algorithm. A pure function: ranks with the same figures get the same
/// result.
Choice choose_bcast(const Bcast& b, const LogGP& network);

}  // namespace dunnage::collective
