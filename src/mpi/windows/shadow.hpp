// Host memory in place of a window's device memory: the public copy of a window in the separate
// memory model (MPI 4.1, section 12.4). The device memory is the private copy.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/driver.hpp"

namespace dunnage::mpi {

/// Thread-safe.
class Shadow {
 public:
  /// For `size` bytes of device memory. Null if the host has no addresses for that. The content is
  /// zeros, and takes no memory before begin() or before the MPI writes to it.
  static std::unique_ptr<Shadow> make(void* device, std::int64_t size);
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  ~Shadow();

  /// What the MPI is given as the window's memory.
  void* data() const { return public_; }
  void* device() const { return private_; }

  /// Makes both copies equal. To be called before the MPI makes the window. Throws device::Error,
  /// std::bad_alloc.
  void begin();
  /// Brings to the public copy what the program has stored since the copies were equal. Throws
  /// device::Error.
  void publish();
  /// Brings to the device what other ranks have put since the copies were equal. Writes no other
  /// byte there. Throws device::Error, std::bad_alloc.
  void fetch();

 private:
  Shadow(void* device, std::int64_t size) : private_(static_cast<char*>(device)), size_(size) {}
  void write(const std::vector<char>& packed, const std::vector<std::int64_t>& offsets,
             const std::vector<std::int64_t>& lengths) const;

  char* const private_;
  const std::int64_t size_;
  void* mapped_ = nullptr;
  std::size_t mapped_size_ = 0;
  char* public_ = nullptr;
  std::mutex mutex_;
  std::vector<char> equal_;  // the bytes of both copies when they were equal; empty before begin()
};

}  // namespace dunnage::mpi
