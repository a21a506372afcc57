#pragma once

#include <chrono>
#include <cstdint>

namespace dunnage::base {

/// Of a clock that never goes back.
inline std::int64_t monotonic_nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace dunnage::base
