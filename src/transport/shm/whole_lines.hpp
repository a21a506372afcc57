// Sizes in shared memory in whole cache lines.
#pragma once

#include <cstdint>

namespace dunnage::transport::shm {

/// The least multiple of 64 that is no less than `bytes`.
constexpr std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace dunnage::transport::shm
