// Pooled memory for packed messages. New memory costs a page fault for every 4 KiB, which takes
// longer than packing 4 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/pool.hpp"
#include "memory/budget.hpp"

namespace dunnage::memory {

class StagingPool;

/// A buffer that returns to its pool when it is destroyed. Movable. Empty if there was no memory.
class Staging {
 public:
  Staging() = default;
  /// Memory that `owner` keeps alive. `device`: the memory is on a device, and the host must not
  /// touch it.
  Staging(std::shared_ptr<const void> owner, char* data, bool device = false)
      : owner_(std::move(owner)), data_(data), device_(device) {}
  Staging(Staging&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        owner_(std::move(other.owner_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(other.size_),
        device_(std::exchange(other.device_, false)),
        part_(std::move(other.part_)) {}
  Staging& operator=(Staging&& other) noexcept;
  ~Staging() {
    if (pool_) give_back();
  }

  char* data() const { return data_; }
  bool on_device() const { return device_; }
  /// The memory counts as that part of a budget.
  void count_as(Budget::Part part) { part_ = std::move(part); }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  friend class StagingPool;
  Staging(StagingPool* pool, char* data, std::size_t size) : pool_(pool), data_(data), size_(size) {}
  void give_back() const;
  StagingPool* pool_ = nullptr;  // null if there is an owner
  std::shared_ptr<const void> owner_;
  char* data_ = nullptr;
  std::size_t size_ = 0;  // bytes that were asked for
  bool device_ = false;
  Budget::Part part_;
};

/// Memory from the heap, aligned to a cache line.
struct HeapSource {
  using Block = char*;
  static constexpr int smallest = 8;  // 256 bytes
  static constexpr bool makes_room = false;
  char* make(std::size_t bytes) noexcept;
  void free(char* data, std::size_t bytes) noexcept;
};

/// Thread-safe. Sizes are rounded up to powers of two; at most `idle_limit` bytes are kept unused.
class StagingPool {
 public:
  explicit StagingPool(std::uint64_t idle_limit) : idle_limit_(idle_limit) {}
  ~StagingPool() { pool_.release(); }

  /// At least `size` bytes, aligned to a cache line. Empty if there is no memory.
  Staging take(std::int64_t size);
  std::uint64_t idle_bytes() const { return pool_.idle().bytes(); }

 private:
  friend class Staging;

  const std::uint64_t idle_limit_;
  base::Pool<HeapSource> pool_;
};

}  // namespace dunnage::memory
