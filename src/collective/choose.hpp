// Which broadcast between hosts, by the costs of all.
#pragma once

#include <vector>

#include "collective/cost.hpp"
#include "plan/bcast_figures.hpp"

namespace dunnage::collective {

/// In seconds.
constexpr LogGP network(const plan::NetworkCosts& ns) { return {1e-9 * ns.latency, 1e-9 * ns.overhead, 1e-9 * ns.byte}; }
/// Bytes from which broadcasts between hosts are ours, unless they are forced.
inline constexpr std::int64_t least_between_hosts = 64 << 10;
/// Bytes beyond which none is: what the MPI has to pack must fit its integers.
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
/// The same of nonblocking ones within a host. The root's copy of all of it has to be kept until everyone has been there.
inline constexpr std::int64_t least_published = 16 << 10, most_published = std::int64_t{256} << 20;

struct Choice {
  BcastAlgorithm algorithm = BcastAlgorithm::binomial;
  std::int64_t segment = 0;  // bytes
  double seconds = 0;        // predicted
};

/// All that can be, but for the closed ring, which does what the opened one does, and more; the one of the least cost first. `b.segment` is not looked at.
std::vector<Choice> bcast_choices(const Bcast& b, const LogGP& network);
/// The first of them. A pure function: all ranks that have the same figures find the same.
Choice choose_bcast(const Bcast& b, const LogGP& network);

}  // namespace dunnage::collective
