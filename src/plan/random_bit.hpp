// An order that looks random, and that two ranks know without a message.
#pragma once

#include <cstdint>

namespace dunnage::plan {

/// One bit of a number, as good as random. The last steps of SplitMix64 (Steele, Lea, Flood: Fast
/// splittable pseudorandom number generators, 2014, figure 13).
inline bool random_bit(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return (number ^ (number >> 31)) & 1;
}

}  // namespace dunnage::plan
