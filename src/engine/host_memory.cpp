#include "engine/host_memory.hpp"

#include <sys/mman.h>

#include <bit>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace dunnage::engine {
namespace {

char* map_memory(std::size_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(mapped);
}

/// Mappings for the next messages. A receive of device data has one as large as its buffer, and most often a ticket comes, which touches one page: taking
/// memory from the system and giving it back costs ten times what that takes.
class Mappings {
 public:
  char* take(std::size_t size) {
    {
      const std::lock_guard lock(mutex_);
      if (auto& idle = idle_[std::bit_ceil(size)]; !idle.empty()) {
        auto* data = idle.back();
        idle.pop_back();
        --count_;
        return data;
      }
    }
    return map_memory(std::bit_ceil(size));
  }
  void give(char* data, std::size_t size) noexcept {
    const auto whole = std::bit_ceil(size);
    if (whole > kept) madvise(data + kept, whole - kept, MADV_DONTNEED);
    try {
      const std::lock_guard lock(mutex_);
      if (count_ < most) {
        idle_[whole].push_back(data);
        ++count_;
        return;
      }
    } catch (const std::bad_alloc&) {
    }
    munmap(data, whole);
  }

 private:
  static constexpr std::size_t kept = 2 << 20;  // bytes that may stay in memory, of each; no large page is divided
  static constexpr int most = 64;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<char*>> idle_;  // by size
  int count_ = 0;
};

Mappings& mappings() {
  static auto* all = new Mappings;  // never destroyed: calls may come from destructors at exit
  return *all;
}

}  // namespace

HostMemory::HostMemory(const device::Driver& driver, const device::Place& place, std::size_t size, std::size_t limit, bool sparse)
    : size_(size ? size : 1), sparse_(sparse) {
  if (sparse) {
    data_ = map_memory(size_);
    return;
  }
  const device::Scope scope(driver, device::context_for(driver, place));
  auto& gpu = device::Gpu::current(driver);
  data_ = gpu.pinned().take(size_, limit);
  if (data_)
    gpu_ = &gpu;
  else
    data_ = mappings().take(size_);
}

HostMemory::~HostMemory() {
  if (gpu_)
    gpu_->pinned().give(data_, size_);
  else if (data_ && sparse_)
    munmap(data_, size_);
  else if (data_)
    mappings().give(data_, size_);
}

}  // namespace dunnage::engine
