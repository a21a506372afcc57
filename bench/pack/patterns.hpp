#pragma once

#include <functional>
#include <string>
#include <vector>

#include "layout.hpp"

namespace bench {

/// Large variants are measured cold, small ones (4 to 64 KiB of payload) warm.
enum class Size { large, small };

/// How regular the layout is decides which figures a summary takes: the limit is asked of large regular patterns.
enum class Kind { contiguous, regular, irregular, transpose };

struct Pattern {
  std::string name;
  Size size;
  Kind kind;
  std::function<Layout()> layout;  ///< made when measured: index lists are long
};

const std::vector<Pattern>& patterns();

}  // namespace bench
