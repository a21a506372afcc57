#include "plan/data_kind.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "base/format.hpp"

namespace dunnage::plan {

DataKind kind_of(std::string kernel, const Shape& shape, std::int64_t span) {
  const auto width = [](std::int64_t n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))); };
  return {std::move(kernel), shape.size / std::max<std::int64_t>(shape.blocks, 1), width(shape.size - 1),
          width(span / shape.size), shape.mixed};
}

std::string text(const DataKind& kind) {
  return fmt::format("up to {}, blocks of {}, {}", base::format_bytes(std::uint64_t{1} << kind.size),
                     base::format_bytes(static_cast<std::uint64_t>(kind.block)), kind.kernel);
}

}  // namespace dunnage::plan
