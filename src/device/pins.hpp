// Host memory that is not ours to allocate, page-locked for the devices.
#pragma once

#include <cstddef>

#include "device/driver.hpp"

namespace dunnage::device {

/// Page-locks memory, once; what cannot be, or would be more than `most` bytes in all, stays as it is, and is not tried again. A context must be
/// current. Thread-safe.
void pin(const Driver& driver, void* address, std::size_t size, std::size_t most);
/// Before such memory is unmapped.
void unpin_all(const Driver& driver);

}  // namespace dunnage::device
