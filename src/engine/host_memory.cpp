#include "engine/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
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
    const auto whole = std::bit_ceil(size);
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const auto& one) { return one.size == whole; });
      if (found != idle_.end()) {
        auto* data = found->data;
        remove(found);
        return data;
      }
    }
    return map_memory(whole);
  }
  /// `limit`: of the bytes that idle ones may have in memory.
  void give(char* data, std::size_t size, std::size_t limit) noexcept {
    const Mapping one{data, std::bit_ceil(size)};
    if (one.size > most_kept) madvise(data + most_kept, one.size - most_kept, MADV_DONTNEED);
    const std::lock_guard lock(mutex_);
    if (one.size > most_addresses || kept(one) > limit) {
      munmap(data, one.size);
      return;
    }
    while (idle_.size() == most || addresses_ + one.size > most_addresses || kept_ + kept(one) > limit) {
      munmap(idle_.front().data, idle_.front().size);
      remove(idle_.begin());
    }
    idle_.push_back(one);
    addresses_ += one.size;
    kept_ += kept(one);
  }

 private:
  struct Mapping {
    char* data;
    std::size_t size;
  };
  static constexpr std::size_t most_kept = 2 << 20;  // of each; no large page is divided
  static constexpr std::size_t most_addresses = std::size_t{32} << 30, most = 64;
  static std::size_t kept(const Mapping& one) { return std::min(one.size, most_kept); }
  void remove(std::vector<Mapping>::iterator one) {
    addresses_ -= one->size;
    kept_ -= kept(*one);
    idle_.erase(one);
  }

  std::mutex mutex_;
  std::vector<Mapping> idle_ = [] {  // the oldest first
    std::vector<Mapping> none;
    none.reserve(most);
    return none;
  }();
  std::size_t addresses_ = 0, kept_ = 0;
};

Mappings& mappings() {
  static auto* all = new Mappings;  // never destroyed: calls may come from destructors at exit
  return *all;
}

}  // namespace

HostMemory::HostMemory(const device::Driver& driver, const device::Place& place, std::size_t size, std::size_t limit, bool sparse)
    : size_(size ? size : 1), limit_(limit), sparse_(sparse) {
  if (sparse) {
    data_ = map_memory(size_);
    return;
  }
  const auto context = device::context_for(driver, place);
  auto& gpu = device::Gpu::of(driver, context);
  data_ = gpu.pinned().take_idle(size_);
  if (!data_ && size_ <= limit) {
    const device::Scope scope(driver, context);
    data_ = gpu.pinned().take(size_, limit);
  }
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
    mappings().give(data_, size_, limit_);
}

}  // namespace dunnage::engine
