// The layout of a line of `dunnage info`.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace dunnage::tool {

inline void line(std::string_view name, std::string_view value) { fmt::print("  {:<22} {}\n", name, value); }

}  // namespace dunnage::tool
