// Tells, without asking the driver, that an address is certainly host memory.
#pragma once

#include <cstdint>

#include "device/driver.hpp"

namespace dunnage::device {

/// The end of the heap, as the C library knows it. sbrk(0) costs a system call where UCX replaces
/// it.
extern "C" __attribute__((weak)) void* __curbrk;

/// The end of the calling thread's stack, or 0 before find_stack_end() was called.
extern constinit thread_local std::uintptr_t stack_end;
void find_stack_end();

/// Whether an address is in the heap that grows from the program's end, or in the stack frames
/// above this one.
[[gnu::noinline]] inline bool in_heap_or_stack(const void* address) {
  if (!&__curbrk) return false;
  static const auto heap = reinterpret_cast<std::uintptr_t>(__curbrk);  // memory below it cannot be a device's either
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  constexpr std::uintptr_t before = 16 << 20;
  if (at >= heap - before && at < reinterpret_cast<std::uintptr_t>(__curbrk)) return true;
  if (stack_end == 0) find_stack_end();
  return at >= reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) && at < stack_end;
}

/// Returns true if there is no driver, or if the address is in the heap or on the stack. Other
/// addresses may be host memory too. Takes a few nanoseconds.
[[gnu::always_inline]] inline bool surely_host(const void* address) {
  return surely_no_driver() || in_heap_or_stack(address);
}

}  // namespace dunnage::device
