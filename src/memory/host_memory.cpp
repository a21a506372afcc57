#include "memory/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/pool.hpp"

namespace dunnage::memory {
namespace {

/// Null if there is no memory.
char* map_memory(std::size_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
}

constexpr std::size_t most_kept = 2 << 20;  // bytes of each idle mapping that stay in memory; no large page is divided

struct MappingSource {
  using Block = char*;
  static constexpr int smallest = 12;  // a page
  static constexpr bool makes_room = true;
  char* make(std::size_t bytes) { return map_memory(bytes); }
  void free(char* data, std::size_t bytes) { munmap(data, bytes); }
};

/// Counts idle mappings. `most` limits the bytes that they keep in memory.
class IdleMappings {
 public:
  bool fits(std::uint64_t bytes, std::uint64_t most) const {
    return count_ < 64 && addresses_ + bytes <= std::uint64_t{32} << 30 && kept_ + kept(bytes) <= most;
  }
  void add(std::uint64_t bytes) { ++count_, addresses_ += bytes, kept_ += kept(bytes); }
  void remove(std::uint64_t bytes) { --count_, addresses_ -= bytes, kept_ -= kept(bytes); }

 private:
  static std::uint64_t kept(std::uint64_t bytes) { return std::min<std::uint64_t>(bytes, most_kept); }
  std::uint64_t count_ = 0, addresses_ = 0, kept_ = 0;
};

/// Mappings for the next messages. A receive of device data maps as much as its buffer is large.
/// Most often only a ticket arrives, which touches one page, and then mapping and unmapping would
/// take ten times as long as the rest.
class Mappings {
 public:
  /// Throws std::bad_alloc.
  char* take(std::size_t size) {
    if (auto* data = pool_.take(size)) return data;
    throw std::bad_alloc();
  }
  /// `limit`: the most bytes that idle mappings keep in memory.
  void give(char* data, std::size_t size, std::size_t limit) noexcept {
    const auto bytes = Pool::rounded(size);
    if (bytes > most_kept) madvise(data + most_kept, bytes - most_kept, MADV_DONTNEED);
    pool_.give(data, size, limit);
  }

 private:
  using Pool = base::Pool<MappingSource, IdleMappings>;
  Pool pool_;
};

Mappings& mappings() {
  static auto* all = new Mappings;  // never destroyed: calls may come from destructors at exit
  return *all;
}

}  // namespace

HostMemory::HostMemory(const device::Driver& driver, const device::Place& place, std::size_t size, std::size_t limit,
                       bool sparse)
    : size_(size ? size : 1), limit_(limit), sparse_(sparse) {
  if (sparse) {
    data_ = map_memory(size_);
    if (!data_) throw std::bad_alloc();
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

}  // namespace dunnage::memory
