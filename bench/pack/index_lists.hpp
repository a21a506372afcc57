#pragma once

#include "loops.hpp"

namespace bench {

/// Returns `count` increasing places: one at random in each slot of `slot` elements, with room for
/// a block of `width`.
IndexList increasing_places(int count, int slot, int width);

/// Returns `count` distinct places below `range` in random order, each multiplied by `width`.
IndexList shuffled_places(int count, int range, int width);

}  // namespace bench
