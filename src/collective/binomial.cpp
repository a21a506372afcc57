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

void build_binomial(Build& build) {
  down_tree(build, [&](std::int32_t) { return Range{0, build.operation().bytes}; });
}

}  // namespace dunnage::collective
