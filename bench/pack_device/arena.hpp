// The device memory that the cases share, and the places in it that calls use in turn.
#pragma once

#include <vector>

#include "cases.hpp"
#include "device.hpp"
#include "sectors.hpp"

namespace bench {

// Bytes on both sides of the packed bytes that no call may touch.
constexpr std::uint64_t guard = 256;

/// The addresses of the user's buffer and of the packed buffer of one call.
struct Slot {
  CUdeviceptr user, packed;
};

struct Arena {
  DeviceMemory user;  ///< holds every case
  DeviceMemory packed;
};

/// Returns places of a case within the arena that share no memory. When a slot is used again, what
/// its last call touched has left the cache, unless the arena has no room for enough slots. If a
/// case does not fit at all, there are no slots.
std::vector<Slot> slots(const Case& subject, const Sectors& touched, const Arena& arena);

}  // namespace bench
