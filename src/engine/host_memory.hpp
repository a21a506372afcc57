// Host memory for copies of what is in a GPU's memory: page-locked where the pool has some, else ordinary.
#pragma once

#include <cstddef>
#include <utility>

#include "device/gpu.hpp"
#include "device/place.hpp"

namespace dunnage::engine {

/// Aligned to a page, with no particular content. Movable.
class HostMemory {
 public:
  HostMemory() = default;
  /// For bytes of `place`. `limit`: of the pools, in bytes. `sparse`: only a few of the pages will be touched; they then begin as zeros. Throws
  /// device::Error, std::bad_alloc.
  HostMemory(const device::Driver& driver, const device::Place& place, std::size_t size, std::size_t limit, bool sparse = false);
  HostMemory(HostMemory&& other) noexcept { *this = static_cast<HostMemory&&>(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(limit_, other.limit_);
    std::swap(sparse_, other.sparse_);
    return *this;
  }
  ~HostMemory();

  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  device::Gpu* gpu_ = nullptr;  // whose pool it is from; else it is of ours
  char* data_ = nullptr;
  std::size_t size_ = 0, limit_ = 0;
  bool sparse_ = false;
};

}  // namespace dunnage::engine
