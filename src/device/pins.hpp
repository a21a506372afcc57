// Page-locks host memory that others have allocated, so that devices reach it.
#pragma once

#include <cstddef>

#include "device/driver.hpp"

namespace dunnage::device {

/// Page-locks memory in the current context. If that fails, or if more than `most` bytes would be
/// locked in all, the memory stays as it is and is not tried again. A context must be current.
/// Thread-safe.
void pin(const Driver& driver, void* address, std::size_t size, std::size_t most);
/// Unlocks all of that memory. To be called before any of it is unmapped. Thread-safe.
void unpin_all(const Driver& driver);

}  // namespace dunnage::device
