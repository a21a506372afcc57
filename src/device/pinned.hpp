// Page-locked host memory of one context, kept for the next copies: making it takes far longer than
// using it.
#pragma once

#include <cstddef>

#include "base/pool.hpp"
#include "device/driver.hpp"

namespace dunnage::device {

/// Page-locked host memory from the driver. A context must be current.
struct PinnedSource {
  using Block = char*;
  static constexpr int smallest = 12;        // 4 KiB
  static constexpr bool makes_room = false;  // freeing page-locked memory waits for the device
  char* make(std::size_t bytes) {
    void* data = nullptr;
    return driver.cuMemAllocHost(&data, bytes) == CUDA_SUCCESS ? static_cast<char*>(data) : nullptr;
  }
  void free(char* data, std::size_t) { driver.cuMemFreeHost(data); }

  const Driver& driver;
};

/// The memory is made in the context that is current during take() and can be used in every
/// context. release() needs the pool's context to be current. Memory that is given back after
/// release() ends with the context. Thread-safe.
class PinnedPool : public base::Pool<PinnedSource> {
 public:
  explicit PinnedPool(const Driver& driver) : Pool(PinnedSource{driver}) {}
};

}  // namespace dunnage::device
