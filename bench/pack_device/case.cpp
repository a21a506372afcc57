#include "case.hpp"

#include <utility>

namespace bench {

void Case::list(std::vector<std::uint64_t> block_offsets, std::vector<std::uint64_t> block_starts) {
  offsets = std::move(block_offsets);
  starts = std::move(block_starts);
  geometry.blocks = offsets.size();
  geometry.offsets = offsets.data();
  geometry.starts = starts.empty() ? nullptr : starts.data();
}

}  // namespace bench
