// How one process names an allocation of device memory to another process.
#pragma once

#include <cstdint>

#include "device/driver.hpp"

namespace dunnage::device {

/// An allocation as its process exports it. Plain bytes, because they are sent to other processes.
struct Exported {
  // by_handle: `handle` is enough. by_descriptor: the owner must have passed a file descriptor
  // before (device/passed.hpp). own: this process is the owner, for which the driver opens no
  // handle.
  enum Way : std::uint32_t { by_handle, by_descriptor, own };
  unsigned char handle[64];
  std::uint64_t begin, size;  // address and bytes in the owning process
  std::uint64_t id;           // the owning process never gives this number to another allocation
  std::int32_t device;        // its ordinal in the owning process
  std::int32_t owner;         // a number that identifies the owning process
  std::uint32_t way, unused;
};
static_assert(sizeof(CUipcMemHandle) == sizeof Exported::handle);

}  // namespace dunnage::device
