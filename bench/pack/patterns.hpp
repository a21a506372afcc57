#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layout.hpp"

namespace bench {

/// Large variants are measured cold. Small variants have 4 to 64 KiB of payload and are measured
/// warm.
enum class Size { large, small };

/// How regular the layout is. A summary compares large regular patterns with the limit.
enum class Kind { contiguous, regular, irregular, transpose };

struct Pattern {
  std::string name;
  Size size;
  Kind kind;
  /// Called when the pattern is measured, because index lists are long.
  std::function<Layout()> layout;
};

const std::vector<Pattern>& patterns();

}  // namespace bench
