// Host memory for copies of device memory: page-locked if the pool has some, else pageable.
#pragma once

#include <cstddef>
#include <utility>

#include "device/gpu.hpp"
#include "device/place.hpp"

namespace dunnage::memory {

/// Memory that is aligned to a page. Its content is undefined. Movable.
class HostMemory {
 public:
  HostMemory() = default;
  /// Memory for a copy of bytes at `place`. `limit`: the most bytes that the pools may keep.
  /// `sparse`: the caller touches only a few pages, which then start as zeros. Throws
  /// device::Error, std::bad_alloc.
  HostMemory(const device::Driver& driver, const device::Place& place, std::size_t size, std::size_t limit,
             bool sparse = false);
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
  device::Gpu* gpu_ = nullptr;  // the owner of the pool; null for pageable memory
  char* data_ = nullptr;
  std::size_t size_ = 0, limit_ = 0;
  bool sparse_ = false;
};

}  // namespace dunnage::memory
