#include "device/loads.hpp"

#include <dlfcn.h>

namespace dunnage::device {
namespace {

constexpr int marks = DUNNAGE_MARKS;  // how many empty libraries we have; each can be loaded once
constexpr unsigned often = 1000;      // after so many slow answers, loading a mark pays

std::atomic<unsigned long long> seen{0};  // the number of loads when we last looked
std::atomic<unsigned> asked{0};
std::atomic<int> placed{0};

unsigned long long count_loads() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;  // every entry has the same count, so the first is enough
      },
      &count);
  return count;
}

}  // namespace

std::atomic<const link_map*> mark{nullptr};

bool nothing_loaded() {
  if (count_loads() != seen.load(std::memory_order_relaxed)) return false;
  return placed.load(std::memory_order_relaxed) == marks || asked.fetch_add(1, std::memory_order_relaxed) < often;
}

void expect_questions() { asked.store(often + 1, std::memory_order_relaxed); }

unsigned long long loads() { return count_loads(); }

void watch_loads(const std::string& folder, unsigned long long before) {
  if (asked.exchange(0, std::memory_order_relaxed) > often && placed.load(std::memory_order_relaxed) < marks) {
    const auto path = folder + "mark-" + std::to_string(placed.fetch_add(1, std::memory_order_relaxed)) + ".so";
    link_map* place = nullptr;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded
    // If another thread has loaded a library meanwhile, that library may be in the list before the
    // mark although nobody has looked at it. The mark is then of no use.
    const bool alone = count_loads() == before + 1;
    if (library && alone && dlinfo(library, RTLD_DI_LINKMAP, &place) == 0) mark.store(place, std::memory_order_release);
    before += library && alone;
  }
  seen.store(before, std::memory_order_relaxed);
}

}  // namespace dunnage::device
