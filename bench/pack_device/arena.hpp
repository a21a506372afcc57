// The device memory that the cases share, and the places in it that calls take turns with.
#pragma once

#include <vector>

#include "cases.hpp"
#include "device.hpp"
#include "sectors.hpp"

namespace bench {

constexpr std::uint64_t guard = 256;  // bytes on both sides of packed ones that nobody may touch

/// The user's buffer and the packed one of one call, as addresses.
struct Slot {
  CUdeviceptr user, packed;
};

struct Arena {
  DeviceMemory user;    ///< holds every case
  DeviceMemory packed;
};

/// Places of a case within the arena that share no memory, enough of them that what a call touches has left the cache
/// when its slot comes again; fewer where there is no room for more, and none where there is no room at all.
std::vector<Slot> slots(const Case& subject, const Sectors& touched, const Arena& arena);

}  // namespace bench
