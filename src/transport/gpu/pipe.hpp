// Moves data of a GPU to or from host memory, several ranges at a time.
#pragma once

#include <deque>
#include <memory>

#include "pack/gpu/pack.hpp"

namespace dunnage::transport::gpu {

using pack::gpu::Described;
using pack::gpu::Direction;

/// A pipe for Outgoing::run() and Incoming::fetch_by(). All of the data must be in one allocation.
/// Every member throws device::Error. Not thread-safe.
class GpuPipe {
 public:
  GpuPipe(const device::Driver& driver, Direction direction, const Described& data, std::size_t piece);
  GpuPipe(const GpuPipe&) = delete;
  GpuPipe& operator=(const GpuPipe&) = delete;
  ~GpuPipe();

  /// Starts to move bytes [begin, end) of the packed stream to or from `memory`. Returns at once if
  /// `memory` is page-locked and less than `most` ranges are under way.
  void begin(const char* memory, std::int64_t begin, std::int64_t end);
  /// How many ranges are done, in order.
  std::uint64_t ended();

 private:
  static constexpr std::size_t most =
      4;  // ranges under way: one that is copied, and others with which the copy engine may go on
  void pop();

  const device::Driver& driver_;
  const Direction direction_;
  const Described data_;
  const std::size_t piece_;
  const device::Scope scope_;
  device::Gpu& gpu_;
  std::deque<std::unique_ptr<device::Borrowed>> lanes_;
  std::uint64_t ended_ = 0;
};

}  // namespace dunnage::transport::gpu
