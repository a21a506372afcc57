// Whether libraries have been loaded since we last looked, asked so often that it must cost next to nothing.
#pragma once

#include <link.h>

#include <atomic>
#include <string>

namespace dunnage::device {

/// A library of ours with nothing in it that stood last in the dynamic linker's list when we last looked. What comes later stands
/// behind it. Null until it has been asked often enough to be worth its loading.
extern std::atomic<const link_map*> mark;

/// Whether none has been loaded since watch_loads(), told by the mark alone.
inline bool surely_nothing_loaded() {
  const auto* last = mark.load(std::memory_order_acquire);
  return last && __atomic_load_n(&last->l_next, __ATOMIC_RELAXED) == nullptr;
}
/// The same for certain, at 20 ns. Thread-safe.
bool nothing_loaded();

/// How many have been loaded so far.
unsigned long long loads();
/// From when loads() was `before` on; to be called when one has looked since. `folder`: where those libraries are, ending in '/'. By one thread at
/// a time.
void watch_loads(const std::string& folder, unsigned long long before);

}  // namespace dunnage::device
