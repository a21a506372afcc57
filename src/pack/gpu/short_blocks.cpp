#include "pack/gpu/short_blocks.hpp"

#include <algorithm>
#include <cstdlib>

namespace dunnage::pack::gpu {
namespace {

/// A link between GPUs carries sectors of 32 bytes. So of short blocks in sectors of their own it
/// carries a quarter or less of use.
constexpr std::int64_t sector = 32, short_block = sector / 4;

/// A GPU waits for the translations of many small pages. 4.5 MB in blocks of 8 bytes, 2.4 KB apart,
/// took 520 us from small pages and 100 from large ones.
constexpr std::uintptr_t small_page = 4 << 10, large_page = 64 << 10;
constexpr std::int64_t span_of_many_pages = 256 << 20;

/// Whether CUDA maps the memory for another process in small pages.
bool in_small_pages(const device::Place& place) {
  const auto pages = (place.end - place.begin + small_page - 1) / small_page;
  return pages % (large_page / small_page) != 0;
}

}  // namespace

ShortBlocks short_blocks_of(const Described& data) {
  const auto& recipe = data.recipe->recipe;
  const auto wastes_the_link = [](const pack::cuda::Part& part) {
    const auto& g = part.geometry;
    return part.nest && g.block <= short_block && !g.levels.empty() && std::abs(g.levels.front().stride) >= sector;
  };
  if (!std::all_of(recipe.parts().begin(), recipe.parts().end(), wastes_the_link)) return {};
  const bool many_pages = recipe.high() - recipe.low() >= span_of_many_pages && in_small_pages(data.place);
  return {recipe.size(), recipe.size() * (many_pages ? ShortBlocks::cost_of_many_pages : 1)};
}

}  // namespace dunnage::pack::gpu
