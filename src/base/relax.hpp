// A moment's rest in a loop that waits for another core.
#pragma once

namespace dunnage::base {

/// Leaves what this core shares to its other thread, some tens of nanoseconds long.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("isb");  // `yield` does nothing on most processors
#endif
}

}  // namespace dunnage::base
