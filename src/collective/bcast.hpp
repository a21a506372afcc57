// The broadcasts, each as a schedule for every rank. All are right for any number of ranks, any root and any number of bytes, but where
// something else is said.
#pragma once

#include <array>
#include <bit>
#include <string_view>

#include "collective/schedule.hpp"

namespace dunnage::collective {

struct Bcast {
  std::int32_t ranks = 1, root = 0;
  std::int64_t bytes = 0;
  std::int64_t segment = 0;  // bytes of each but the last, of those that go in segments; 0: all at once
};

enum class BcastAlgorithm : std::uint8_t {
  binomial,            // the whole message down a binomial tree
  scatter_ring,        // a binomial scatter, then a ring in which everyone gets all chunks, also those that it has: MPICH's
  scatter_open_ring,   // the ring opened: nobody gets what it has
  scatter_doubling,    // a binomial scatter, then recursive doubling; the number of ranks must be a power of two
  chain,               // segments from each rank to the next
  binary_tree,         // segments down a binary tree
  circulant,           // segments along a circulant graph, in the fewest rounds
};
inline constexpr std::array bcast_names = {std::string_view("binomial"),         std::string_view("scatter-ring"), std::string_view("scatter-open-ring"),
                                           std::string_view("scatter-doubling"), std::string_view("chain"),        std::string_view("binary-tree"),
                                           std::string_view("circulant")};
inline constexpr std::array all_bcast_algorithms = {BcastAlgorithm::binomial, BcastAlgorithm::scatter_ring, BcastAlgorithm::scatter_open_ring, BcastAlgorithm::scatter_doubling,
                                                    BcastAlgorithm::chain,    BcastAlgorithm::binary_tree,  BcastAlgorithm::circulant};
static_assert(all_bcast_algorithms.size() == bcast_names.size());
constexpr std::string_view text(BcastAlgorithm a) { return bcast_names[static_cast<std::size_t>(a)]; }

/// Whether an algorithm can do it at all.
constexpr bool possible(BcastAlgorithm a, const Bcast& b) {
  return a != BcastAlgorithm::scatter_doubling || std::has_single_bit(static_cast<std::uint32_t>(b.ranks));
}
/// Whether it sends segments.
constexpr bool in_segments(BcastAlgorithm a) { return a >= BcastAlgorithm::chain; }

/// What `rank` does. Nothing for one rank and for no bytes.
Schedule bcast(BcastAlgorithm algorithm, const Bcast& b, std::int32_t rank);

// What follows is in ranks relative to the root, which is 0.

/// The part of the message that rank `i` has in its name after a scatter: of as many bytes as any other's, but for 64 of them, in whole cache lines
/// where there are enough of these.
Range chunk(const Bcast& b, std::int32_t i);
/// Those of ranks [first, last).
inline Range chunks(const Bcast& b, std::int32_t first, std::int32_t last) { return {chunk(b, first).begin, chunk(b, last - 1).end}; }
/// How many ranks a rank's subtree of the binomial tree has, with itself: it holds their chunks after the scatter.
constexpr std::int32_t subtree(std::int32_t ranks, std::int32_t rank) {
  const auto low = rank == 0 ? ranks : rank & -rank;
  return low < ranks - rank ? low : ranks - rank;
}

/// Messages that a ring among all has, and how many of them are saved where it is opened: the sum of subtree() - 1 (seed document 5).
constexpr std::int64_t ring_messages(std::int32_t ranks) { return std::int64_t{ranks} * (ranks - 1); }
constexpr std::int64_t saved_messages(std::int32_t ranks) {
  std::int64_t saved = 0;
  for (std::int32_t r = 0; r < ranks; ++r) saved += subtree(ranks, r) - 1;
  return saved;
}

}  // namespace dunnage::collective
