// Pooled memory for packed messages. Fresh memory costs a page fault for every 4 KiB, more than packing them does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dunnage::engine {

class StagingPool;

/// A buffer that goes back to its pool. Movable; empty where there was no memory.
class Staging {
 public:
  Staging() = default;
  /// Memory from elsewhere, which `owner` keeps. `device`: of a device, where the host must not touch it.
  Staging(std::shared_ptr<const void> owner, char* data, bool device = false) : owner_(std::move(owner)), data_(data), device_(device) {}
  Staging(Staging&& other) noexcept { *this = static_cast<Staging&&>(other); }
  Staging& operator=(Staging&& other) noexcept;
  ~Staging();

  char* data() const { return data_; }
  bool on_device() const { return device_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  friend class StagingPool;
  Staging(StagingPool* pool, char* data, int shelf) : pool_(pool), data_(data), shelf_(shelf) {}
  StagingPool* pool_ = nullptr;  // null where there is an owner
  std::shared_ptr<const void> owner_;
  char* data_ = nullptr;
  int shelf_ = 0;
  bool device_ = false;
};

/// Thread-safe. Sizes are rounded up to powers of two; at most `idle_limit` bytes are kept unused.
class StagingPool {
 public:
  explicit StagingPool(std::uint64_t idle_limit) : idle_limit_(idle_limit) {}
  ~StagingPool();

  /// At least `size` bytes, aligned to a cache line; empty where there is no memory.
  Staging take(std::int64_t size);
  std::uint64_t idle_bytes() const;

 private:
  friend class Staging;
  void give_back(char* data, int shelf) noexcept;

  static constexpr int smallest = 8;  // 256 bytes
  std::uint64_t idle_limit_;
  std::uint64_t idle_ = 0;
  mutable std::mutex mutex_;
  std::array<std::vector<char*>, 64> shelves_;
};

}  // namespace dunnage::engine
