// A broadcast in two levels: between hosts among one rank of each, and inside each host from that one to the others, while it goes on.
#pragma once

#include "collective/bcast.hpp"

namespace dunnage::collective {

/// Which host each rank is on: any numbers, equal on one host.
using Hosts = std::span<const std::int32_t>;

/// What `rank` does. One rank of each host, the root on its own and else the lowest, takes part in `between` with b.segment; what such a rank has received in a step it
/// passes on in the next, down a tree of its host's ranks. So the message enters each host once.
Schedule bcast_two_level(BcastAlgorithm between, const Bcast& b, Hosts host_of, std::int32_t rank);

/// How many hosts there are.
std::int32_t count_hosts(Hosts host_of);

}  // namespace dunnage::collective
