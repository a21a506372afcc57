// How much the busiest link has to carry in a collective.
#pragma once

#include <algorithm>
#include <functional>

namespace bench::collectives {

/// The number of blocks that nobody sends.
inline constexpr unsigned untouched = 777;

/// How many blocks the busiest rank sends to others, or receives. `number(from, to)`: of the block
/// that rank `from` has for rank `to`.
inline int blocks_of_busiest(const std::function<unsigned(int from, int to)>& number, int ranks) {
  int most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int sent = 0, received = 0;
    for (int other = 0; other < ranks; ++other) {
      if (other == rank) continue;
      sent += number(rank, other) != untouched;
      received += number(other, rank) != untouched;
    }
    most = std::max({most, sent, received});
  }
  return most;
}

}  // namespace bench::collectives
