// Which kind of memory an address is in.
#pragma once

#include <cstdint>

#include "device/driver.hpp"

namespace dunnage::device {

enum class Memory {
  host,    // pageable host memory, or any memory that the driver does not know
  pinned,  // page-locked host memory, which devices can reach
  device,
  managed,  // moves between host and devices
};

struct Place {
  Memory memory = Memory::host;
  int device = -1;                    // the ordinal of the device; -1 for pageable memory
  CUcontext context = nullptr;        // the owner; null for memory of pools and virtual memory
  std::uintptr_t address = 0;         // as a device sees the address
  std::uintptr_t begin = 0, end = 0;  // the whole allocation
  unsigned long long id = 0;          // of the allocation, never used again; 0 if the driver gives none

  /// Whether the host must not touch the memory (device), or should not because pages would move
  /// (managed).
  bool on_gpu() const { return memory == Memory::device || memory == Memory::managed; }
};

/// The place of an address, by the driver. If the driver does not know the address, the memory is
/// pageable.
Place known_place(const Driver& driver, const void* address);
/// As known_place(), but throws Error if the address was in device memory that has been freed.
Place place_of(const Driver& driver, const void* address);

/// Makes a context current, and lets the thread call every function although the program captures a
/// stream. The destructor restores both. The constructor throws Error.
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

/// A number that no other context has, now or later. If the driver is older than CUDA 12.0, the
/// context's address.
unsigned long long id_of(const Driver& driver, CUcontext context);

/// A number that identifies a device among all devices of the host, whatever its ordinal is in a
/// process. 0 if the driver does not tell.
std::uint64_t identity_of(const Driver& driver, int device);

/// Whether the kernels of several processes run on a device at a time, by MPS.
bool uses_mps(const Driver& driver, int device);

/// The multiprocessors of a device. 0 if the driver does not tell.
int multiprocessors(const Driver& driver, int device);

/// The context for work on a place: the place's own context, else the current context if it is on
/// that device, else the device's primary context if that is active. Throws Error if there is none.
CUcontext context_for(const Driver& driver, const Place& place);

}  // namespace dunnage::device
