// The buffers of some edges of an operation, which most often come again.
#pragma once

#include <span>
#include <vector>

#include "memory/buffer.hpp"
#include "mpi/lines/edge_data.hpp"

namespace dunnage::mpi {

/// What a buffer is told by, from one call to the next.
struct Side {
  Side(const EdgeData& data);
  /// A buffer that somebody keeps who has that number.
  explicit Side(std::uint64_t keeper) : buffer(nullptr), count(0), type(0), keeper(keeper) {}
  bool operator==(const Side&) const = default;
  bool told() const { return keeper != 0 || type != 0 || count == 0; }
  const void* buffer;
  std::int64_t count;
  std::uint64_t type;  // KnownType::number(); 0 if it is not known, or not one that kernels move
  std::uint64_t keeper = 0;
};

/// A number for somebody who keeps a buffer. Each call returns another. Thread-safe.
std::uint64_t next_keeper();

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
  bool take(std::span<const EdgeData> data, const std::vector<std::size_t>& places);
  /// Takes one buffer that somebody keeps: no other buffer is taken with that number.
  bool take(const memory::Buffer& buffer, std::uint64_t keeper);
  /// Whether the device memory is still that of the last take().
  bool there() const { return allocations_.there(); }
  std::size_t count() const { return all_.size(); }
  /// Whether it is the one buffer that such a side told.
  bool is(const Side& side) const { return all_.size() == 1 && all_.front().side == side; }
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
