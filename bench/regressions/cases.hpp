#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pack/layout.hpp"

namespace bench::regressions {

/// A layout of one size.
struct Case {
  std::string shape, size;  // the size in words, for the name of a point
  std::function<Layout()> layout;
};

/// Returns the basic shapes with about so many bytes of payload each, if a shape can be so small,
/// and then DDTBench's patterns in the pack benchmark's sizes.
std::vector<Case> cases(const std::vector<long>& sizes);

}  // namespace bench::regressions
