// What kind of memory an address is in.
#pragma once

#include <cstdint>

#include "device/driver.hpp"

namespace dunnage::device {

enum class Memory {
  host,     // nothing that the driver knows: pageable
  pinned,   // page-locked host memory, mapped into the devices
  device,
  managed,  // wherever it is used
};

struct Place {
  Memory memory = Memory::host;
  int device = -1;               // of device memory: the ordinal
  CUcontext context = nullptr;   // that it belongs to; null for memory of pools and virtual memory
  std::uintptr_t address = 0;    // as a device sees it
  std::uintptr_t begin = 0, end = 0;  // what was allocated
  unsigned long long id = 0;     // of the allocation, which no other ever has; 0 where the driver tells none

  /// Whether the host must not touch it, or had better not.
  bool on_gpu() const { return memory == Memory::device || memory == Memory::managed; }
};

/// Asks the driver. What it does not know, or cannot tell, is host memory.
Place known_place(const Driver& driver, const void* address);
/// The same. Throws Error where device memory was and now nothing is.
Place place_of(const Driver& driver, const void* address);

/// Makes a context current while it lives, and lets the thread call anything during the program's stream captures; both are
/// as before at its end. Throws Error.
class Scope {
 public:
  Scope(const Driver& driver, CUcontext context);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

 private:
  const Driver& driver_;
  bool pushed_ = false;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// A number that no other context has, now or later; where the driver is older than 12.0, its address.
unsigned long long id_of(const Driver& driver, CUcontext context);

/// A number that tells a device from all others of the host, the same in all processes, whatever ordinals they know it by; 0 where the driver does not tell.
std::uint64_t identity_of(const Driver& driver, int device);

/// The context to work on a place in: its own, or the current one of its device, or that device's primary context if it is
/// active. Throws Error where there is none.
CUcontext context_for(const Driver& driver, const Place& place);

}  // namespace dunnage::device
