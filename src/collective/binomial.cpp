#include "collective/build.hpp"

namespace dunnage::collective {

Schedule bcast(BcastAlgorithm algorithm, const Bcast& b, std::int32_t rank) {
  Build build(b, rank);
  if (b.ranks < 2 || b.bytes <= 0) return {};
  switch (algorithm) {
    case BcastAlgorithm::binomial: build_binomial(build); break;
    case BcastAlgorithm::scatter_ring: build_scatter_ring(build, false); break;
    case BcastAlgorithm::scatter_open_ring: build_scatter_ring(build, true); break;
    case BcastAlgorithm::scatter_doubling: build_scatter_doubling(build); break;
    case BcastAlgorithm::chain: build_chain(build); break;
    case BcastAlgorithm::binary_tree: build_binary_tree(build); break;
    case BcastAlgorithm::circulant: build_circulant(build); break;
  }
  return std::move(build).done();
}

/// The largest subtrees first: theirs is the longest way.
void build_binomial(Build& build) {
  const auto& b = build.operation();
  const auto r = build.self();
  const Range all{0, b.bytes};
  const auto low = r == 0 ? static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(b.ranks))) : r & -r;
  if (r != 0) {
    build.receive(r - low, all);
    build.end_step();
  }
  for (auto step = low / 2; step > 0; step /= 2) {
    if (step >= b.ranks - r) continue;
    build.send(r + step, all);
    build.end_step();
  }
}

}  // namespace dunnage::collective
