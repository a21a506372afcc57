// The buffers of some edges of an operation, which most often come again.
#pragma once

#include <vector>

#include "memory/buffer.hpp"
#include "mpi/neighbours/edges.hpp"

namespace dunnage::mpi {

/// What a buffer is told by, from one call to the next.
struct Side {
  Side(const EdgeData& data);
  bool operator==(const Side&) const = default;
  bool told() const { return type != 0 || count == 0; }
  const void* buffer;
  std::int64_t count;
  std::uint64_t type;  // KnownType::number(); 0 if it is not known, or not one that kernels move
};

/// Allocations of device memory, by which it is known later whether they are still there.
class Allocations {
 public:
  /// Returns false if the buffer is not in device memory, or cannot be told from other memory.
  bool add(const memory::Buffer& buffer);
  bool there() const;
  void clear() { all_.clear(); }

 private:
  struct Allocation {
    const void* address;
    unsigned long long id;
  };
  std::vector<Allocation> all_;
};

/// Not thread-safe.
class EdgeBuffers {
 public:
  /// Takes the buffers at some places of `data`. Returns whether one of them has changed. Throws
  /// device::Error, std::bad_alloc; then there are no buffers.
  bool take(const std::vector<EdgeData>& data, const std::vector<std::size_t>& places);
  /// Whether the device memory is still that of the last take().
  bool there() const { return allocations_.there(); }
  std::size_t count() const { return all_.size(); }
  /// Empty if there are no data.
  const memory::Buffer& operator[](std::size_t i) const { return all_[i].buffer; }
  std::int64_t bytes(std::size_t i) const { return all_[i].buffer ? all_[i].buffer.size() : 0; }
  std::int64_t bytes() const;

 private:
  struct One {
    Side side;
    memory::Buffer buffer;
  };
  std::vector<One> all_;
  Allocations allocations_;
};

}  // namespace dunnage::mpi
