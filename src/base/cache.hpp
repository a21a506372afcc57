// The sizes of this processor's caches.
#pragma once

#include <cstdint>

namespace dunnage::base {

/// Bytes of one core's second-level cache; 1 MiB where the system does not say. Asked once.
std::int64_t second_level_cache();

}  // namespace dunnage::base
