// Random nests of loops as the text of a datatype.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "random_spec.hpp"

namespace dunnage::tests {

/// A vector of vectors of ... of blocks, `size` bytes in all; `unit`: what everything is a multiple
/// of.
inline std::string random_nest(RandomSpec& random, std::int64_t size, std::int64_t unit) {
  auto words = size / unit;
  const auto factor = [&](std::int64_t most) {
    std::int64_t f = 1;
    for (auto k = random.between(1, most); k > 1; --k)
      if (words % k == 0) {
        f = k;
        break;
      }
    words /= f;
    return f;
  };
  const auto block = factor(12);
  auto text = "contiguous(" + std::to_string(block * unit) + ",byte)";
  auto extent = block * unit;
  for (auto levels = random.between(1, 4); levels >= 1; --levels) {
    const auto count = levels == 1 ? words : factor(20);
    const auto stride = (extent / unit + random.between(0, 5)) * unit * (random.between(0, 4) == 0 ? -1 : 1);
    text = "hvector(" + std::to_string(count) + ",1," + std::to_string(stride) + "," + text + ")";
    extent = std::abs(stride) * count;
  }
  return text;
}

}  // namespace dunnage::tests
