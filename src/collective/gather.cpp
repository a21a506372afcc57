#include "collective/gather.hpp"

#include "collective/build.hpp"

namespace dunnage::collective {

Schedule gather(const Bcast& b, std::int32_t rank) {
  if (b.ranks < 2 || b.bytes <= 0) return {};
  Build scatter(b, rank);
  down_tree(scatter, [&](std::int32_t r) { return Range{r * b.bytes, (r + subtree(b.ranks, r)) * b.bytes}; });
  return reversed(std::move(scatter).done());
}

}  // namespace dunnage::collective
