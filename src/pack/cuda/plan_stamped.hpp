// Which messages go by stamped words (stamped.hpp), and their entries in a launch.
#pragma once

#include <vector>

#include "pack/cuda/recipe.hpp"
#include "pack/cuda/stamped.hpp"

namespace dunnage::pack::cuda {

/// What a side of a message tells about stamped words.
struct StampedSide {
  std::int64_t words = 0;    // the sum of those of the word sizes 1, 2 and 4 that suit the layout; 0: none
  std::int64_t entries = 0;  // of a launch
};
/// `user`: the address of the buffer.
StampedSide stamped_side(const Recipe& recipe, std::uintptr_t user);

/// The word size of a message of `size` bytes between two sides. 0 if the message does not go like
/// that. Both ranks ask this, with equal arguments.
std::int64_t stamped_word_of(std::int64_t from_words, std::int64_t to_words, std::int64_t size);

/// Adds the entries of the first `size` bytes of a buffer, whose cells begin at an address.
void add_stamped(std::vector<FusedEntry>& entries, const Recipe& recipe, std::uintptr_t user, std::uintptr_t cells,
                 std::int64_t size, std::int64_t word);

}  // namespace dunnage::pack::cuda
