// Whether the program has loaded libraries since we last looked. Every MPI call asks this, so an
// answer must cost very little.
#pragma once

#include <link.h>

#include <atomic>
#include <string>

namespace dunnage::device {

/// An empty library of ours, which was the last in the dynamic linker's list when we last looked.
/// Later libraries follow the mark in that list. Null until enough questions justify loading the
/// mark.
extern std::atomic<const link_map*> mark;

/// Whether the mark shows that no library was loaded since watch_loads(). If false,
/// nothing_loaded() must be asked.
[[gnu::always_inline]] inline bool surely_nothing_loaded() {
  const auto* last = mark.load(std::memory_order_acquire);
  return last && __atomic_load_n(&last->l_next, __ATOMIC_RELAXED) == nullptr;
}
/// Whether no library was loaded since watch_loads(). Exact, but takes 20 ns. Thread-safe.
bool nothing_loaded();

/// Many questions will follow: the next one that nothing_loaded() is asked loads a mark.
/// Thread-safe.
void expect_questions();

/// How many libraries the process has loaded so far.
unsigned long long loads();
/// Starts watching for loads after the `before`-th. The caller must have looked for what it wants
/// after it read `before` from loads(). `folder` is where the marks are, and ends in '/'. Not
/// thread-safe.
void watch_loads(const std::string& folder, unsigned long long before);

}  // namespace dunnage::device
