// The broadcasts. Each algorithm is a schedule for every rank. Unless an algorithm says otherwise,
// it is correct for any number of ranks, any root and any number of bytes.
#pragma once

#include <array>
#include <bit>
#include <string_view>

#include "collective/schedule.hpp"

namespace dunnage::collective {

/// A broadcast: among how many ranks, from which rank, how long, and in which segments.
struct Bcast {
  std::int32_t ranks = 1, root = 0;
  std::int64_t bytes = 0;
  /// Bytes of each segment but the last, for algorithms that send segments. 0 means one segment.
  std::int64_t segment = 0;
};

/// Every algorithm and its name in settings and reports. Algorithms that send segments stand last.
///
/// binomial           the whole message goes down a binomial tree;
/// scatter-ring       a binomial scatter, then a closed ring in which each rank gets all chunks and
///                    its own too: MPICH's algorithm. Dunnage never chooses it; benchmarks compare it;
/// scatter-open-ring  the opened ring: no rank gets a chunk that it has;
/// scatter-doubling   a binomial scatter, then recursive doubling, for powers of two ranks;
/// chain              segments go from each rank to the next;
/// binary-tree        segments go down a binary tree;
/// circulant          segments go along a circulant graph, in the fewest rounds.
// clang-format off
#define DUNNAGE_BCAST_ALGORITHMS(row) \
  row(binomial, "binomial") \
  row(scatter_ring, "scatter-ring") \
  row(scatter_open_ring, "scatter-open-ring") \
  row(scatter_doubling, "scatter-doubling") \
  row(chain, "chain") \
  row(binary_tree, "binary-tree") \
  row(circulant, "circulant")
// clang-format on

#define DUNNAGE_BCAST_NAME(name, text) name,
enum class BcastAlgorithm : std::uint8_t { DUNNAGE_BCAST_ALGORITHMS(DUNNAGE_BCAST_NAME) };
#undef DUNNAGE_BCAST_NAME

/// The names, indexed by BcastAlgorithm.
#define DUNNAGE_BCAST_TEXT(name, text) std::string_view(text),
inline constexpr std::array bcast_names = {DUNNAGE_BCAST_ALGORITHMS(DUNNAGE_BCAST_TEXT)};
#undef DUNNAGE_BCAST_TEXT

#define DUNNAGE_BCAST_VALUE(name, text) BcastAlgorithm::name,
inline constexpr std::array all_bcast_algorithms = {DUNNAGE_BCAST_ALGORITHMS(DUNNAGE_BCAST_VALUE)};
#undef DUNNAGE_BCAST_VALUE
#undef DUNNAGE_BCAST_ALGORITHMS

constexpr std::string_view text(BcastAlgorithm a) { return bcast_names[static_cast<std::size_t>(a)]; }

/// Returns whether the algorithm can do this broadcast.
constexpr bool possible(BcastAlgorithm a, const Bcast& b) {
  return a != BcastAlgorithm::scatter_doubling || std::has_single_bit(static_cast<std::uint32_t>(b.ranks));
}
/// Returns whether the algorithm sends segments.
constexpr bool in_segments(BcastAlgorithm a) { return a >= BcastAlgorithm::chain; }

/// Returns what `rank` does: nothing if there is one rank or if there are no bytes.
Schedule bcast(BcastAlgorithm algorithm, const Bcast& b, std::int32_t rank);

// The functions below take ranks relative to the root, which is 0.

/// Returns the chunk of the message that belongs to rank `i` after a scatter. The lengths of two
/// chunks differ by at most 64 bytes. If each rank can have a whole cache line, chunks consist of
/// whole cache lines.
Range chunk(const Bcast& b, std::int32_t i);
/// Returns the chunks of ranks [first, last).
inline Range chunks(const Bcast& b, std::int32_t first, std::int32_t last) {
  return {chunk(b, first).begin, chunk(b, last - 1).end};
}
/// Returns the number of ranks in a rank's subtree of the binomial tree, the rank included. After
/// the scatter the rank has the chunks of all these ranks.
constexpr std::int32_t subtree(std::int32_t ranks, std::int32_t rank) {
  const auto low = rank == 0 ? ranks : rank & -rank;
  return low < ranks - rank ? low : ranks - rank;
}

/// Returns the number of messages of a ring among all ranks.
constexpr std::int64_t ring_messages(std::int32_t ranks) { return std::int64_t{ranks} * (ranks - 1); }
/// Returns how many messages of the ring are saved if it is opened: the sum of subtree() - 1 over
/// all ranks (H. Zhou et al., see collective/scatter.cpp).
constexpr std::int64_t saved_messages(std::int32_t ranks) {
  std::int64_t saved = 0;
  for (std::int32_t r = 0; r < ranks; ++r) saved += subtree(ranks, r) - 1;
  return saved;
}

}  // namespace dunnage::collective
