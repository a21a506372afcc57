// The sizes of this processor's caches.
#pragma once

#include <cstdint>

namespace dunnage::base {

/// Returns the size of one core's second-level cache in bytes, or 1 MiB if the system does not
/// report it. The system is asked once. Thread-safe.
std::int64_t second_level_cache();

}  // namespace dunnage::base
