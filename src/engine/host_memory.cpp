#include "engine/host_memory.hpp"

#include <sys/mman.h>

#include <new>

namespace dunnage::engine {

HostMemory::HostMemory(const device::Driver& driver, const device::Place& place, std::size_t size, std::size_t limit, bool sparse)
    : size_(size ? size : 1) {
  if (!sparse) {
    const device::Scope scope(driver, device::context_for(driver, place));
    auto& gpu = device::Gpu::current(driver);
    data_ = gpu.pinned().take(size_, limit);
    if (data_) gpu_ = &gpu;
  }
  if (data_) return;
  void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (sparse ? MAP_NORESERVE : 0), -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char*>(mapped);
}

HostMemory::~HostMemory() {
  if (gpu_)
    gpu_->pinned().give(data_, size_);
  else if (data_)
    munmap(data_, size_);
}

}  // namespace dunnage::engine
