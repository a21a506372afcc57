#include "pack/cpu/prefetch.hpp"

#include <cstdlib>

namespace dunnage::pack {

Prefetch prefetch_of(base::ProcessorKind kind, Direction direction, std::int64_t block, std::int64_t stride) {
  constexpr std::int64_t line = 64, page = 4096;
  using Kind = base::ProcessorKind;
  const auto distance = std::llabs(stride);
  // The hardware follows strides of up to half a page on Zen 5.
  if (distance < (kind == Kind::zen5 ? page / 2 : direction == Direction::pack ? 3 * line : 2 * line))
    return Prefetch::none;
  // Batches gain if each block is a line of its own and pages have several of them.
  if (kind == Kind::zen3 || kind == Kind::zen4)
    return block <= line && distance < page / 4 ? Prefetch::batches : Prefetch::second_level;
  // If blocks have several lines, many lines of the user's memory are on their way anyway.
  // Prefetching more of them keeps the lines that will be written from coming.
  constexpr std::int64_t longest = 1024;
  if (kind == Kind::intel && direction == Direction::pack && block > line && block <= longest && distance < page)
    return Prefetch::packed;
  // A store waits for its line in the first level. Far strides miss the translation as well, and
  // take the first level's few places for long.
  const bool near = kind != Kind::zen5 && direction == Direction::unpack && distance < page;
  return near ? Prefetch::first_level : Prefetch::second_level;
}

}  // namespace dunnage::pack
