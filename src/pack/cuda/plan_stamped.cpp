#include "pack/cuda/plan_stamped.hpp"

#include <algorithm>
#include <iterator>

#include "pack/cuda/fused_plan.hpp"

namespace dunnage::pack::cuda {

StampedSide stamped_side(const Recipe& recipe, std::uintptr_t user) {
  StampedSide side;
  const auto& parts = recipe.parts();
  const auto suits = [&](std::uint8_t word) {
    return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
      const auto places = (user + static_cast<std::uintptr_t>(part.offset)) | static_cast<std::uintptr_t>(part.begin);
      return part.nest && largest_word(part.geometry, places) >= word && fits_fused(part, word);
    });
  };
  for (std::uint8_t word = 1; word <= stamped_word; word = static_cast<std::uint8_t>(2 * word))
    if (!parts.empty() && suits(word)) side.words += word;
  if (side.words > 0) side.entries = std::ssize(parts);
  return side;
}

std::int64_t stamped_word_of(std::int64_t from_words, std::int64_t to_words, std::int64_t size) {
  for (std::int64_t word = stamped_word; word > 0 && size > 0; word /= 2)
    if ((from_words & to_words & word) && size % word == 0 && size / word <= std::int64_t{most_stamped_words})
      return word;
  return 0;
}

void add_stamped(std::vector<FusedEntry>& entries, const Recipe& recipe, std::uintptr_t user, std::uintptr_t cells,
                 std::int64_t size, std::int64_t word) {
  for (const auto& part : recipe.parts()) {
    const auto bytes = std::min(part.size, size - part.begin);
    if (bytes <= 0) break;
    FusedEntry entry;
    entry.nest = fused_nest(part, user + static_cast<std::uintptr_t>(part.offset), 0, static_cast<std::uint8_t>(word));
    entry.packed =
        reinterpret_cast<char*>(cells + static_cast<std::uintptr_t>(part.begin / word) * sizeof(std::uint64_t));
    entry.words = static_cast<std::uint32_t>(bytes / word);
    entry.word = static_cast<std::uint32_t>(word);
    entries.push_back(entry);
  }
}

}  // namespace dunnage::pack::cuda
